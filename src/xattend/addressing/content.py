"""Content addressing (Graves et al. 2014, equations 5 and 6): slots that are like a key.

    w_i = softmax_i(beta cos(k, M_i)),   cos(k, m) = k . m / (|k| |m|),   |x| = sqrt(x . x + 1e-6)

k = tanh of the controller's numbers, beta = softplus of one. The constant in the norms keeps a slot that holds nothing from being like
anything, and the gradient finite there.

>>> key_BHM, memory_BNM = torch.tensor([[[3.0, 0.0]]]), torch.tensor([[[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]])
>>> cosine(key_BHM, memory_BNM).round(decimals=3).tolist()
[[[1.0, 0.0, 0.0]]]
"""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from xattend.addressing.base import Addressing, PartState, Seen
from xattend.registry import register

SMALL = 1e-6  # added to squared norms


def norm(values_M: Tensor) -> Tensor:
    """sqrt(x . x + 1e-6) over the last axis."""
    return (values_M.square().sum(dim=-1) + SMALL).sqrt()


def cosine(key_BHM: Tensor, memory_BNM: Tensor) -> Tensor:
    """cosine_BHN of each key with each slot."""
    return key_BHM @ memory_BNM.transpose(1, 2) / (norm(key_BHM)[:, :, None] * norm(memory_BNM)[:, None])


@register("addressing", "content")
class Content(Addressing):
    """softmax(beta cos(key, slot))."""

    def __init__(
        self, width: int, heads: int, reads: int, *,
        least: Annotated[float, Field(ge=0), "added to beta; the DNC has 1"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(width, heads, reads)
        self.numbers, self.least = width + 1, least

    def forward(self, numbers_BHP: Tensor, weights_BHN: Tensor, seen: Seen, state: PartState) -> tuple[Tensor, PartState]:
        key_BHM, beta_BH1 = torch.tanh(numbers_BHP[..., : self.width]), F.softplus(numbers_BHP[..., self.width :]) + self.least
        return (beta_BH1 * cosine(key_BHM, seen.memory_BNM)).softmax(dim=-1), state
