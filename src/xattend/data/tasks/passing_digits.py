"""Films of digits that pass one after another, all of them the same way: `3 then 7 then 1 pass going left`.

What Yao et al. 2015 call the two structures of a film, each by itself. Which digits there are and when (global) takes frames, looked at
in their order: between two digits there is nothing to see for a frame, so that no short stretch of the film shows which came first.
Which way they go (local) takes motion: played backwards a scene has the same frames.

A film is its scenes, each a film of one digit that ends with an empty frame:

>>> film = "3 64 7;3 plain 20 -8 30 14 5 left left + 3 64 7;7 plain 18 5 24 40 5 left left"
>>> caption(scenes(film))
'3 then 7 pass going left'
>>> len(PassingDigits.draw(film))
8
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Annotated, Any, ClassVar

import pydantic

from xattend.data.tasks.base import Frame, Task, deal, split_sizes
from xattend.data.tasks.moving_digits import LARGEST, SMALLEST
from xattend.data.tasks.sequences import Rows, Seed
from xattend.drawing import fonts as faces
from xattend.drawing.film import LEGS, Digit, Film, fits, parse
from xattend.drawing.fonts import Face
from xattend.registry import register

SHOWN = 3  # frames of a digit; one more is empty
SIDE = 64


def scenes(text: str) -> list[Film]:
    return [parse(scene) for scene in text.split(" + ")]


def caption(found: Sequence[Film]) -> str:
    """The digits in their order, and where they go."""
    passing = [scene.digits[0] for scene in found]
    way = passing[0].legs[0]
    return f"{' then '.join(digit.digit for digit in passing)} " + ("pass staying there" if way == "stay" else f"pass going {way}")


def random_scenes(draw: Random, fonts: list[str], count: int) -> list[Film]:
    """Different digits, each somewhere else, and one way for all of them."""
    way, seed = draw.choice(list(LEGS)), draw.randrange(10_000)
    return [Film((_random_digit(draw, name, draw.choice(fonts), way),), SHOWN, SIDE, seed) for name in draw.sample("0123456789", count)]


def _random_digit(draw: Random, name: str, face: str, way: str) -> Digit:
    while True:
        size, angle, speed = draw.randint(SMALLEST, LARGEST), draw.randint(-15, 15), draw.randint(4, 6)
        digit = Digit(name, face, size, angle, draw.randrange(SIDE - size), draw.randrange(SIDE - size), speed, (way, way))
        if fits(digit, SHOWN, SIDE):
            return digit


@register("task", "passing-digits")
class PassingDigits(Task):
    """Rows such as `passing-digits:3 64 7;3 serif 20 -8 30 14 5 left left + 3 64 7;7 ...` -> `3 then 7 pass going left`."""

    source: ClassVar[dict[str, Any]] = {"kind": "film"}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}

    def __init__(
        self, *,
        digits: Annotated[int, pydantic.Field(ge=2, le=6), "digits of a film, which takes four frames for each"] = 3,
        fonts: Annotated[list[Face] | None, "faces to write digits in; by default all"] = None,
        rows: Rows = 10_000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        self.digits, self.seed = digits, seed
        self.faces = faces.chosen(fonts)
        self.sizes = split_sizes(rows)

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        faces.check(self.faces)
        return deal(self.sizes, self._rows())

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        draw = Random(f"{self.seed} passing-digits")
        while True:
            found = random_scenes(draw, self.faces, self.digits)
            key = " ".join(scene.digits[0].text for scene in found)  # the ground makes no other film of it
            yield f"passing-digits:{' + '.join(scene.text for scene in found)}", caption(found), key

    @staticmethod
    def draw(spec: str) -> list[Frame]:
        frames: list[Frame] = []
        for scene in scenes(spec):
            frames += scene.paint() + replace(scene, digits=(), frames=1).paint()
        return frames
