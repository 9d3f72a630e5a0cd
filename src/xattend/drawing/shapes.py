"""Flat shapes as coverage, how much of each pixel they fill, in sixteenths. Whole numbers only: the same on every machine.

A pixel is asked at 4 x 4 points, whose coordinates are odd eighths of a pixel from its centre; radius r is 8 r eighths.

>>> coverage("square", 1)
array([[ 4,  8,  4],
       [ 8, 16,  8],
       [ 4,  8,  4]], dtype=uint8)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

Whole = np.ndarray[Any, np.dtype[np.int32]]
Bool = np.ndarray[Any, np.dtype[np.bool_]]
FULL = 16  # points of a pixel

# x to the right and y downwards from the centre, and the radius in pixels; all fit into a square of 16 r + 1 eighths
SHAPES: dict[str, Callable[[Whole, Whole, int], Bool]] = {
    "circle": lambda x, y, r: x * x + y * y <= 64 * r * r,
    "square": lambda x, y, r: np.maximum(abs(x), abs(y)) <= 7 * r,
    "triangle": lambda x, y, r: (14 * abs(x) <= 8 * (y + 8 * r)) & (y <= 6 * r),
    "cross": lambda x, y, r: (np.minimum(abs(x), abs(y)) <= 3 * r) & (np.maximum(abs(x), abs(y)) <= 8 * r),
    "diamond": lambda x, y, r: abs(x) + abs(y) <= 8 * r,
}


@lru_cache(maxsize=512)
def coverage(shape: str, radius: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """[2 r + 1, 2 r + 1], the shape's centre in the middle."""
    eighths = (8 * np.arange(-radius, radius + 1, dtype=np.int32)[:, None] + np.array([-3, -1, 1, 3], np.int32)).ravel()
    inside = SHAPES[shape](eighths[None, :], eighths[:, None], radius)
    width = 2 * radius + 1
    filled: np.ndarray[Any, np.dtype[np.uint8]] = inside.reshape(width, 4, width, 4).sum(axis=(1, 3)).astype(np.uint8)
    return filled
