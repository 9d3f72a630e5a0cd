"""The Transformer's schedule (Vaswani et al. 2017, equation 3), scaled so that the learning rate given is its peak.

factor = min(step^-0.5, step warmup^-1.5) warmup^0.5: linear up to `warmup`, then falling as 1 / sqrt(step). The
paper's form, D^-0.5 min(...), is this one with lr = (D warmup)^-0.5: 7e-4 for D = 512 and 4000 updates.

>>> [InverseSquareRoot(warmup=4).factor(step, 0.0, 0.0) for step in (1, 4, 16)]
[0.25, 1.0, 0.5]
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from xattend.registry import register
from xattend.training.schedules.base import Schedule


@register("schedule", "inverse-square-root")
class InverseSquareRoot(Schedule):
    """Warm-up, then 1 / sqrt(step)."""

    def __init__(self, *, warmup: Annotated[int, Field(gt=0), "update at which the peak is reached"] = 4000) -> None:
        self.warmup = warmup

    def factor(self, step: int, epoch: float, progress: float) -> float:
        # as a ratio, so that the peak is exactly 1: eq. 3 with warmup^0.5 multiplied in
        return float(min((self.warmup / step) ** 0.5, step / self.warmup))
