"""A parallel corpus as word pairs: every source word with every target word of the same sentence pair.

A pair of words has one number wherever it occurs, so a table over word pairs is one vector, and expected counts are one
`np.bincount`. Sentence pairs of the same lengths lie side by side in a block, so that one array operation serves them all.

>>> corpus = Cooccurrence([["das", "haus"], ["das"]], [["the", "house"], ["the"]])
>>> [block.pairs_BTS.shape for block in corpus.blocks]
[(1, 1, 2), (1, 2, 3)]
>>> corpus.pair("das", "the"), [int(block.pairs_BTS[0, 0, 1]) for block in corpus.blocks]  # numbers 0 and 1 are with NULL
(2, [2, 2])

Shapes: B sentence pairs of one block, T target words, S source words with NULL in front, N all places where two words meet,
P different pairs of words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]
PLACES = 1 << 18  # of a block: what a model holds several times, and what the processor's cache should hold, too
NULL = 0  # the number of the source word that stands in every sentence, for target words that come from nothing


class Block(NamedTuple):
    """Sentence pairs of the same lengths.

    rows_B      which they are
    pairs_BTS   the number of each word pair; column 0 is the pair with NULL
    places      where they lie among all N places
    """

    rows_B: Ints
    pairs_BTS: Ints
    places: slice


class Cooccurrence:
    """blocks     the sentence pairs by their lengths; one with an empty side has nothing to count and is in none
    pairs_N    the number of the word pair at each place
    source_P   the source word of each pair
    targets    how many different target words there are
    longest    source words of the longest sentence
    """

    def __init__(self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> None:
        self._source_ids = _numbered(sources, NULL + 1)
        self._target_ids = _numbered(targets, 0)
        self.targets = len(self._target_ids)
        rows_of: dict[tuple[int, int], list[int]] = {}
        self.longest = 0
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            if source and target:
                rows_of.setdefault((len(target), len(source)), []).append(row)
                self.longest = max(self.longest, len(source))
        groups = [part for shape, rows in sorted(rows_of.items()) for part in _parts(rows, math.prod(shape))]
        keys = []
        for rows in groups:
            source_BS = np.array([[NULL, *map(self._source_ids.__getitem__, sources[row])] for row in rows])
            target_BT = np.array([list(map(self._target_ids.__getitem__, targets[row])) for row in rows])
            keys.append(self._key(source_BS[:, None, :], target_BT[:, :, None]))
        shapes = [key.shape for key in keys]
        joined_N = np.concatenate([key.ravel() for key in keys]) if keys else np.zeros(0, dtype=np.int64)
        del keys  # the largest arrays of all: not held while the next ones are made
        self._keys_P, inverse_N = np.unique(joined_N, return_inverse=True)
        self.pairs_N: Ints = inverse_N.reshape(-1).astype(np.int64, copy=False)
        self.source_P: Ints = self._keys_P // max(self.targets, 1)
        self.blocks: list[Block] = []
        end = 0
        for shape, rows in zip(shapes, groups, strict=True):
            places = slice(end, end := end + math.prod(shape))
            self.blocks.append(Block(np.array(rows), self.pairs_N[places].reshape(shape), places))

    def _key(self, source: Any, target: Any) -> Any:
        return source * max(self.targets, 1) + target

    def pair(self, source: str | None, target: str) -> int:
        """The number of a pair that occurs; None is NULL."""
        key = self._key(NULL if source is None else self._source_ids[source], self._target_ids[target])
        found = int(np.searchsorted(self._keys_P, key))
        if found == len(self._keys_P) or self._keys_P[found] != key:
            raise KeyError((source, target))
        return found

    def translation(self, expected_N: Floats) -> Floats:
        """t(f|e) = c(f, e) / sum_f c(f, e), from how much of each place counts."""
        counts_P = np.bincount(self.pairs_N, weights=expected_N, minlength=len(self.source_P))
        sums = np.bincount(self.source_P, weights=counts_P)
        # a word that explains nothing (every count underflowed) has a row of zeros rather than of 0/0
        return counts_P / np.maximum(sums, np.finfo(np.float64).tiny)[self.source_P]


def _parts(rows: list[int], size: int) -> Iterator[list[int]]:
    """Rows of one size, as many at a time as make a block."""
    many = max(PLACES // size, 1)
    return (rows[start : start + many] for start in range(0, len(rows), many))


def _numbered(sentences: Iterable[Sequence[str]], first: int) -> dict[str, int]:
    """Words in the order they come in."""
    ids: dict[str, int] = {}
    for sentence in sentences:
        for word in sentence:
            ids.setdefault(word, first + len(ids))
    return ids
