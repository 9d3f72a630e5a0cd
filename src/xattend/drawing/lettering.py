"""A word written into a grey picture: turned, sheared, in perspective or along an arc, on an uneven ground, blurred and grainy.

Each pixel is asked where it lies in the word as it was printed (the inverse map), so that one map serves for the ink and for where each
letter is. From (u, v), seen from the printed word's centre, to the picture:

    straight                                          (X, Y) = turn shear (u, v) / (1 + a u + b v)
    along an arc of radius R that bends up (s = 1)    (X, Y) = turn (r sin(u / R), s R - s r cos(u / R)),  r = R - s v
    or down (s = -1)

What comes out is scaled and moved so that all of the word is in the picture.

>>> word = Lettering("oslo", "plain", 32, 100, curved=False, seed="7")
>>> word.picture().shape, [round(box[0], 1) for box in word.boxes()]
((32, 100), [0.3, 0.4, 0.5, 0.6])
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np

from xattend.data.tasks.base import Box
from xattend.drawing.fonts import font
from xattend.drawing.noise import grain

Grey = np.ndarray[Any, np.dtype[np.uint8]]
Real = np.ndarray[Any, np.dtype[np.float64]]
LEAST_CONTRAST = 60  # levels of 256 between ink and ground


class Lettering:
    """How one word lies in its picture, drawn at random from its text, face, size and seed."""

    def __init__(self, word: str, face: str, height: int, width: int, *, curved: bool, seed: str) -> None:
        self.text = f"{word} {face} {height} {width} {curved} {seed}"
        self.word, self.height, self.width = word, height, width
        draw = Random(self.text)
        left, top, right, bottom = font(face, 40).getbbox(word)
        # the word's size if the face were one pixel large; some are narrower or wider than printed
        wide, high = (right - left) / 40 * draw.uniform(0.8, 1.2), (bottom - top) / 40
        bend: Straight | Arc = Arc(wide, high, draw) if curved else Straight(wide, high, draw)
        edge = np.linspace(-0.5, 0.5, 9)
        x, y = bend.forward(wide * np.tile(edge, 2), high * np.repeat([-0.5, 0.5], 9))
        spread = np.ptp(x), np.ptp(y)
        scale = min(draw.uniform(0.82, 0.97) * width / spread[0], draw.uniform(0.70, 0.94) * height / spread[1])
        self.ink, self.edges = printed(word, face, max(8, round(scale)))  # about as large as it is seen: no pixel is skipped
        across, down = draw.random() * (width - scale * spread[0]), draw.random() * (height - scale * spread[1])
        Y, X = np.mgrid[:height, :width] + 0.5
        u, v = bend.inverse((X - across) / scale + x.min(), (Y - down) / scale + y.min())
        rows, columns = self.ink.shape
        self.x, self.y = (u / wide + 0.5) * columns, (v / high + 0.5) * rows

    def picture(self) -> Grey:
        """[height, width]"""
        from PIL import Image, ImageFilter

        draw = Random(f"{self.text} picture")
        dim = draw.randint(30, 225)
        contrast = draw.randint(LEAST_CONTRAST, 170)
        ink = dim - contrast if dim - contrast >= 0 and (draw.random() < 0.5 or dim + contrast > 255) else dim + contrast
        random = grain(self.text, 15 + self.height * self.width)
        ground = np.asarray(Image.fromarray(random[:15].reshape(3, 5)).resize((self.width, self.height), Image.Resampling.BICUBIC))
        cover = sampled(self.ink, self.x, self.y)
        grey = dim + (ground - 128.0) * draw.uniform(0.0, 0.2)
        grey += cover * (min(ink, 255) - dim) / 255
        if draw.random() < 0.5:
            blurred = Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(draw.uniform(0.3, 0.9)))
            grey = np.asarray(blurred).astype(np.float64)
        grey += (random[15:].reshape(self.height, self.width) - 127.5) * draw.uniform(0.02, 0.14)
        return np.clip(grey, 0, 255).astype(np.uint8)

    def boxes(self) -> list[Box]:
        """Of each letter: where its share of the printed line went, from the top to the bottom of the word's ink."""
        on_line = (self.y >= 0) & (self.y < self.ink.shape[0])
        found = []
        for start, end in zip(self.edges, self.edges[1:]):
            there = on_line & (self.x >= start) & (self.x < end)
            rows, columns = np.flatnonzero(there.any(1)), np.flatnonzero(there.any(0))
            left, top, right, bottom = int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
            found.append((left / self.width, top / self.height, right / self.width, bottom / self.height))
        return found


class Straight:
    """A straight line, turned, sheared and in perspective."""

    def __init__(self, wide: float, high: float, draw: Random) -> None:
        angle = draw.uniform(-0.16, 0.16)
        turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
        shear = np.array([[1, draw.uniform(-0.4, 0.4), 0], [0, 1, 0], [0, 0, 1]])
        tilt = np.array([[1, 0, 0], [0, 1, 0], [draw.uniform(-0.5, 0.5) / wide, draw.uniform(-0.3, 0.3) / high, 1]])
        self.matrix: Real = turn @ shear @ tilt
        self.back: Real = np.linalg.inv(self.matrix).astype(np.float64)

    def forward(self, u: Real, v: Real) -> tuple[Real, Real]:
        return _projected(self.matrix, u, v)

    def inverse(self, x: Real, y: Real) -> tuple[Real, Real]:
        return _projected(self.back, x, y)


def _projected(m: Real, x: Real, y: Real) -> tuple[Real, Real]:
    depth = m[2, 0] * x + m[2, 1] * y + m[2, 2]
    return (m[0, 0] * x + m[0, 1] * y + m[0, 2]) / depth, (m[1, 0] * x + m[1, 1] * y + m[1, 2]) / depth


class Arc:
    """Along an arc of 50 to 120 degrees, turned."""

    def __init__(self, wide: float, high: float, draw: Random) -> None:
        # letters must not meet at the inner side: the radius is more than the word's height
        self.radius = max(wide / draw.uniform(0.9, 2.1), 1.1 * high)
        self.sign = 1 if draw.random() < 0.5 else -1
        angle = draw.uniform(-0.12, 0.12)
        self.cos, self.sin = math.cos(angle), math.sin(angle)

    def forward(self, u: Real, v: Real) -> tuple[Real, Real]:
        r, turn = self.radius - self.sign * v, u / self.radius
        x, y = r * np.sin(turn), self.sign * (self.radius - r * np.cos(turn))
        return self.cos * x - self.sin * y, self.sin * x + self.cos * y

    def inverse(self, x: Real, y: Real) -> tuple[Real, Real]:
        x, y = self.cos * x + self.sin * y, self.cos * y - self.sin * x
        away = self.radius - self.sign * y
        return self.radius * np.arctan2(x, away), self.sign * (self.radius - np.hypot(x, away))


def printed(word: str, face: str, size: int) -> tuple[Grey, list[float]]:
    """A word's ink, black on nothing and cut out, and where its letters begin, and the last one ends."""
    from PIL import Image, ImageDraw

    letters = font(face, size)
    left, top, right, bottom = map(round, letters.getbbox(word))
    sheet = Image.new("L", (right - left, bottom - top))
    ImageDraw.Draw(sheet).text((-left, -top), word, font=letters, fill=255)
    between = [letters.getlength(word[:count]) - left for count in range(1, len(word))]
    return np.asarray(sheet), [0.0, *between, float(right - left)]


def sampled(ink: Grey, x: Real, y: Real) -> Real:
    """The ink at these places, between its four nearest pixels; none outside. The first pixel's centre is at (0.5, 0.5)."""
    rows, columns = ink.shape
    around = np.pad(ink, 1).astype(np.float64)
    x, y = np.clip(x + 0.5, 0, columns + 0.999), np.clip(y + 0.5, 0, rows + 0.999)
    left, top = x.astype(np.intp), y.astype(np.intp)
    x, y = x - left, y - top
    upper = around[top, left] * (1 - x) + around[top, left + 1] * x
    lower = around[top + 1, left] * (1 - x) + around[top + 1, left + 1] * x
    result: Real = upper * (1 - y) + lower * y
    return result
