"""A digit in grey, written in some face and then bent a little: turned, sheared, stretched, and shaken like rubber (Simard et al. 2003).

Each pixel is asked where it lies in the digit as it was printed: an affine map, and a shift that changes smoothly over the picture, drawn on a
grid of 4 x 4 points. The ink's middle is in the middle of the picture, as in MNIST, give or take a pixel or two.

>>> picture = draw_digit("3", "serif", "17")
>>> picture.shape, bool(picture.max() > 150), bool(picture[0].max() == 0)
((28, 28), True, True)
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np

from xattend.drawing.lettering import printed, sampled

Grey = np.ndarray[Any, np.dtype[np.uint8]]
SIDE, INK = 28, 20.0  # pixels of the picture, and of the taller side of the digit as printed
PRINT = 40  # pixels of the face as it is printed


def draw_digit(digit: str, face: str, seed: str) -> Grey:
    """[28, 28], white on black; the same pixels for the same words."""
    from PIL import Image

    draw = Random(f"{digit} {face} {seed}")
    ink, _ = printed(digit, face, PRINT)
    rows, columns = ink.shape
    angle, shear = draw.uniform(-0.3, 0.3), draw.uniform(-0.3, 0.3)
    scale = draw.uniform(0.8, 1.05) * INK / max(rows, columns)
    wide, high = scale * draw.uniform(0.8, 1.15), scale
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    back = np.linalg.inv(turn @ np.array([[1.0, shear], [0.0, 1.0]]) @ np.diag([wide, high]))
    y, x = np.mgrid[:SIDE, :SIDE] + 0.5
    x, y = x - SIDE / 2 - draw.uniform(-1.0, 1.0), y - SIDE / 2 - draw.uniform(-1.0, 1.0)
    shake = np.array([draw.uniform(-2.2, 2.2) for _ in range(32)], np.float32).reshape(2, 4, 4)
    shift = [np.asarray(Image.fromarray(part).resize((SIDE, SIDE), Image.Resampling.BICUBIC)) for part in shake]
    x, y = x + shift[0], y + shift[1]
    u, v = back[0, 0] * x + back[0, 1] * y, back[1, 0] * x + back[1, 1] * y
    strength = draw.uniform(0.8, 1.0)
    shown = sampled(ink, u + columns / 2, v + rows / 2) * strength
    return np.clip(shown, 0, 255).astype(np.uint8)
