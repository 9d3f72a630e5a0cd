"""Handwriting that is drawn and not collected: single-stroke letters (Hershey 1967), as somebody with a hand of their own would write them.

A writer is a number; it gives a face, a slant, a size, how wide the letters are, how much the line climbs, and how unsteady the hand is.
What is written is a list of points: how far the pen goes from the last one, across and down, and whether it is lifted there. Points are
hundredths of the height of a small letter, about `STEP` apart along a stroke. The same text and writer give the same points on every
machine.

>>> written = write("to", 7)
>>> len(written.points) == len(written.letters), sorted(set(written.letters)), sum(up for _, _, up in written.points)
(True, [0, 1], 3)
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from itertools import pairwise
from random import Random
from typing import Any, Literal, NamedTuple

import numpy as np

from xattend.errors import UserError

FACES = {"plain": "futural", "script": "cursive"}
PenFace = Literal["plain", "script"]
HEIGHT = 14.0  # units of a small letter in the faces
STEP = 40.0  # hundredths of a small letter's height between two points of a stroke

Point = tuple[int, int, int]
Line = tuple[tuple[float, float], ...]
Floats = np.ndarray[Any, np.dtype[np.float64]]


class Glyph(NamedTuple):
    """Strokes, y downwards from the base line, and how far the next letter is."""

    strokes: tuple[Line, ...]
    width: float


class Hand(NamedTuple):
    """How somebody writes."""

    face: str
    slant: float
    size: float
    breadth: float
    climb: float
    unsteady: float


class Written(NamedTuple):
    """Points (across, down, lifted), and for each the number of the character that it belongs to."""

    points: list[Point]
    letters: list[int]


@cache
def glyphs(face: str) -> dict[str, Glyph]:
    """What can be written: the printable characters of ASCII."""
    try:
        from HersheyFonts import HersheyFonts
    except ImportError:
        raise UserError("strokes of letters come from Hershey-Fonts: pip install Hershey-Fonts") from None
    fonts = HersheyFonts()
    fonts.load_default_font(FACES[face])
    found = {}
    for code in range(32, 127):
        (glyph,) = fonts.glyphs_for_text(chr(code))
        strokes = tuple(
            tuple((float(x - glyph.left_offset), float(y - glyph.base_line)) for x, y in stroke)
            for stroke in glyph.strokes if len(stroke) > 1
        )
        found[chr(code)] = Glyph(strokes, float(glyph.char_width))
    return found


def hand_of(writer: int, faces: tuple[str, ...] = tuple(FACES)) -> Hand:
    """The hand of a writer; the same number has the same hand with the same faces."""
    draw = Random(f"hand {writer}")
    face = faces[draw.randrange(len(faces))]
    upright = face == "plain"
    return Hand(
        face, slant=draw.uniform(-0.1, 0.35) if upright else draw.uniform(-0.15, 0.2), size=draw.uniform(0.8, 1.25),
        breadth=draw.uniform(0.85, 1.15), climb=draw.uniform(-0.04, 0.04), unsteady=draw.uniform(1.0, 3.5),
    )  # fmt: skip


@lru_cache(maxsize=8192)
def _shapes(hand: Hand, character: str) -> tuple[Floats, list[int]]:
    """A character's points, one stroke after the other, as they lie if it is the first; and the number of points of each stroke."""
    face = glyphs(hand.face)
    if character not in face:
        raise UserError(f"'{character}' cannot be written: there are strokes for the printable characters of ASCII alone")
    strokes = [_evenly([_placed(x, y, hand) for x, y in stroke]) for stroke in face[character].strokes]
    return np.array([point for stroke in strokes for point in stroke]).reshape(-1, 2), [len(stroke) for stroke in strokes]


def write(text: str, writer: int, faces: tuple[str, ...] = tuple(FACES)) -> Written:
    """A text in a writer's hand."""
    hand, along = hand_of(writer, faces), 0.0
    places: list[Floats] = []
    lifted: list[int] = []
    letters: list[int] = []
    for number, character in enumerate(text):
        points_T2, strokes = _shapes(hand, character)
        places.append(points_T2 + np.array(_placed(along, 0.0, hand)))
        lifted += [int(place == count - 1) for count in strokes for place in range(count)]
        letters += [number] * len(points_T2)
        along += glyphs(hand.face)[character].width
    exact_T2 = np.concatenate([np.zeros((0, 2)), *places])
    noise_T2 = np.random.default_rng([writer, *text.encode()]).normal(0.0, hand.unsteady, exact_T2.shape)
    steps_T2 = np.diff(np.rint(exact_T2 + noise_T2).astype(int), axis=0, prepend=np.zeros((1, 2), int)).tolist()
    return Written([(x, y, up) for (x, y), up in zip(steps_T2, lifted, strict=True)], letters)


def _placed(x: float, y: float, hand: Hand) -> tuple[float, float]:
    """From the face's units to hundredths of a letter's height, as the hand has it."""
    scale = 100 / HEIGHT * hand.size
    across = scale * (x * hand.breadth - y * hand.slant)
    return across, scale * y - hand.climb * across


def _evenly(line: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points on a line, all about STEP apart, from its first to its last.

    >>> _evenly([(0.0, 0.0), (80.0, 0.0), (80.0, 40.0)])
    [(0.0, 0.0), (40.0, 0.0), (80.0, 0.0), (80.0, 40.0)]
    """
    lengths = [math.dist(a, b) for a, b in pairwise(line)]
    total = sum(lengths)
    pieces = max(1, round(total / STEP))
    found, piece, passed = [line[0]], 0, 0.0
    for number in range(1, pieces):
        wanted = total * number / pieces
        while passed + lengths[piece] < wanted:
            passed += lengths[piece]
            piece += 1
        share = (wanted - passed) / lengths[piece]
        (x0, y0), (x1, y1) = line[piece], line[piece + 1]
        found.append((x0 + share * (x1 - x0), y0 + share * (y1 - y0)))
    return [*found, line[-1]]
