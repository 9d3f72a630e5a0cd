"""Films of one digit or two and what they do: `digit 3 moves left then up while digit 7 stays`.

After Moving MNIST (Srivastava et al. 2015), with digits written in several faces, sizes and angles. Which digits there are takes
frames to see; where they go takes time: played backwards, a film has the same frames and mostly another caption (not if both
digits stay, or come back). A digit stays, moves one way, or moves one way and then another, resting included; the smaller digit is
named first.

>>> film = "20 64 7;3 plain 24 -8 30 14 1 left up;7 plain 22 5 4 40 1 stay stay"
>>> caption(parse(film))
'digit 3 moves left then up while digit 7 stays'
>>> len(MovingDigits.draw(film))
20
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from random import Random
from typing import Annotated, Any, ClassVar

import pydantic

from xattend.data.tasks.base import Frame, Task, deal, split_sizes
from xattend.data.tasks.sequences import Rows, Seed
from xattend.drawing import fonts as faces
from xattend.drawing.film import LEGS, Digit, Film, fits, parse
from xattend.drawing.fonts import Face
from xattend.errors import UserError
from xattend.registry import register

MOVES = [leg for leg in LEGS if leg != "stay"]
SMALLEST, LARGEST = 16, 22  # size of a digit in a picture of 64


def does(legs: tuple[str, str]) -> str:
    """What a digit's two legs are called.

    >>> does(("left", "up")), does(("up", "up")), does(("stay", "stay")), does(("stay", "up")), does(("up", "stay"))
    ('moves left then up', 'moves up', 'stays', 'stays then moves up', 'moves up then stays')
    """
    first, then = ("stays" if leg == "stay" else f"moves {leg}" for leg in legs)
    if first == then:
        return first
    return f"{first} then {then.removeprefix('moves ') if first != 'stays' else then}"


def caption(film: Film) -> str:
    """What the digits do, the smaller one first."""
    return " while ".join(f"digit {digit.digit} {does(digit.legs)}" for digit in sorted(film.digits, key=lambda digit: digit.digit))


def random_film(draw: Random, fonts: list[str], frames: int, side: int, count: int) -> Film:
    """Different digits that are apart for half of the film at least, so that neither hides the other."""
    while True:
        names = draw.sample("0123456789", count)
        digits = tuple(_random_digit(draw, name, draw.choice(fonts), frames, side) for name in sorted(names))
        if all(2 * _apart(one, other, frames) >= frames for one, other in combinations(digits, 2)):
            return Film(digits, frames, side, draw.randrange(10_000))


def _random_digit(draw: Random, name: str, face: str, frames: int, side: int) -> Digit:
    """One in five stays, one goes one way, two go one way and then another, one rests before or after."""
    kind = draw.randrange(5)
    one, other = draw.sample(MOVES, 2)
    legs = [("stay", "stay"), (one, one), (one, other), (one, other), draw.choice([("stay", one), (one, "stay")])][kind]
    while True:
        size, angle = draw.randint(SMALLEST * side // 64, LARGEST * side // 64), draw.randint(-15, 15)
        speed = max(1, round(draw.uniform(0.8, 1.6) * side / 64 * 20 / frames))
        digit = Digit(name, face, size, angle, draw.randrange(side - size), draw.randrange(side - size), speed, legs)
        if fits(digit, frames, side):
            return digit


def _apart(one: Digit, other: Digit, frames: int) -> int:
    """In how many frames the digits' cells have nothing in common."""
    return sum(
        x + one.size <= u or u + other.size <= x or y + one.size <= v or v + other.size <= y
        for (x, y), (u, v) in zip(one.path(frames), other.path(frames), strict=True)
    )


@register("task", "moving-digits")
class MovingDigits(Task):
    """Rows such as `moving-digits:20 64 7;3 serif 24 -8 30 14 1 left up;...` -> `digit 3 moves left then up while ...`."""

    source: ClassVar[dict[str, Any]] = {"kind": "film"}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}

    def __init__(
        self, *,
        frames: Annotated[int, pydantic.Field(ge=4, le=100), "frames of a film"] = 20,
        side: Annotated[int, pydantic.Field(ge=32, le=256), "pixels of the picture's side"] = 64,
        digits: Annotated[int, pydantic.Field(ge=1, le=2), "digits of a film"] = 2,
        fonts: Annotated[list[Face] | None, "faces to write digits in; by default all"] = None,
        rows: Rows = 10_000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        if 2 * ((frames - 1) // 2) > side - LARGEST * side // 64:
            raise UserError(f"frames = {frames}: at a pixel a frame digits would leave the picture: set fewer, or a larger 'side'")
        self.frames, self.side, self.digits, self.seed = frames, side, digits, seed
        self.faces = faces.chosen(fonts)
        self.sizes = split_sizes(rows)

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        faces.check(self.faces)
        return deal(self.sizes, self._rows())

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        draw = Random(f"{self.seed} moving-digits")
        while True:
            film = random_film(draw, self.faces, self.frames, self.side, self.digits)
            key = " ".join(digit.text for digit in film.digits)  # the ground makes no other film of it
            yield f"moving-digits:{film.text}", caption(film), key

    @staticmethod
    def draw(spec: str) -> list[Frame]:
        return parse(spec).paint()
