"""Digits to be told apart, written in several faces and bent a little (drawing/digit.py): MNIST in small, with nothing to download.

    digits:3 serif 17  ->  3

The picture has 28 x 28 pixels. That it is put somewhere into a larger one, among pieces of other digits, is a matter of how the source side is
read (data/fields/placed.py), for these rows and for MNIST's alike:

    task = { kind = "digits", rows = 20000 }
    source = { kind = "placed", size = 60, clutter = 4 }

>>> rows = Digits(rows=20).splits()
>>> source, target = next(rows["test"])
>>> source.startswith("digits:"), source[7] == target, len(Digits.draw(source[7:]))
(True, True, 1)
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, ClassVar

import numpy as np
import pydantic

from xattend.data.tasks.base import Frame, Task, split_sizes
from xattend.data.tasks.sequences import Rows, Seed
from xattend.drawing import fonts as faces
from xattend.drawing.digit import draw_digit
from xattend.drawing.fonts import FACES, Face
from xattend.errors import UserError
from xattend.registry import register

SPLITS = 10_000_000  # seeds that a split may have, train first: no drawing is in two splits


@register("task", "digits")
class Digits(Task):
    """Rows such as `digits:3 serif 17` -> `3`."""

    source: ClassVar[dict[str, Any]] = {"kind": "placed"}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "character"}

    def __init__(
        self, *,
        rows: Rows = 20_000,
        fonts: Annotated[list[Face], pydantic.Field(min_length=1), "the faces that digits are written in"] = [  # noqa: B006
            "plain", "serif", "serif-bold", "serif-italic", "sans-light", "sans", "sans-bold", "round", "hand",
        ],
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        faces.check(fonts)
        if rows > SPLITS // 2:
            raise UserError(f"rows = {rows}: there are {SPLITS // 2} at most")
        self.fonts, self.seed, self.sizes = list(fonts), seed, split_sizes(rows)

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        return {split: self._rows(place, size) for place, (split, size) in enumerate(self.sizes.items())}

    def _rows(self, split: int, size: int) -> Iterator[tuple[str, str]]:
        draw = Random(f"digits {self.seed} {split}")
        for number in range(size):
            digit = str(draw.randrange(10))
            yield f"digits:{digit} {draw.choice(self.fonts)} {split * SPLITS + number}", digit

    @staticmethod
    def draw(spec: str) -> list[Frame]:
        words = spec.split()
        if len(words) != 3 or words[0] not in "0123456789" or words[1] not in FACES:
            raise UserError("say a digit, a face and a number, as in 'digits:3 serif 17'")
        return [np.repeat(draw_digit(*words)[:, :, None], 3, axis=2)]
