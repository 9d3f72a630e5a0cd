"""The order of batches: pass after pass over the data, from wherever a training stands, in this process's shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xattend.data.batching import Batches, loader
from xattend.data.split import Split
from xattend.errors import UserError
from xattend.settings import TrainingSettings
from xattend.training.distributed import Group
from xattend.training.standing import Standing
from xattend.types import Batch


class Stream:
    """Reads and moves `standing`'s epoch and position; those two are all that resuming needs."""

    def __init__(self, split: Split, settings: TrainingSettings, group: Group, standing: Standing) -> None:
        self.split, self.workers, self.group, self.standing = split, settings.workers, group, standing
        self.batches = Batches.of(split, settings)
        self.plan: list[Any] = []
        self._loaded: Iterator[Batch] | None = None

    @property
    def epoch(self) -> float:
        """Passes over the data so far, the present one in part."""
        return self.standing.epoch + self.standing.position / len(self.plan)

    def open(self, say: Callable[[str], None]) -> None:
        """Plans the present pass."""
        now = self.standing
        self.plan = self.batches.plan(now.epoch)
        if not self.plan:
            raise UserError("the training data make no batch: is the file empty?")
        if now.position and now.batches != len(self.plan):
            say("the batches are not those of the saved state (was training.tokens changed?): starting this pass over again")
            now.position = 0
        now.batches = len(self.plan)

    def next(self) -> tuple[Any, Batch | None]:
        """The row numbers of the next global batch, and this process's share of it; None if it has no row in it."""
        rows = self.plan[self.standing.position]
        if self._loaded is None:
            # a process with no rows in a batch loads one all the same, and leaves it aside, so that all keep step
            shares: list[Any] = [self.group.share(rows) if self.group.rank < len(rows) else rows[:1] for rows in self.plan]
            split = self.split.at(self.standing.epoch)
            self._loaded = iter(loader(split, shares, self.standing.position, self.workers))
        batch = next(self._loaded)
        return rows, batch if self.group.rank < len(rows) else None

    def advance(self, say: Callable[[str], None]) -> bool:
        """On to the next batch; True if a pass over the data ended."""
        now = self.standing
        now.position += 1
        if now.position < len(self.plan):
            return False
        self.close()
        now.epoch, now.position = now.epoch + 1, 0
        self.open(say)
        return True

    def close(self) -> None:
        """Ends the workers now, not when memory is swept."""
        close = getattr(self._loaded, "close", None)
        if close is not None:
            close()
        self._loaded = None
