"""AdamW (Loshchilov and Hutter 2019, algorithm 2): Adam whose weight decay, w -= lr wd w, does not go through the moments.

>>> import torch
>>> w = torch.nn.Parameter(torch.tensor([1.0]))
>>> w.grad = torch.tensor([0.0])
>>> AdamW([w], lr=0.1, weight_decay=0.5).step()
>>> round(w.item(), 4)  # no gradient: decay alone, 1 - 0.1 x 0.5
0.95
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import torch
from pydantic import Field
from torch import nn

from xattend.registry import register


@register("optimiser", "adamw")
class AdamW(torch.optim.AdamW):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        lr: Annotated[float, Field(gt=0), "base learning rate"] = 1e-3,
        beta1: Annotated[float, Field(ge=0, lt=1), "decay of the mean of gradients"] = 0.9,
        beta2: Annotated[float, Field(ge=0, lt=1), "decay of the mean of squared gradients"] = 0.999,
        eps: Annotated[float, Field(gt=0), "added to the root in the denominator"] = 1e-8,
        weight_decay: Annotated[float, Field(ge=0), "share of each weight taken off, times the learning rate"] = 0.01,
    ) -> None:
        super().__init__(parameters, lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, fused=True)
