"""Constant, then halved again and again (Sutskever et al. 2014: "after 5 epochs, we began halving every half epoch").

Luong et al. 2015 halve every epoch after 5 (`every = 1`), or after 8 with dropout.

>>> [Halving(start=5, every=0.5).factor(1, epoch, 0.0) for epoch in (4.9, 5.0, 5.4, 5.5, 7.25)]
[1.0, 0.5, 0.5, 0.25, 0.03125]
"""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from xattend.registry import register
from xattend.training.schedules.base import Schedule


@register("schedule", "halving")
class Halving(Schedule):
    """The first halving is at `start` epochs, the next `every` epochs later."""

    def __init__(
        self,
        *,
        start: Annotated[float, Field(ge=0), "passes over the data before the first halving"] = 5.0,
        every: Annotated[float, Field(gt=0), "passes over the data between halvings"] = 0.5,
    ) -> None:
        self.start, self.every = start, every

    def factor(self, step: int, epoch: float, progress: float) -> float:
        if epoch < self.start:
            return 1.0
        # the small term: a third of a pass three times must count as one pass
        return float(0.5 ** (1 + math.floor((epoch - self.start) / self.every + 1e-9)))
