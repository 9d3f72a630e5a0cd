"""Sequences of bits, numbers and marks, one step a word of the text: what algorithmic tasks are made of.

    source   0110 1101 copy . .          two words of four bits, a mark, and two silent steps in which the answer is given
    target   0110 1101

A step is a word of bits, a mark (any other word), a number with a decimal point, or several of these: `0110&0.25`, `repeat&-0.52`. A
silent step is `.`. A step is one id, and `vectors` makes of ids what a network reads or should write: a channel a bit, a mark, and one for
numbers if there are any. Numbers are kept in thousandths. A word of zeros beside a mark says nothing and is left out.

>>> field = Bits()
>>> field.fit(["0110 1101 copy . ."])
>>> ids = field.encode("1101 copy .")
>>> field.decode(ids), field.space.features
('1101 copy .', (5,))
>>> field.vectors(torch.tensor(ids)).tolist()
[[1.0, 1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0]]

Shapes: T steps, C channels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

import pydantic
import torch
from torch import Tensor

from xattend.data.fields.base import Field
from xattend.data.fields.units import FIRST
from xattend.data.readers.lines import BadRow
from xattend.errors import UserError
from xattend.registry import register
from xattend.types import SPECIALS, UNK, Padded, Space

SILENT = FIRST  # the id of a step that says nothing
WIDEST, MARKS, LARGEST = 10, 31, 8191  # bits of a word, marks of a field, thousandths of a number: so that a step fits 31 bits
WORD, MARK = 14, 25  # where they begin; a number stands at 0
BITS, NUMBER = re.compile(r"[01]+"), re.compile(r"[+-]?\d+\.\d+")


class Pieces(NamedTuple):
    """What a step says: a word of bits as a number (None: no word), a mark by its number from 1 (0: none), and thousandths."""

    word: int | None = None
    mark: int = 0
    thousandths: int = 0


def pack(step: Pieces) -> int:
    """The id of a step; 14 bits of number (its sign last), 11 of word, 5 of mark.

    >>> pack(Pieces()) == SILENT, unpack(pack(Pieces(5, 2, -250)))
    (True, Pieces(word=5, mark=2, thousandths=-250))
    """
    signed = 2 * step.thousandths if step.thousandths >= 0 else -2 * step.thousandths - 1
    return SILENT + signed + (0 if step.word is None else step.word + 1 << WORD) + (step.mark << MARK)


def unpack(id: int) -> Pieces:
    """What `pack` packed."""
    packed = id - SILENT
    signed, word = packed & (1 << WORD) - 1, packed >> WORD & (1 << MARK - WORD) - 1
    return Pieces(word - 1 if word else None, packed >> MARK, -(signed + 1) // 2 if signed % 2 else signed // 2)


class Written(NamedTuple):
    """A step as it is written."""

    bits: str
    mark: str
    thousandths: int


def parse(step: str) -> Written:
    """
    >>> parse("0110&0.25"), parse("copy"), parse(".")
    (Written(bits='0110', mark='', thousandths=250), Written(bits='', mark='copy', thousandths=0), Written(bits='', mark='', thousandths=0))
    """
    bits, mark, thousandths = "", "", 0
    for piece in [] if step == "." else step.split("&"):
        if BITS.fullmatch(piece) and not bits:
            bits = piece
        elif NUMBER.fullmatch(piece) and not thousandths:
            thousandths = round(1000 * float(piece))
        elif piece and not mark and not BITS.fullmatch(piece) and not NUMBER.fullmatch(piece):
            mark = piece
        else:
            raise UserError(f"'{step}' is no step: write bits, a mark, a number such as 0.25, or one of each with & between; . for silence")
    if len(bits) > WIDEST:
        raise UserError(f"'{bits}' has {len(bits)} bits: a word has {WIDEST} at most")
    if abs(thousandths) > LARGEST:
        raise UserError(f"'{step}': numbers go from {-LARGEST / 1000} to {LARGEST / 1000}")
    return Written("" if mark and "1" not in bits else bits, mark, thousandths)


def write(bits: str, mark: str, thousandths: int) -> str:
    """The form in which a step is always written.

    >>> write("0110", "", 250), write("", "end", 0), write("", "", 0), write("", "", -5)
    ('0110&0.25', 'end', '.', '-0.005')
    """
    number = f"{thousandths / 1000:.3f}".rstrip("0")
    number = number + "0" if number.endswith(".") else number
    return "&".join(piece for piece in (bits, mark, number if thousandths else "") if piece) or "."


@register("field", "bits")
class Bits(Field):
    """A side of rows that is a sequence of steps."""

    def __init__(
        self, *, width: Annotated[Annotated[int, pydantic.Field(ge=1, le=WIDEST)] | None, "bits of a word; by default what the training rows have"] = None
    ) -> None:
        self.settings: dict[str, Any] = {"width": width}
        self.width = width or 0
        self.taken = 0  # bits of the words of rows that were taken, while data is read
        self.marks: list[str] = []
        self.numbers = False
        self.eos, self.max_length, self.share = False, None, None

    @property
    def channels(self) -> int:
        """At least one, which is then always silent."""
        return max(1, self.width + len(self.marks) + self.numbers)

    @property
    def real(self) -> bool:
        """Whether its steps are numbers and nothing else."""
        return self.numbers and not self.width and not self.marks

    @property
    def space(self) -> Space:
        return Space(features=(self.channels,))

    def normalise(self, text: str) -> str:
        return " ".join(write(*parse(step)) for step in text.split())

    def raw(self, text: str) -> str:
        return self.normalise(text)

    def take(self, text: str) -> None:
        """So that a step that cannot be read, or a word that is not as wide as those before, is placed at its line."""
        try:
            words = [step.bits for step in map(parse, text.split()) if step.bits]
        except UserError as error:
            raise BadRow("a step that cannot be read", error.message) from None
        for bits in words:
            self.taken = self.taken or self.settings["width"] or len(bits)
            if len(bits) != self.taken:
                raise BadRow("a word of another width", f"'{bits}' has {len(bits)} bits, and a word of this side has {self.taken}: write all with as many")

    def fit(self, texts: Iterable[str]) -> None:
        marks, width, self.numbers = set[str](), 0, False
        for text in texts:
            for step in map(parse, text.split()):
                width = max(width, len(step.bits))
                marks.update([step.mark] if step.mark else [])
                self.numbers = self.numbers or step.thousandths != 0
        self.width, self.marks = self.settings["width"] or width, sorted(marks)
        if len(marks) > MARKS:
            raise UserError(f"{len(marks)} different marks, and there can be {MARKS}: is this side a sequence of bits?")

    def blank(self, text: str) -> bool:
        return not text.strip()

    def encode(self, text: str) -> list[int]:
        return [self._id(parse(step)) for step in text.split()]

    def _id(self, step: Written) -> int:
        if step.bits and len(step.bits) != self.width:
            raise UserError(f"'{step.bits}' has {len(step.bits)} bits, and a word of this side has {self.width}")
        if step.mark and step.mark not in self.marks:
            return UNK
        mark = self.marks.index(step.mark) + 1 if step.mark else 0
        return pack(Pieces(int(step.bits, 2) if step.bits else None, mark, step.thousandths if self.numbers else 0))

    def read(self, texts: Sequence[str], rows: Sequence[Any] = ()) -> Padded:
        """Every step must be one that the model knows."""
        for number, text in enumerate(texts):
            try:
                if UNK in self.encode(text):
                    strange = next(step for step in text.split() if self._id(parse(step)) == UNK)
                    known = ", ".join(self.marks) or "none"
                    raise UserError(f"'{strange}' is no step that this model knows: words have {self.width} bits, and the marks are: {known}")
            except UserError as error:
                raise error.at(rows[number].file, rows[number].line) if rows else error from None
        return super().read(texts, rows)

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.symbols([id for id in ids if id >= FIRST or id == UNK]))

    def symbols(self, ids: Sequence[int]) -> list[str]:
        return [SPECIALS[id] if id < FIRST else self._written(unpack(id)) for id in ids]

    def _written(self, step: Pieces) -> str:
        bits = "" if step.word is None else format(step.word, f"0{self.width}b")
        return write(bits, self.marks[step.mark - 1] if step.mark else "", step.thousandths)

    def words(self, ids: Sequence[int]) -> list[int]:
        return list(range(len(ids)))

    def vectors(self, ids_T: Tensor) -> Tensor:
        """values_TC, any leading axes; padding and end marks are silent."""
        packed_T1 = (ids_T - SILENT).clamp(min=0)[..., None]
        word_T1 = (packed_T1 >> WORD & (1 << MARK - WORD) - 1) - 1
        word_T1 = word_T1.clamp(min=0)
        channels = [word_T1 >> torch.arange(self.width - 1, -1, -1) & 1, (packed_T1 >> MARK) == torch.arange(1, len(self.marks) + 1)]
        values_TC = torch.cat([one.float() for one in channels], dim=-1)
        if self.numbers:
            signed_T1 = packed_T1 & (1 << WORD) - 1
            number_T1 = torch.where(signed_T1 % 2 == 1, -(signed_T1 + 1) // 2, signed_T1 // 2).float() / 1000
            values_TC = torch.cat([values_TC, number_T1], dim=-1)
        return values_TC if values_TC.shape[-1] else torch.zeros(*ids_T.shape, 1)

    def ids(self, values_TC: Tensor) -> Tensor:
        """ids_T of the steps nearest to such vectors: bits that are likelier 1 than 0, the likeliest mark if it is likelier than none."""
        bits_TW, rest = values_TC[..., : self.width], values_TC[..., self.width :]
        word_T = ((bits_TW > 0.5) << torch.arange(self.width - 1, -1, -1)).sum(dim=-1)
        mark_T = torch.zeros_like(word_T)
        if self.marks:
            best_T, place_T = rest[..., : len(self.marks)].max(dim=-1)
            mark_T = torch.where(best_T > 0.5, place_T + 1, 0)
        said_T = (word_T > 0) | (mark_T == 0) if self.width else torch.zeros_like(mark_T, dtype=torch.bool)
        packed_T = torch.where(said_T, word_T + 1 << WORD, 0) + (mark_T << MARK)
        if self.numbers:
            number_T = (1000 * values_TC[..., -1]).round().clamp(-LARGEST, LARGEST).long()
            packed_T = packed_T + torch.where(number_T >= 0, 2 * number_T, -2 * number_T - 1)
        return packed_T + SILENT

    def to_json(self) -> dict[str, Any]:
        found = {"width": self.width, "marks": self.marks, "numbers": self.numbers}
        return {"kind": self.registered_name, "settings": self.settings, "fitted": found}

    def restore(self, data: dict[str, Any]) -> None:
        self.width, self.marks, self.numbers = (data["fitted"][key] for key in ("width", "marks", "numbers"))
