"""Half a cosine from 1 to zero over the whole training (Loshchilov and Hutter 2017, equation 5, without restarts).

With a limit in minutes, progress is the share of the time used: it fits any machine, but two trainings then differ
with the clock. With a limit in steps or epochs it is exact.

>>> [round(Cosine().factor(1, 0.0, progress), 3) for progress in (0.0, 0.25, 0.5, 1.0)]
[1.0, 0.854, 0.5, 0.0]
>>> [round(Cosine(power=2.0).factor(1, 0.0, progress), 3) for progress in (0.0, 0.25, 0.5, 1.0)]
[1.0, 0.729, 0.25, 0.0]
"""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from xattend.registry import register
from xattend.training.schedules.base import Schedule


@register("schedule", "cosine")
class Cosine(Schedule):
    """floor + (1 - floor) ((1 + cos(pi progress)) / 2)^power."""

    def __init__(
        self,
        *,
        warmup: Annotated[int, Field(ge=0), "updates of linear warm-up; 0 = none"] = 0,
        floor: Annotated[float, Field(ge=0, le=1), "share of the base rate left at the end"] = 0.0,
        power: Annotated[float, Field(gt=0), "of the half cosine: above 1, the rate falls sooner"] = 1.0,
    ) -> None:
        self.warmup, self.floor, self.power = warmup, floor, power

    def factor(self, step: int, epoch: float, progress: float) -> float:
        rise = min(1.0, step / self.warmup) if self.warmup else 1.0
        half: float = ((1 + math.cos(math.pi * progress)) / 2) ** self.power
        return rise * (self.floor + (1 - self.floor) * half)
