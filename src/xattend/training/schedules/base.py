"""What a schedule is: a factor for every update, and what it remembers of validations.

>>> Schedule().factor(step=1, epoch=0.0, progress=0.0)
1.0
"""

from __future__ import annotations

from typing import Any


class Schedule:
    """A schedule with no memory needs `factor` alone; one that listens to validations has a state that is saved."""

    def factor(self, step: int, epoch: float, progress: float) -> float:
        """The multiplier of update number `step` (from 1).

        epoch      passes over the data made before this update
        progress   0 at the start, 1 when the first of the limits (steps, epochs, minutes) is reached
        """
        return 1.0

    def observe(self, better: bool) -> None:
        """A validation ended; was it the best so far?"""

    def state(self) -> dict[str, Any]:
        """What must be saved, as JSON."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """The opposite of `state`."""
