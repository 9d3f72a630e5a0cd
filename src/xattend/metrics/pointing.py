"""The pointing game (Zhang et al. 2016): does a word look at the thing it speaks of?

A word that has a gold box is a hit if the place it looks at most lies in the box. Places are the cells of a grid over the picture, so
what must lie in the box is the cell's centre; where a box is too small to hold one, its own centre must lie in the cell. Boxes are
(left, top, right, bottom) in shares of the picture, 0 to 1, with the origin at the top left.

>>> weights_TS = np.array([[0.1, 0.7, 0.1, 0.1], [0.4, 0.2, 0.2, 0.2]])
>>> right_above, right_below = (0.5, 0.0, 1.0, 0.5), (0.5, 0.5, 1.0, 1.0)
>>> pointing_game([(weights_TS, [right_above, right_below])], grid=(2, 2))  # the second word looks left above
0.5

Shapes: T words, S cells, row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xattend.errors import UserError

Box = tuple[float, float, float, float]
Weights = np.ndarray[Any, np.dtype[Any]]


def of_words(weights_TS: Weights, words: Sequence[int]) -> Weights:
    """Looks of words from those of their units: the mean. `words` has for each unit the number of its word.

    >>> of_words(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), [0, 0, 1]).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    units_WT = np.eye(max(words, default=-1) + 1)[list(words)].T
    looks_WS: Weights = units_WT @ weights_TS / np.maximum(units_WT.sum(axis=1, keepdims=True), 1)
    return looks_WS


class Points(NamedTuple):
    """How many words have a box, and how many of them look into it."""

    hits: int
    words: int


def points(weights_TS: Weights, boxes: Sequence[Box | None], grid: tuple[int, int]) -> Points:
    """One caption. `boxes` has for each word its box, or None; of equal weights the first cell counts."""
    if len(weights_TS) < len(boxes) or weights_TS.shape[1] != grid[0] * grid[1]:
        words, cells = weights_TS.shape
        raise UserError(f"weights of {words} words over {cells} cells do not fit {len(boxes)} boxes and a grid of {grid}")
    hits = [_holds(box, int(weights_S.argmax()), grid) for weights_S, box in zip(weights_TS, boxes) if box is not None]
    return Points(sum(hits), len(hits))


def pointing_game(captions: Iterable[tuple[Weights, Sequence[Box | None]]], grid: tuple[int, int]) -> float:
    """The share of hits among all words with a box, over all captions."""
    found = [points(weights_TS, boxes, grid) for weights_TS, boxes in captions]
    words = sum(one.words for one in found)
    if not words:
        raise UserError("no word has a box: there is nothing to point at")
    return sum(one.hits for one in found) / words


def _holds(box: Box, cell: int, grid: tuple[int, int]) -> bool:
    height, width = grid
    row, column = divmod(cell, width)
    left, top, right, bottom = box
    centre_in_box = left <= (column + 0.5) / width <= right and top <= (row + 0.5) / height <= bottom
    across, down = (left + right) / 2 * width, (top + bottom) / 2 * height
    return centre_in_box or (column <= across <= column + 1 and row <= down <= row + 1)
