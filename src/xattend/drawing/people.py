"""What the robot's camera sees of an encounter: a grey picture and a picture of nearness, 24 x 24, grainy.

The person is large and near, the bystander small and far. From the side a head is half face, half hair; from the front it has two eyes; a
hand that is held out is bright, and nearer than its owner. Everything is rectangles.

>>> world = Encounters([3, 4])
>>> frames(world).shape, frames(world).dtype
((2, 2, 24, 24), dtype('uint8'))
>>> boxes(world)  # nobody is there yet
[None, None]

Shapes: B episodes, H rows, W columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xattend.data.tasks.base import Box
from xattend.drawing.encounter import BRIGHTEST, DARKEST, HAND, NOBODY, SIDE, SIDEWAYS, Encounters
from xattend.drawing.noise import grain

Frames = np.ndarray[Any, np.dtype[np.uint8]]
Picture = np.ndarray[Any, np.dtype[np.int16]]
GRAIN = 64  # of 256 levels
FACE, HAIR, EYE, PALM = 220, 20, 0, 255
NEAR, FAR, AHEAD = 150, 60, 60  # of the person, of the bystander, and how much nearer a hand is


class Figure(NamedTuple):
    """How large somebody is painted: half of the width, the row of the hair, of the neck, of the feet, and the side of a hand."""

    half: int
    top: int
    neck: int
    feet: int
    hand: int


PERSON, BYSTANDER = Figure(2, 6, 11, 22, 4), Figure(1, 3, 6, 12, 2)


def frames(world: Encounters) -> Frames:
    """[B, 2, SIDE, SIDE]: grey and nearness, as they are now."""
    size = 2 * SIDE * SIDE
    noise_BN = np.stack([grain(f"greeter {seed} frame {world.step}", size) for seed in world.seeds]) % GRAIN
    seen_B2HW = np.full((len(world), 2, SIDE, SIDE), GRAIN // 2, np.int16)
    somebody = zip(seen_B2HW, *(values_B.tolist() for values_B in (
        world.way_B, world.pose_B, world.place_B, world.posture_B, world.column_B, world.shade_B,
    )), strict=True)  # fmt: skip
    for seen_2HW, way, pose, place, posture, column, shade in somebody:
        _paint(seen_2HW, BYSTANDER, pose, place, way, DARKEST + BRIGHTEST - shade, FAR)
        _paint(seen_2HW, PERSON, posture, column, way, shade, NEAR)
    seen_B2HW += noise_BN.reshape(seen_B2HW.shape).astype(np.int16) - GRAIN // 2
    return seen_B2HW.clip(0, 255).astype(np.uint8)


def boxes(world: Encounters) -> list[Box | None]:
    """Of each episode's person, a hand that is held out included, as shares of the picture; None while there is nobody."""
    there = zip(world.posture_B.tolist(), world.column_B.tolist(), world.way_B.tolist(), strict=True)
    return [None if posture == NOBODY else _box(column, way, posture == HAND) for posture, column, way in there]


def _box(column: int, way: int, reaching: bool) -> Box:
    left, right = column - PERSON.half, column + PERSON.half + 1
    if reaching:
        left, right = (left, right + PERSON.hand - 1) if way > 0 else (left - PERSON.hand + 1, right)
    return max(left, 0) / SIDE, PERSON.top / SIDE, min(right, SIDE) / SIDE, PERSON.feet / SIDE


def _paint(seen_2HW: Picture, figure: Figure, posture: int, column: int, way: int, shade: int, near: int) -> None:
    """Somebody into a picture, over what is there."""
    if posture == NOBODY:
        return
    half, top, neck, feet, hand = figure

    def fill(row: int, left: int, high: int, wide: int, level: int, nearness: int) -> None:
        place = slice(row, row + high), slice(max(left, 0), max(left + wide, 0))
        seen_2HW[0][place], seen_2HW[1][place] = level, nearness

    fill(neck, column - half, feet - neck, 2 * half + 1, shade, near)
    fill(top, column - half, neck - top, 2 * half + 1, FACE, near)
    if posture == SIDEWAYS:
        fill(top, column - half if way > 0 else column + 1, neck - top, half, HAIR, near)
    else:
        for eye in (column - 1, column + 1) if half > 1 else (column,):
            fill((top + neck) // 2, eye, 1, 1, EYE, near)
    if posture == HAND:  # on the side where it walked to, which is where the picture goes on
        fill(neck + 1, column + half if way > 0 else column - half - hand + 1, hand, hand, PALM, near + AHEAD)
