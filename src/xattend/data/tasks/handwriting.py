"""Short texts and how somebody writes them with a pen: single-stroke letters in hands of their own (drawing/pen.py). Nothing to download.

    lusaka mo    ->  handwriting:17 lusaka mo        the points that writer 17 makes of the text
    handwriting:17 lusaka mo  ->  lusaka mo          with direction = "read"

The texts are made-up words, and every text is in one split only. A writer is a number from 0; those of the test rows are the same as those
of the training rows, `writers` in all, so that a hand can be learnt.

>>> source, target = next(Handwriting(rows=20).splits()["test"])
>>> source, target
('iqa nugrepr', 'handwriting:27 iqa nugrepr')
>>> len(Handwriting.strokes(target.partition(":")[2])) > 5 * len(source)
True
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, ClassVar, Literal

import pydantic

from xattend.data.tasks import spelling
from xattend.data.tasks.base import Task, split_sizes
from xattend.data.tasks.sequences import Rows, Seed
from xattend.data.tasks.spelling import Speller
from xattend.drawing import pen
from xattend.errors import UserError
from xattend.registry import register


def described(spec: str) -> tuple[str, int]:
    """The text and the writer of `17 some text`.

    >>> described("17 some text")
    ('some text', 17)
    """
    writer, _, text = spec.partition(" ")
    if not writer.isdecimal() or len(writer) > 9 or not text.strip():
        raise UserError("say a writer and a text, as in 'handwriting:17 some text'")
    return text, int(writer)


@register("task", "handwriting")
class Handwriting(Task):
    """Rows such as `lusaka mo` -> `handwriting:17 lusaka mo`, or the other way round."""

    source: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "character"}
    target: ClassVar[dict[str, Any]] = {"kind": "strokes"}

    def __init__(
        self, *,
        direction: Annotated[Literal["write", "read"], "from a text to its strokes, or from strokes to the text"] = "write",
        alphabet: Annotated[str, "letters and digits that words are made of, in lower case"] = string.ascii_lowercase,
        shortest: Annotated[int, pydantic.Field(ge=1, le=60), "characters of a text at least, spaces included"] = 6,
        longest: Annotated[int, pydantic.Field(ge=1, le=60), "characters of a text at most"] = 14,
        writers: Annotated[int, pydantic.Field(ge=1), "hands"] = 40,
        rows: Rows = 20_000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        letters = spelling.letters(alphabet, shortest, longest)
        self.lengths, self.writers, self.seed, self.reads = (shortest, longest), writers, seed, direction == "read"
        if self.reads:
            # how the sides are read depends on the direction
            self.source, self.target = Handwriting.target, Handwriting.source  # type: ignore[misc]
        self.speller = Speller(letters, 2, 8)
        self.sizes = split_sizes(rows)

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        draw = Random(f"{self.seed} handwriting")
        rows: dict[str, list[tuple[str, str]]] = {split: [] for split in self.sizes}
        for split, text in spelling.dealt(self.sizes, lambda: self._text(draw), "texts"):
            drawing = f"handwriting:{draw.randrange(self.writers)} {text}"
            rows[split].append((drawing, text) if self.reads else (text, drawing))
        return {split: iter(found) for split, found in rows.items()}

    def _text(self, draw: Random) -> str:
        length, text = draw.randint(*self.lengths), self.speller.spell(draw)
        while len(text) < length:
            text += " " + self.speller.spell(draw)
        return text[:length].strip()

    @staticmethod
    def strokes(spec: str) -> list[pen.Point]:
        """The points of what a text `handwriting:SPEC` names."""
        return pen.write(*described(spec)).points

    @staticmethod
    def letters(spec: str) -> list[int]:
        """For each of the points the number of the character that it belongs to."""
        return pen.write(*described(spec)).letters
