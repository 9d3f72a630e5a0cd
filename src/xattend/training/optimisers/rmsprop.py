"""RMSProp (Tieleman and Hinton 2012; the centred form with momentum is Graves 2013, equations 38-45).

>>> import torch
>>> w = torch.nn.Parameter(torch.tensor([1.0]))
>>> w.grad = torch.tensor([0.5])
>>> RMSProp([w], lr=0.01, decay=0.99).step()
>>> round(w.item(), 4)  # v = 0.01 x 0.25, so the step is 0.01 x 0.5 / 0.05
0.9
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import torch
from pydantic import Field
from torch import nn

from xattend.registry import register


@register("optimiser", "rmsprop")
class RMSProp(torch.optim.RMSprop):
    """RMSProp."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        lr: Annotated[float, Field(gt=0), "base learning rate"] = 1e-3,
        decay: Annotated[float, Field(ge=0, lt=1), "decay of the mean of squared gradients"] = 0.99,
        eps: Annotated[float, Field(gt=0), "added to the root in the denominator"] = 1e-8,
        momentum: Annotated[float, Field(ge=0, lt=1), "share of the last step kept in the next"] = 0.0,
        centred: Annotated[bool, "divide by the standard deviation instead of the root mean square"] = False,
        weight_decay: Annotated[float, Field(ge=0), "L2 penalty, added to the gradient"] = 0.0,
    ) -> None:
        super().__init__(
            parameters, lr=lr, alpha=decay, eps=eps, momentum=momentum, centered=centred, weight_decay=weight_decay,
            foreach=False,
        )  # fmt: skip
