"""A scene: coloured things on a light, grainy ground. Its text is all there is to it, also the grain comes from it.

A thing's text is `colour shape x y radius` in pixels, things are separated by `;`, and a number in front is the picture's side
if that is not 64.

>>> scene = parse("red circle 12 40 9;blue square 44 20 5")
>>> scene.paint().shape, relation(*scene.things), scene.things[1].small(scene.side)
((64, 64, 3), 'left of', True)
>>> parse(scene.text) == scene
True
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from xattend.data.tasks.base import Box, Frame
from xattend.drawing.noise import grain
from xattend.drawing.shapes import FULL, SHAPES, coverage
from xattend.errors import UserError, suggestion

SIDE = 64
COLOURS = {
    "red": (214, 40, 40), "green": (38, 150, 60), "blue": (40, 80, 210),
    "yellow": (230, 195, 20), "purple": (150, 50, 170), "black": (30, 30, 30),
}  # fmt: skip
OPPOSITE = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
RADII = {True: (4, 5), False: (7, 9)}  # smallest and largest radius of small and of other things, in a picture of 64
GRAIN = 10  # how many of 256 levels the ground varies up and down


@dataclass(frozen=True)
class Thing:
    """One shape; x and y are its centre, in pixels from the upper left."""

    colour: str
    shape: str
    x: int
    y: int
    radius: int

    @property
    def text(self) -> str:
        return f"{self.colour} {self.shape} {self.x} {self.y} {self.radius}"

    def small(self, side: int) -> bool:
        """Whether it is one of the small ones, in a picture of this side."""
        return 64 * self.radius <= 6 * side

    def box(self, side: int) -> Box:
        """Where its pixels are, as shares of the picture."""
        inked = coverage(self.shape, self.radius) > 0
        (top, *_, bottom), (left, *_, right) = np.flatnonzero(inked.any(1)).tolist(), np.flatnonzero(inked.any(0)).tolist()
        x, y = self.x - self.radius, self.y - self.radius
        return (x + left) / side, (y + top) / side, (x + right + 1) / side, (y + bottom + 1) / side


@dataclass(frozen=True)
class Scene:
    """Things that do not touch, in a square picture."""

    things: tuple[Thing, ...]
    side: int = SIDE

    @property
    def text(self) -> str:
        return ";".join([*([] if self.side == SIDE else [str(self.side)]), *(thing.text for thing in self.things)])

    def paint(self) -> Frame:
        """The picture: shapes over a plain ground, then the grain over both."""
        side, first = self.side, 3 + 3 * len(self.things)
        random = grain(self.text, first + side * side)
        tint = random[:first].astype(np.int16) % 25 - 12  # no two reds are the same red, nor two grounds
        canvas = np.empty((side, side, 3), np.int16)
        canvas[:] = 226 + tint[:3]
        for number, thing in enumerate(self.things):
            r = thing.radius
            cover = coverage(thing.shape, r).astype(np.int16)[:, :, None]
            colour = np.array(COLOURS[thing.colour], np.int16) + tint[3 + 3 * number : 6 + 3 * number]
            patch = canvas[thing.y - r : thing.y + r + 1, thing.x - r : thing.x + r + 1]
            patch[:] = (patch * (FULL - cover) + colour * cover) // FULL
        canvas += (random[first:].reshape(side, side, 1) % (2 * GRAIN + 1)).astype(np.int16) - GRAIN
        return np.clip(canvas, 0, 255).astype(np.uint8)


def relation(one: Thing, other: Thing) -> str:
    """How one lies to the other, along the direction in which they are farther apart."""
    x, y = other.x - one.x, other.y - one.y
    if abs(x) > abs(y):
        return "left of" if x > 0 else "right of"
    return "above" if y > 0 else "below"


def parse(text: str) -> Scene:
    """The scene that a text describes; what is wrong with it is the user's error."""
    items = [item.strip() for item in text.split(";")]
    side = int(items.pop(0)) if items[0].isdecimal() else SIDE
    if not 16 <= side <= 1024:
        raise UserError(f"a scene of {side} pixels: choose 16 to 1024")
    if not items:
        raise UserError("a scene without things: describe them as 'red circle 12 40 9;blue square 44 20 5'")
    return Scene(tuple(_thing(item, side) for item in items), side)


def _thing(text: str, side: int) -> Thing:
    words = text.split()
    if len(words) != 5 or not all(word.isdecimal() for word in words[2:]):
        raise UserError(f"'{text}' is no thing of a scene: say colour, shape, x, y and radius, as in 'red circle 12 40 9'")
    for word, known, what in ((words[0], COLOURS, "colour"), (words[1], SHAPES, "shape")):
        if word not in known:
            raise UserError(f"'{text}': there is no {what} '{word}': {suggestion(word, known)}")
    x, y, radius = map(int, words[2:])
    if radius < 1 or not (radius <= x < side - radius and radius <= y < side - radius):
        raise UserError(f"'{text}' does not lie within a picture of {side} x {side}")
    return Thing(words[0], words[1], x, y, radius)


def random_scene(draw: Random, count: int, side: int = SIDE, *, colours_differ: bool = False) -> Scene:
    """So many things, no two of one shape and colour (or none of one colour), whose boxes do not touch.

    No two lie so near to a diagonal that a person would hesitate between 'above' and 'left of'. Things are in the order of
    their texts, so that one picture has one text.
    """
    colours, shapes = list(COLOURS), list(SHAPES)
    apart, slant = max(1, side // 32), max(1, side // 16)
    while True:
        things: list[Thing] = []
        free = draw.sample(colours, count) if colours_differ else [colours[draw.randrange(len(colours))] for _ in range(count)]
        tries = 20 * count
        while len(things) < count and tries:
            tries -= 1
            shape, small = shapes[draw.randrange(len(shapes))], draw.randrange(2) == 0
            low, high = (max(1, radius * side // 64) for radius in RADII[small])
            radius = draw.randint(low, high)
            x, y = draw.randrange(radius + 1, side - radius - 1), draw.randrange(radius + 1, side - radius - 1)
            new = Thing(free[len(things)], shape, x, y, radius)
            if all(_may_stand_together(new, other, apart, slant) for other in things):
                things.append(new)
        if len(things) == count:
            return Scene(tuple(sorted(things, key=lambda thing: thing.text)), side)


def _may_stand_together(one: Thing, other: Thing, apart: int, slant: int) -> bool:
    x, y = abs(one.x - other.x), abs(one.y - other.y)
    return max(x, y) > one.radius + other.radius + apart and abs(x - y) >= slant and (one.colour, one.shape) != (other.colour, other.shape)
