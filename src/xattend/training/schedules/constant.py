"""A constant learning rate, reached after a linear warm-up if asked.

>>> [Constant(warmup=4).factor(step, 0.0, 0.0) for step in (1, 2, 4, 9)]
[0.25, 0.5, 1.0, 1.0]
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from xattend.registry import register
from xattend.training.schedules.base import Schedule


@register("schedule", "constant")
class Constant(Schedule):
    """min(1, step / warmup)."""

    def __init__(self, *, warmup: Annotated[int, Field(ge=0), "updates of linear warm-up; 0 = none"] = 0) -> None:
        self.warmup = warmup

    def factor(self, step: int, epoch: float, progress: float) -> float:
        return min(1.0, step / self.warmup) if self.warmup else 1.0
