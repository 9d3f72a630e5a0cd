"""Stochastic gradient descent, with momentum if asked: v = m v + g, w -= lr v.

Sutskever et al. 2014 and Luong et al. 2015 use it plain, with `normalise = "sentences"`, a clipped gradient and the
halving schedule.

>>> import torch
>>> w = torch.nn.Parameter(torch.tensor([1.0]))
>>> w.grad = torch.tensor([0.5])
>>> SGD([w], lr=0.1).step()
>>> round(w.item(), 4)
0.95
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import torch
from pydantic import Field
from torch import nn

from xattend.errors import UserError
from xattend.registry import register


@register("optimiser", "sgd")
class SGD(torch.optim.SGD):
    """Gradient descent."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        lr: Annotated[float, Field(gt=0), "base learning rate"] = 0.1,
        momentum: Annotated[float, Field(ge=0, lt=1), "share of the last step kept in the next"] = 0.0,
        nesterov: Annotated[bool, "look ahead along the momentum"] = False,
        weight_decay: Annotated[float, Field(ge=0), "L2 penalty, added to the gradient"] = 0.0,
    ) -> None:
        if nesterov and momentum == 0:
            raise UserError("optimiser 'sgd': nesterov needs a momentum, for example momentum = 0.9")
        super().__init__(
            parameters, lr=lr, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay, fused=True
        )  # fmt: skip
