"""Adadelta (Zeiler 2012, algorithm 1): steps scaled by the root mean square of past steps over that of gradients.

Bahdanau et al. 2015 use rho 0.95 and eps 1e-6.

>>> import torch
>>> w = torch.nn.Parameter(torch.tensor([1.0]))
>>> w.grad = torch.tensor([2.0])
>>> Adadelta([w]).step()
>>> round((1 - w.item()) * 1e3, 3)  # sqrt(eps) / sqrt(0.05 x 4 + eps) x 2
4.472
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import torch
from pydantic import Field
from torch import nn

from xattend.registry import register


@register("optimiser", "adadelta")
class Adadelta(torch.optim.Adadelta):
    """Adadelta."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        lr: Annotated[float, Field(gt=0), "multiplies the step; the paper has none, which is 1"] = 1.0,
        rho: Annotated[float, Field(ge=0, lt=1), "decay of both means"] = 0.95,
        eps: Annotated[float, Field(gt=0), "added under both roots"] = 1e-6,
        weight_decay: Annotated[float, Field(ge=0), "L2 penalty, added to the gradient"] = 0.0,
    ) -> None:
        # the plain loop: on a CPU it is twice as fast as `foreach`, which walks memory once an operation
        super().__init__(parameters, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, foreach=False)
