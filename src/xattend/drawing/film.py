"""A film of two digits that each move in two legs, on a dark, grainy ground.

Its text has frames, side and seed first, then each digit with its face, size, angle, starting corner, speed and legs. A digit stands in a
square cell of its size, and fills its height or its width; where cells go is in whole numbers, and does not depend on the face:

    20 64 7;3 serif 24 -8 30 14 1 left up;7 round 22 5 4 40 1 stay stay

A leg takes half of the film's steps; if their number is odd, everything rests for the step in the middle. So a film played
backwards is another film of the same kind, of the very same frames: no single frame tells which of the two it comes from.

>>> film = parse("20 64 7;3 plain 24 -8 30 14 1 left up;7 plain 22 5 4 40 1 stay stay")
>>> len(film.paint()), film.digits[0].path(20)[:2], film.digits[0].path(20)[-1]
(20, [(30, 14), (29, 14)], (21, 5))
>>> all((one == other).all() for one, other in zip(film.paint(), backwards(film).paint()[::-1]))
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from xattend.data.tasks.base import Frame
from xattend.drawing.fonts import FACES
from xattend.drawing.lettering import Grey, printed
from xattend.drawing.noise import grain
from xattend.errors import UserError, suggestion

LEGS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1), "stay": (0, 0)}
BACK = {"left": "right", "right": "left", "up": "down", "down": "up", "stay": "stay"}
DIGIT = re.compile(rf"(\d) ([a-z-]+) (\d+) (-?\d+) (\d+) (\d+) (\d+) ({'|'.join(LEGS)}) ({'|'.join(LEGS)})")
GRAIN = 24  # of 256 levels


@dataclass(frozen=True)
class Digit:
    """One digit and its way; x and y are the upper left corner of its cell in the first frame, speed is in pixels a step."""

    digit: str
    face: str
    size: int
    angle: int
    x: int
    y: int
    speed: int
    legs: tuple[str, str]

    @property
    def text(self) -> str:
        return f"{self.digit} {self.face} {self.size} {self.angle} {self.x} {self.y} {self.speed} {' '.join(self.legs)}"

    def path(self, frames: int) -> list[tuple[int, int]]:
        """The cell's corner in each frame."""
        half, (x, y), speed = (frames - 1) // 2, (self.x, self.y), self.speed
        (right, down), (then_right, then_down) = LEGS[self.legs[0]], LEGS[self.legs[1]]
        first = [(x + speed * right * step, y + speed * down * step) for step in range(half + 1)]
        x, y = first[-1]
        second = [(x + speed * then_right * step, y + speed * then_down * step) for step in range(frames % 2, half + 1)]
        return first + second


@dataclass(frozen=True)
class Film:
    """Digits over a ground that stays as it is."""

    digits: tuple[Digit, ...]
    frames: int = 20
    side: int = 64
    seed: int = 0

    @property
    def text(self) -> str:
        return ";".join([f"{self.frames} {self.side} {self.seed}", *(digit.text for digit in self.digits)])

    def paint(self) -> list[Frame]:
        """Each [side, side, 3], where the brighter of two digits covers the other."""
        ground = grain(str(self.seed), self.side * self.side).reshape(self.side, self.side) % GRAIN
        film = np.repeat(ground[None], self.frames, axis=0)
        for digit in self.digits:
            ink, size = sprite(digit.digit, digit.face, digit.size, digit.angle), digit.size
            for frame, (x, y) in zip(film, digit.path(self.frames), strict=True):
                patch = frame[y : y + size, x : x + size]
                np.maximum(patch, ink, out=patch)
        return list(np.repeat(film[..., None], 3, axis=-1))


def backwards(film: Film) -> Film:
    """The film whose frames are this one's in the opposite order."""

    def back(digit: Digit) -> Digit:
        x, y = digit.path(film.frames)[-1]
        return replace(digit, x=x, y=y, legs=(BACK[digit.legs[1]], BACK[digit.legs[0]]))

    return replace(film, digits=tuple(back(digit) for digit in film.digits))


@lru_cache(maxsize=4096)
def sprite(digit: str, face: str, size: int, angle: int) -> Grey:
    """[size, size]: a digit's ink, turned by so many degrees, in the middle of its cell."""
    from PIL import Image

    ink, _ = printed(digit, face, 2 * size)  # larger than it will be, so that turning it costs no detail
    turned = Image.fromarray(ink).rotate(angle, Image.Resampling.BICUBIC, expand=True)
    turned = turned.crop(turned.point([255 * (level > 40) for level in range(256)]).getbbox())
    scale = size / max(turned.size)
    wide, high = (max(1, min(size, round(side * scale))) for side in turned.size)
    cell = Image.new("L", (size, size))
    cell.paste(turned.resize((wide, high), Image.Resampling.BOX), ((size - wide) // 2, (size - high) // 2))
    return np.asarray(cell)


def parse(text: str) -> Film:
    """The film that a text describes; what is wrong with it is the user's error."""
    first, *rest = text.split(";")
    numbers = first.split()
    if len(numbers) != 3 or not all(number.isdecimal() for number in numbers) or not rest:
        raise UserError(f"'{text}' is no film: say frames, side and seed, then digits, as in '20 64 7;3 serif 24 -8 30 14 1 left up'")
    frames, side, seed = map(int, numbers)
    if not (1 <= frames <= 1000 and 16 <= side <= 512):
        raise UserError(f"a film of {frames} frames of {side} x {side}: choose 1 to 1000 frames, and 16 to 512 pixels")
    return Film(tuple(_digit(item, frames, side) for item in rest), frames, side, seed)


def _digit(text: str, frames: int, side: int) -> Digit:
    match = DIGIT.fullmatch(text.strip())
    if match is None:
        raise UserError(f"'{text}' is no digit of a film: say it as '3 serif 24 -8 30 14 1 left up'")
    name, face, *numbers, one, two = match.groups()
    if face not in FACES:
        raise UserError(f"there is no face '{face}': {suggestion(face, FACES)}")
    size, angle, x, y, speed = map(int, numbers)
    if not (4 <= size <= side and -45 <= angle <= 45):
        raise UserError(f"'{text}': a digit is 4 to {side} pixels large, and turned by -45 to 45 degrees")
    digit = Digit(name, face, size, angle, x, y, speed, (one, two))
    if not fits(digit, frames, side):
        raise UserError(f"'{text}' leaves the picture of {side} x {side}")
    return digit


def fits(digit: Digit, frames: int, side: int) -> bool:
    """Whether its cell is in the picture all the time, which it is if it is before, between and after its legs."""
    path = digit.path(frames)
    return all(0 <= x <= side - digit.size and 0 <= y <= side - digit.size for x, y in (path[0], path[frames // 2], path[-1]))
