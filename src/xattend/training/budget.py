"""How long a training may take: updates, passes over the data, minutes; whichever comes first.

>>> budget = Budget(steps=100, minutes=1.0)
>>> budget.progress(step=30, epoch=2.0, elapsed=15.0), budget.reached(step=100, epoch=2.0, elapsed=15.0)
(0.3, '100 steps')
"""

from __future__ import annotations

from dataclasses import dataclass

from xattend.settings import TrainingSettings

DEFAULT_EPOCHS = 20.0


@dataclass(frozen=True)
class Budget:
    """At least one limit is set."""

    steps: int | None = None
    epochs: float | None = None
    minutes: float | None = None

    @staticmethod
    def of(settings: TrainingSettings) -> tuple[Budget, str]:
        """The recipe's limits, and a remark if it has none."""
        if settings.steps is None and settings.epochs is None and settings.minutes is None:
            remark = f"no limit is set (training.steps, epochs or minutes): stopping after {DEFAULT_EPOCHS:g} epochs"
            return Budget(epochs=DEFAULT_EPOCHS), remark
        return Budget(settings.steps, settings.epochs, settings.minutes), ""

    def _shares(self, step: int, epoch: float, elapsed: float) -> list[tuple[float, str]]:
        limits = [
            (self.steps, float(step), f"{self.steps} steps"),
            (self.epochs, epoch, f"{self.epochs} epochs"),
            (None if self.minutes is None else self.minutes * 60, elapsed, f"{self.minutes} minutes"),
        ]
        return [(done / limit if limit > 0 else 1.0, name) for limit, done, name in limits if limit is not None]

    def progress(self, step: int, epoch: float, elapsed: float) -> float:
        """0 at the start, 1 when the first limit is reached."""
        return min(1.0, max(share for share, _ in self._shares(step, epoch, elapsed)))

    def reached(self, step: int, epoch: float, elapsed: float) -> str | None:
        """The limit that is reached, in words; None if there is more to do."""
        return next((name for share, name in self._shares(step, epoch, elapsed) if share >= 1 - 1e-9), None)
