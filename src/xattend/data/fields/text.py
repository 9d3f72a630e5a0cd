"""Text, cut into characters, bytes, words or subwords.

>>> field = Text(unit="character")
>>> field.fit(["abba", "cab"])
>>> field.encode("bad"), field.decode([4, 5, 1]), field.symbols([2, 4, 3])
([5, 4, 1], 'ab<unk>', ['<s>', 'a', '</s>'])
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

import pydantic

from xattend.data.fields.base import Field
from xattend.data.fields.bpe import Bpe
from xattend.data.fields.units import FIRST, Bytes, Characters, Unit, Words
from xattend.data.fields.unmerge import Unmerging
from xattend.data.split import Collate
from xattend.errors import UserError
from xattend.registry import register
from xattend.types import SPECIALS, UNK, Space

SHARED = ("unit", "size", "min_count", "lower", "plain", "nfc", "decompose", "separator", "unknown")  # what two sides of one vocabulary have in common

PUNCTUATION = re.compile(r"(?<!\w)'|'(?!\w)|[^\w\s']|_")  # all but letters, digits and the apostrophe inside a word


@register("field", "text")
class Text(Field):
    """One side of a row that is text."""

    def __init__(
        self,
        *,
        unit: Annotated[Literal["character", "byte", "word", "bpe"], "what one id stands for"] = "character",
        size: Annotated[Annotated[int, pydantic.Field(gt=FIRST)] | None, "ids at most, 4 specials included (bpe: 8000)"] = None,
        min_count: Annotated[int, pydantic.Field(ge=1), "rarer characters, words or merges are unknown"] = 1,
        lower: Annotated[bool, "lower-case the text"] = False,
        plain: Annotated[bool, "lower-case words alone, punctuation dropped, references too: how captions are scored"] = False,
        nfc: Annotated[bool, "compose accents (Unicode NFC)"] = True,
        decompose: Annotated[bool, "take letters apart (Unicode NFD): accents, and the syllables of Korean into their jamo"] = False,
        eos: Annotated[bool, "end the source side with </s> (the target side always is)"] = True,
        max_length: Annotated[Annotated[int, pydantic.Field(ge=1)] | None, "leave longer training rows out; in units"] = None,
        share: Annotated[Literal["source"] | None, "target only: one vocabulary for both sides"] = None,
        separator: Annotated[str | None, "what stands between words; by default spaces"] = None,
        unknown: Annotated[str | None, "word: what the data itself writes for a word that it does not tell, such as <UNK>; read as unknown"] = None,
        unmerge: Annotated[Annotated[float, pydantic.Field(ge=0, lt=1)], "bpe: share of merges undone in training, anew in every pass (as BPE dropout)"] = 0.0,
    ) -> None:
        if unknown is not None and (unit != "word" or len(unknown.split(separator)) != 1):
            raise UserError("'unknown' is one word of the data: it goes with unit = \"word\"")
        if unmerge and unit != "bpe":
            raise UserError("'unmerge' takes subwords apart: it goes with unit = \"bpe\"")
        if separator is not None and (unit != "word" or not separator):
            raise UserError("'separator' goes with unit = \"word\", and is not empty")
        if decompose and not nfc:
            raise UserError("'decompose' writes the output composed again (NFC): take 'nfc = false' out")
        if unit == "byte" and (size is not None or min_count != 1):
            raise UserError("unit = \"byte\" always has 260 ids: take 'size' and 'min_count' out")
        self.settings: dict[str, Any] = {
            "unit": unit, "size": size, "min_count": min_count, "lower": lower, "plain": plain, "nfc": nfc, "decompose": decompose, "eos": eos,
            "max_length": max_length, "share": share, "separator": separator, "unknown": unknown, "unmerge": unmerge,
        }  # fmt: skip
        self.lower = lower
        self.plain = plain
        self.nfc = nfc
        self.decompose = decompose
        self.eos = eos
        self.max_length = max_length
        self.share = share
        self.unmerge = unmerge
        self.unit: Unit = Words(separator, unknown and self.normalise(unknown)) if unit == "word" else {"character": Characters, "byte": Bytes, "bpe": Bpe}[unit]()
        self.fitted = unit == "byte"

    @property
    def space(self) -> Space:
        return Space(vocabulary=self.unit.size)

    def raw(self, text: str) -> str:
        if self.plain:
            text = " ".join(PUNCTUATION.sub(" ", text.lower()).split())
        return unicodedata.normalize("NFC", text) if self.nfc else text

    def normalise(self, text: str) -> str:
        # lower() can take letters apart (İ), so it comes before composing
        composed = self.raw(text.lower() if self.lower else text)
        return unicodedata.normalize("NFD", composed) if self.decompose else composed

    def fit(self, texts: Iterable[str]) -> None:
        normalised = (self.normalise(text) for text in texts) if isinstance(texts, Iterator) else _Normalised(self, texts)
        self.unit.fit(normalised, self.settings["size"], self.settings["min_count"])
        self.fitted = True

    def encode(self, text: str) -> list[int]:
        return self.encode_many([text])[0]

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        if not self.fitted:
            raise ValueError("fit the field before encoding with it")
        return self.unit.encode_many([self.normalise(text) for text in texts])

    def decode(self, ids: Sequence[int]) -> str:
        text = self.unit.decode([id for id in ids if id >= FIRST or id == UNK])
        return self.raw(text) if self.decompose else text

    def symbols(self, ids: Sequence[int]) -> list[str]:
        return [SPECIALS[id] if id < FIRST else self.unit.symbol(id) for id in ids]

    def pieces(self, text: str) -> list[str]:
        """`symbols(encode(text))`, but with the text itself where that says <unk>: what copying an unknown word needs."""
        return self.unit.pieces(self.normalise(text))

    def join(self, shown: Sequence[str]) -> str:
        """The text of `symbols` or `pieces`. A literal ␣ (characters) or ▁ (bpe) comes back as a space; `decode` is exact."""
        return self.unit.join(list(shown))

    def words(self, ids: Sequence[int]) -> list[int]:
        return self.unit.words(ids)

    def collator(self) -> Collate:
        return Unmerging(self.unit.parts(), self.unmerge) if self.unmerge and isinstance(self.unit, Bpe) else super().collator()

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.registered_name, "settings": self.settings, **self.unit.to_json()}

    def restore(self, data: dict[str, Any]) -> None:
        self.unit.restore(data)
        self.fitted = True


class _Normalised:
    """Texts in the field's normal form, which can be gone through more than once without being held."""

    def __init__(self, field: Text, texts: Iterable[str]) -> None:
        self.field = field
        self.texts = texts

    def __iter__(self) -> Iterator[str]:
        return (self.field.normalise(text) for text in self.texts)
