"""Batches of rows of about the same length, within a budget of tokens, the same for the same seed and epoch.

A batch costs its rows times its longest side. An epoch is shuffled, sorted by length within windows of many batches (so
that little is padding), cut, and its batches are shuffled. A plan depends on seed and epoch alone, so a run that
resumes at position p of epoch e goes on exactly where it stopped.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from xattend.data.split import Split
from xattend.data.store import let_go
from xattend.settings import TrainingSettings
from xattend.types import Batch

Rows = np.ndarray[Any, np.dtype[np.int32]]
WINDOW = 128  # batches that are sorted together: less padding, against less mixing
BLOCK = 1 << 16  # rows looked at in one go


class Batches:
    """The training order.

    tokens     budget of a batch: its rows times its longest side
    sentences  at most so many rows in a batch
    together   rows that stay in one batch, so many at a time in the order of the data: questions about one picture, which is then read once
    oversized  rows longer than the budget; each makes a batch of its own
    """

    def __init__(self, split: Split, *, tokens: int, sentences: int | None = None, together: int = 1, seed: int = 1) -> None:
        self.split = split
        self.tokens = tokens
        self.sentences = None if sentences is None else max(1, sentences // together)
        self.together = together
        self.seed = seed
        self.oversized = 0
        total = 0
        for start in range(0, len(split), BLOCK):
            longest = split.lengths[start : start + BLOCK].max(axis=1)
            self.oversized += int((longest > tokens).sum())
            total += int(longest.sum())
        let_go(split.lengths)
        by_tokens = max(1, tokens * len(split) // max(1, total))
        self.window = WINDOW * max(1, min(by_tokens, sentences or by_tokens) // together)

    @classmethod
    def of(cls, split: Split, settings: TrainingSettings) -> Batches:
        """The order that a recipe asks for."""
        return cls(split, tokens=settings.tokens, sentences=settings.sentences, together=settings.together, seed=settings.seed)

    def plan(self, epoch: int) -> list[Rows]:
        """Row numbers of each batch of an epoch, in order. Every row is in exactly one batch."""
        random = np.random.Generator(np.random.PCG64([self.seed, epoch]))
        # of groups, which are rows if none stay together
        order = np.arange(-(-len(self.split) // self.together), dtype=np.int32)
        random.shuffle(order)  # in place: four bytes a row is all an epoch costs
        batches: list[Rows] = []
        for start in range(0, len(order), self.window):
            groups = order[start : start + self.window]
            lengths = self.split.lengths[self._rows(groups)].reshape(len(groups), self.together, 2).max(axis=1)
            by_length = _by_length(lengths)
            groups[:] = groups[by_length]
            batches += _cut(groups, self.together * lengths.max(axis=1)[by_length], self.tokens, self.sentences)
        let_go(self.split.lengths)
        if self.together > 1:
            batches = [np.unique(self._rows(groups)) for groups in batches]
        turn = np.arange(len(batches))
        random.shuffle(turn)
        return [batches[number] for number in turn]

    def _rows(self, groups: Rows) -> Rows:
        """The rows of these groups; a last group that is not full repeats the last row."""
        rows: Rows = np.minimum((groups[:, None] * self.together + np.arange(self.together, dtype=np.int32)).reshape(-1), len(self.split) - 1)
        return rows


def in_order(split: Split, tokens: int, sentences: int | None = None) -> list[Rows]:
    """A plan for evaluation: the whole split by length, every row once."""
    lengths = split.lengths[:]
    by_length = _by_length(lengths)
    return _cut(by_length.astype(np.int32), lengths.max(axis=1)[by_length], tokens, sentences)


def _by_length(lengths_N2: Rows) -> np.ndarray[Any, np.dtype[np.int64]]:
    """By target, then by source: less padding than by the longest side. Equal rows keep their (random) order."""
    return np.lexsort((lengths_N2[:, 0], lengths_N2[:, 1]))


def _cut(rows: Rows, longest: Rows, tokens: int, sentences: int | None) -> list[Rows]:
    """Rows in this order, cut wherever one more would break the budget."""
    batches, start = [], 0
    while start < len(rows):
        most = max(1, tokens // max(1, int(longest[start])))  # no more fit, however short the others are
        most = min(most, sentences or most, len(rows) - start)
        cost = np.maximum.accumulate(longest[start : start + most]).astype(np.int64) * np.arange(1, most + 1)
        size = max(1, int(np.searchsorted(cost, tokens, side="right")))
        batches.append(rows[start : start + size])
        start += size
    return batches


class _Planned(Dataset[Batch]):
    """The batches of a plan, by position."""

    def __init__(self, split: Split, plan: Sequence[Rows]) -> None:
        self.split = split
        self.plan = plan

    def __len__(self) -> int:
        return len(self.plan)

    def __getitem__(self, position: int) -> Batch:
        return self.split.batch(self.plan[position].tolist())


def _as_is(batch: Any) -> Any:
    return batch


class _DieWithParent:
    """Makes the kernel end a worker when its parent dies, even by SIGKILL. torch's own check can miss a parent that is
    killed while the worker starts, and such a worker would wait for ever. Linux only; elsewhere torch's check remains."""

    def __init__(self) -> None:
        self.parent = os.getpid()

    def __call__(self, worker: int) -> None:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            if os.getppid() != self.parent:  # it died before the line above
                os._exit(1)


@contextmanager
def _quiet_fork() -> Iterator[None]:
    """`tokenizers` prints a warning in every process forked after it used threads, unless this is set. The workers
    never use it: ids are on disk."""
    name, unset = "TOKENIZERS_PARALLELISM", "TOKENIZERS_PARALLELISM" not in os.environ
    if unset:
        os.environ[name] = "false"
    try:
        yield
    finally:
        if unset:
            del os.environ[name]


def loader(split: Split, plan: Sequence[Rows], start: int = 0, workers: int = 0) -> Iterator[Batch]:
    """The plan's batches from position `start`, made here or by worker processes: the same ones in the same order.

    torch's global random state is left alone (resuming exactly depends on it), and the workers end with the iterator.
    """
    planned = _Planned(split, plan[start:])
    if workers == 0:
        for position in range(len(planned)):
            yield planned[position]
        return
    private = torch.Generator()
    private.manual_seed(0)
    batches = DataLoader(
        planned, batch_size=None, collate_fn=_as_is, num_workers=workers, generator=private, worker_init_fn=_DieWithParent()
    )
    with _quiet_fork():
        running = iter(batches)
    try:
        yield from running
    finally:
        del running  # its last reference: this stops the workers and waits for them
