"""Small pictures put somewhere into larger ones, among pieces of others: translated and cluttered MNIST (Mnih et al. 2014, section 4.1).

Whole batches at once. What is drawn for a picture comes from its own bytes of SHAKE-128, so it does not depend on what shares its batch.

>>> dice_BN = dice([b"one", b"two"], 4)
>>> dice_BN.shape, bool((dice([b"two"], 4)[0] == dice_BN[1]).all())
((2, 4), True)
>>> below(np.array([0, 2**31, 2**32 - 1], np.uint32), 3).tolist()
[0, 1, 2]
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Words = np.ndarray[Any, np.dtype[np.uint32]]
Whole = np.ndarray[Any, np.dtype[np.int64]]
EACH = 5  # numbers to place a piece: which digit it is cut from, where there, and where to


def dice(words: Sequence[bytes], count: int) -> Words:
    """So many numbers of 32 bits for each word: [B, count]."""
    thrown = b"".join(hashlib.shake_128(word).digest(4 * count) for word in words)
    return np.frombuffer(thrown, "<u4").reshape(len(words), count)


def below(dice_B: Words, end: int) -> Whole:
    """Whole numbers from 0 to end - 1."""
    return (dice_B.astype(np.uint64) * np.uint64(end) >> np.uint64(32)).astype(np.int64)


def numbers(pieces: int) -> int:
    """How many numbers `place` needs for each picture."""
    return 2 + EACH * pieces


def place(small_Bdd: Bytes, dice_BN: Words, size: int, pool_Mdd: Bytes, pieces: int, piece: int) -> Bytes:
    """[B, size, size]: each small picture somewhere, and `pieces` squares cut from pictures of the pool; the brighter shows where they meet."""
    batch, side = len(small_Bdd), small_Bdd.shape[1]
    large = np.zeros((batch, size, size), np.uint8)
    row_B11 = np.arange(batch)[:, None, None]
    for number in range(pieces):
        which, top, left, down, across = (below(dice_BN[:, 2 + EACH * number + place], end) for place, end in enumerate(
            (len(pool_Mdd), side - piece + 1, side - piece + 1, size - piece + 1, size - piece + 1)))  # fmt: skip
        cut_Bpp = pool_Mdd[(which[:, None, None], *_square(top, left, piece))]
        there = (row_B11, *_square(down, across, piece))
        large[there] = np.maximum(large[there], cut_Bpp)
    there = (row_B11, *_square(below(dice_BN[:, 0], size - side + 1), below(dice_BN[:, 1], size - side + 1), side))
    large[there] = np.maximum(large[there], small_Bdd)
    return large


def _square(top_B: Whole, left_B: Whole, side: int) -> tuple[Whole, Whole]:
    steps = np.arange(side)
    return (top_B[:, None] + steps)[:, :, None], (left_B[:, None] + steps)[:, None, :]


def binarised(grey: Bytes, noise: Bytes) -> Bytes:
    """255 with the probability that a pixel's grey is of white, else 0; `noise` is uniform in 0 to 255.

    >>> binarised(np.array([0, 0, 255, 255, 128], np.uint8), np.array([0, 255, 0, 255, 127], np.uint8)).tolist()
    [0, 0, 255, 255, 255]
    """
    chance = grey.astype(np.uint16) + (grey >> 7)  # of 256
    return np.where(noise < chance, 255, 0).astype(np.uint8)
