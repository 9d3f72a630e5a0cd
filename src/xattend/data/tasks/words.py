"""Pictures of words to read, letter by letter: `words:lusaka serif-bold 32x100 straight 17` -> `lusaka`.

Words are made up of syllables; one in five ends in digits or is digits alone. A word is in one split only, in whatever face it is
written. The picture's text says everything: word, face, height x width, straight or curved, and a seed for turn, shear,
perspective or arc, contrast, ground, blur and grain. A word may be written in capitals: what it says is the same. Pictures are 32 x 100; as
soon as some words are curved, all are 48 x 160. A target's units are letters, and gold boxes are those of letters.

>>> Words.draw("lusaka plain 32x100 straight 17")[0].shape
(32, 100, 3)
>>> [word for _, word in list(Words(rows=100).splits()["train"])[:4]]
['o011', 'mijewiyjo', 'reyistro', 'osuye90']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, ClassVar

import numpy as np
import pydantic

from xattend.data.tasks import spelling
from xattend.data.tasks.base import Box, Frame, Task, split_sizes
from xattend.data.tasks.scenes import described
from xattend.data.tasks.sequences import Rows, Seed
from xattend.data.tasks.spelling import KNOWN, Speller
from xattend.drawing import fonts as faces
from xattend.drawing.fonts import Face
from xattend.drawing.lettering import Lettering
from xattend.errors import UserError
from xattend.registry import register

SPEC = re.compile(r"(\S+) ([a-z-]+) (\d{1,3})x(\d{1,4}) (straight|curved) (\S+)")



@register("task", "words")
class Words(Task):
    """Rows such as `words:lusaka serif-bold 32x100 straight 17` -> `lusaka`."""

    source: ClassVar[dict[str, Any]] = {"kind": "image", "size": [32, 100], "crop": "none", "grey": True}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "character"}

    def __init__(
        self, *,
        curved: Annotated[float, pydantic.Field(ge=0, le=1), "share of words that are written along an arc"] = 0.0,
        fonts: Annotated[list[Face] | None, "faces to write in; by default all"] = None,
        alphabet: Annotated[str, "letters and digits that words are made of, in lower case"] = KNOWN,
        shortest: Annotated[int, pydantic.Field(ge=1, le=20), "letters of a word at least"] = 3,
        longest: Annotated[int, pydantic.Field(ge=1, le=20), "letters of a word at most"] = 9,
        capitals: Annotated[float, pydantic.Field(ge=0, le=1), "share of words that are written in capitals, or begin with one"] = 0.0,
        short: Annotated[int, pydantic.Field(ge=0), "training rows more, with fewer letters than `shortest`: one, two, ..., one again"] = 0,
        rows: Rows = 10_000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        letters = spelling.letters(alphabet, shortest, longest)
        if short and shortest == 1:
            raise UserError("'short' rows are for training alone, and with shortest = 1 single letters are held out too: set one of them otherwise")
        self.curved, self.capitals, self.seed, self.letters = curved, capitals, seed, letters
        self.short = [1 + row % (shortest - 1) for row in range(short)]
        self.faces = faces.chosen(fonts)
        height, width = (48, 160) if curved else (32, 100)
        self.size = f"{height}x{width}"
        self.source = {**Words.source, "size": [height, width]}  # type: ignore[misc]  # how it is best read depends on the settings
        self.speller = Speller(letters, shortest, longest)
        self.sizes = split_sizes(rows)

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        faces.check(self.faces)
        draw = Random(f"{self.seed} words")
        rows: dict[str, list[tuple[str, str]]] = {split: [] for split in self.sizes}
        for split, word in spelling.dealt(self.sizes, lambda: self.speller.spell(draw), "words"):
            rows[split].append(self._row(draw, word))
        rows["train"] += [self._row(draw, "".join(draw.choice(self.letters) for _ in range(letters))) for letters in self.short]
        return {split: iter(found) for split, found in rows.items()}

    def _row(self, draw: Random, word: str) -> tuple[str, str]:
        shape = "curved" if draw.random() < self.curved else "straight"
        written = word
        if self.capitals and draw.random() < self.capitals:  # no draw without: rows stay as they are
            written = word.upper() if draw.random() < 0.8 else word.capitalize()
        return f"words:{written} {draw.choice(self.faces)} {self.size} {shape} {draw.randrange(1000)}", word

    @staticmethod
    def draw(spec: str) -> list[Frame]:
        return [np.repeat(_lettering(spec).picture()[:, :, None], 3, axis=2)]

    def gold(self, source: str, target: str) -> list[Box | None]:
        """One box a letter, as the target's units are letters; for another word than the picture's none at all."""
        written = _lettering(described(source))
        return list(written.boxes()) if target == written.word.lower() else [None] * len(target)


def _lettering(text: str) -> Lettering:
    match = SPEC.fullmatch(text)
    if match is None:
        raise UserError(f"'{text}' describes no word: say word, face, size, shape and seed, as in 'lusaka serif 32x100 straight 17'")
    word, face, height, width, shape, seed = match.groups()
    if not (16 <= int(height) <= 512 and 16 <= int(width) <= 2048):
        raise UserError(f"'{text}': a picture is 16 to 512 pixels high and 16 to 2048 wide")
    return Lettering(word, face, int(height), int(width), curved=shape == "curved", seed=seed)
