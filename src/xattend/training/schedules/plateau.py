"""Lower the learning rate when validation stops getting better.

>>> schedule = Plateau(factor=0.5, patience=2)
>>> for better in (True, False, False, False):
...     schedule.observe(better)
>>> schedule.factor(100, 3.0, 0.5)  # the second miss halves it; the third is the first of a new wait
0.5
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from xattend.registry import register
from xattend.training.schedules.base import Schedule


@register("schedule", "plateau")
class Plateau(Schedule):
    """After `patience` validations in a row without a better metric, multiply by `factor` and wait again."""

    def __init__(
        self,
        *,
        factor: Annotated[float, Field(gt=0, lt=1), "what the rate is multiplied by"] = 0.5,
        patience: Annotated[int, Field(gt=0), "validations in a row without a better metric before that"] = 1,
        floor: Annotated[float, Field(ge=0, le=1), "least share of the base rate"] = 0.0,
        warmup: Annotated[int, Field(ge=0), "updates of linear warm-up; 0 = none"] = 0,
    ) -> None:
        self.shrink, self.patience, self.floor, self.warmup = factor, patience, floor, warmup
        self.scale, self.missed = 1.0, 0

    def factor(self, step: int, epoch: float, progress: float) -> float:
        return self.scale * (min(1.0, step / self.warmup) if self.warmup else 1.0)

    def observe(self, better: bool) -> None:
        self.missed = 0 if better else self.missed + 1
        if self.missed >= self.patience:
            self.scale, self.missed = max(self.floor, self.scale * self.shrink), 0

    def state(self) -> dict[str, Any]:
        return {"scale": self.scale, "missed": self.missed}

    def restore(self, state: dict[str, Any]) -> None:
        self.scale, self.missed = float(state["scale"]), int(state["missed"])
