"""Subwords taken apart again, anew in every pass over the data: a model that sees a word spelt in several ways learns its parts as well.

In the manner of BPE dropout (Provilkov et al. 2020), which leaves merges out at random while a text is cut; here the text is cut once, and each
merge is undone with the probability `rate`, from the last one inwards. What is drawn depends on the pass and the rows alone, so that a resumed training
sees what an undisturbed one would have seen. Outside of training there is no pass, and nothing is taken apart.

>>> parts_V2 = np.array([[-1, -1], [-1, -1], [0, 1], [2, 1]])  # 2 = 0 + 1, 3 = 2 + 1
>>> [row.tolist() for row in Unmerging(parts_V2, rate=1.0).at(1).apart([np.array([3, 0]), np.array([2])])]
[[0, 1, 1, 0], [0, 1]]
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from xattend.data.fields.base import Field, Ids
from xattend.types import Padded

Parts = np.ndarray[Any, np.dtype[np.int64]]


class Unmerging:
    """Rows of ids in, a batch out. `parts_V2` has the two subwords that each was merged from, -1 for a letter; `epoch` is None outside of training."""

    def __init__(self, parts_V2: Parts, rate: float, epoch: int | None = None) -> None:
        self.parts_V2, self.rate, self.epoch = parts_V2, rate, epoch

    def at(self, epoch: int) -> Unmerging:
        return Unmerging(self.parts_V2, self.rate, epoch)

    def __call__(self, rows: Sequence[Ids]) -> Padded:
        return Field.collate(self.apart(rows))

    def apart(self, rows: Sequence[Ids]) -> list[Ids]:
        """The rows, all drawn at once: N ids side by side, each with the number of its row."""
        if self.epoch is None or not len(rows):
            return list(rows)
        ids_N = np.concatenate(rows)
        row_N = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        random = np.random.Generator(np.random.PCG64([self.epoch, zlib.crc32(ids_N.tobytes())]))
        fresh_N = np.ones(len(ids_N), bool)  # not drawn for yet: a merge that was kept once stays
        while fresh_N.any():
            split_N = fresh_N & (self.parts_V2[ids_N, 0] >= 0) & (random.random(len(ids_N)) < self.rate)
            times_N = 1 + split_N
            first_N = (np.cumsum(times_N) - times_N)[split_N]
            parts_M2 = self.parts_V2[ids_N[split_N]]
            ids_N, row_N, fresh_N = (np.repeat(values, times_N) for values in (ids_N, row_N, split_N))
            ids_N[first_N], ids_N[first_N + 1] = parts_M2[:, 0], parts_M2[:, 1]
        return np.split(ids_N, np.searchsorted(row_N, np.arange(1, len(rows))))
