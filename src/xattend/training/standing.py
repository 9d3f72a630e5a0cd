"""Where a training stands: all of its state that is not a tensor.

>>> standing = Standing()
>>> standing.restore(Standing(step=3).to_json())
>>> standing == Standing(step=3)
True
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from xattend.training.update import Tally


@dataclass
class Standing:
    """
    step                 updates made or skipped
    epoch, position      the next batch: its pass over the data, its place in that pass
    batches              in this pass, to notice when a changed setting has made other batches
    elapsed              seconds, over all sittings
    best, best_step      the best metric, and the step whose weights were kept for it
    best_loss            its validation loss, which decides between equal metrics
    missed               validations since then
    validated            step of the last validation
    validation_seconds   how long that took: kept in reserve when time is limited
    bad_in_a_row, skipped   updates that were not finite: the present streak, and all
    snapshots            steps of the weights that will be averaged
    sums                 sha256 of the kept weights, by step
    window               sums since the last line of the log
    log_lines            lines of metrics.jsonl
    """

    step: int = 0
    epoch: int = 0
    position: int = 0
    batches: int = 0
    elapsed: float = 0.0
    best: float | None = None
    best_step: int | None = None
    best_loss: float | None = None
    missed: int = 0
    validated: int | None = None
    validation_seconds: float = 0.0
    bad_in_a_row: int = 0
    skipped: int = 0
    snapshots: list[int] = field(default_factory=list)
    sums: dict[str, str] = field(default_factory=dict)
    window: Tally = field(default_factory=Tally)
    log_lines: int = 0

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def restore(self, saved: dict[str, Any]) -> None:
        """The opposite of `to_json`, in place, as others hold on to this object."""
        self.__init__(**(saved | {"window": Tally(**saved["window"])}))  # type: ignore[misc]

    def referred(self) -> dict[int, str]:
        """The kept weights that are still needed, with their sha256; the others are forgotten."""
        needed = {*self.snapshots} | ({self.best_step} if self.best_step is not None else set())
        self.sums = {str(step): self.sums[str(step)] for step in sorted(needed)}
        return {step: self.sums[str(step)] for step in sorted(needed)}
