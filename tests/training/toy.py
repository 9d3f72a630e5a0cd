"""A system and data small enough to train in a moment: the target is the source shifted by one symbol."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from xattend.data.corpus import Data
from xattend.data.fields.base import Field
from xattend.data.report import Report
from xattend.recipe import Recipe, parse
from xattend.run import Run
from xattend.search.base import Search
from xattend.systems.base import System
from xattend.training import Result, seed, train
from xattend.types import BOS, EOS, Batch, Loss, Prediction

SYMBOLS = 12
BASE = '[data]\ntask = "none"\n[training]\ntokens = 60\nsteps = 30\nsave_every = 7\nvalidate_every = 5\nlog_every = 4\nthreads = 1\n[optimiser]\nkind = "adam"\nlr = 0.01\n'


class ToySplit:
    """Rows of random symbols."""

    def __init__(self, size: int, start: int) -> None:
        random = np.random.default_rng(start)
        self.sources = [random.integers(4, SYMBOLS, random.integers(2, 8)) for _ in range(size)]
        self.poison: set[int] = set()

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def lengths(self) -> Any:
        return np.array([[len(s), len(s) + 2] for s in self.sources], np.int32).reshape(-1, 2)

    def at(self, epoch: int) -> ToySplit:
        return self

    def _target(self, row: int) -> Any:
        shifted = (self.sources[row] - 3) % (SYMBOLS - 4) + 4
        return np.concatenate([[BOS], shifted, [EOS]])

    def batch(self, rows: Any) -> Batch:
        source, target = Field.collate([self.sources[r] for r in rows]), Field.collate([self._target(r) for r in rows])
        return Batch(source, target, tuple(int(r) for r in rows))

    def texts(self, row: int) -> tuple[str, str]:
        return str(self.sources[row].tolist()), str(self._target(row).tolist())


class ToySystem(System):
    """Reads the last symbols with a GRU and scores each target position from the state there. Dropout on the states."""

    def __init__(self, dropout: float = 0.3, bad_rows: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, 8)
        self.rnn = nn.GRU(8, 8, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(8, SYMBOLS)
        self.output.weight = self.embedding.weight  # tied: one tensor, two names
        self.register_buffer("updates", torch.zeros((), dtype=torch.long))
        self.bad_rows = bad_rows

    def _logits_BSV(self, batch: Batch) -> Tensor:
        assert batch.source is not None
        states_BSD, _ = self.rnn(self.embedding(batch.source.values))
        return self.output(self.dropout(states_BSD))

    def loss(self, batch: Batch) -> Loss:
        assert batch.source is not None
        assert batch.target is not None
        logits_BSV, mask_BS = self._logits_BSV(batch), batch.source.mask_BS
        gold_BS = batch.target.values[:, 1:-1]
        total = nn.functional.cross_entropy(logits_BSV[mask_BS], gold_BS[mask_BS], reduction="sum")
        if self.training:
            self.updates += 1
            if self.bad_rows & set(batch.rows):
                total = total * float("nan")
        return Loss(total, int(mask_BS.sum()), len(batch), {"nll": float(total.detach())})

    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        torch.rand(3)  # a validation that draws must not disturb training
        best_BS = self._logits_BSV(batch).argmax(dim=-1)
        lengths = batch.source.lengths_B.tolist() if batch.source is not None else []
        texts = [str([BOS, *row[:length], EOS]) for row, length in zip(best_BS.tolist(), lengths)]
        return [Prediction(text, [], 0.0, 0.0, []) for text in texts]


def data(rows: int = 100, held_out: int = 20) -> Data:
    splits: dict[str, Any] = {"train": ToySplit(rows, 1)}
    if held_out:
        splits["validation"] = ToySplit(held_out, 2)
    return Data(None, None, splits, Report(), "toy")  # type: ignore[arg-type]


def recipe(*overrides: str) -> Recipe:
    return parse(BASE, "toy.toml", overrides)


def new_run(path: Path) -> Run:
    return Run.create(path, recipe="", fields={"target": {}}, fingerprint="toy")


def train_toy(
    run: Run, *overrides: str, resume: bool = False, dropout: float = 0.3, rows: Data | None = None, bad_rows: set[int] | None = None
) -> tuple[Result, ToySystem]:
    settings = recipe(*overrides)
    seed(settings.training.seed)
    system = ToySystem(dropout, frozenset(bad_rows or ()))
    return train(system, rows or data(), settings, run, resume=resume), system


def die_at(count: int) -> None:
    """SIGKILL at the count-th call that changes the disk for good, half of them before and half after it took place."""
    calls = 0

    def deadly(name: str) -> None:
        real = getattr(os, name)

        def wrapped(*args: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == count and count % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return real(*args, **named)
            finally:
                if calls == count:
                    os.kill(os.getpid(), signal.SIGKILL)

        setattr(os, name, wrapped)

    for name in ("replace", "fsync", "unlink", "rmdir"):
        deadly(name)
