"""Sharpening (Graves et al. 2014, equation 9): undoes the blur of many shifts.

    w_i = w_i^gamma / sum_j w_j^gamma,   gamma = 1 + softplus

Computed as softmax(gamma log(w + 1e-8)), which neither divides by a sum that may vanish nor takes a power of 0; as gamma is at least 1, the
gradient is finite, too.

>>> sharpen(torch.tensor([[[0.6, 0.3, 0.1]]]), torch.tensor([[[2.0]]])).mul(46).round().tolist()  # 36, 9 and 1 of 46
[[[36.0, 9.0, 1.0]]]
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.addressing.base import Addressing, PartState, Seen
from xattend.registry import register

TINY = 1e-8


def sharpen(weights_BHN: Tensor, gamma_BH1: Tensor) -> Tensor:
    """Weights to the power of gamma, their sum 1."""
    return (gamma_BH1 * torch.log(weights_BHN + TINY)).softmax(dim=-1)


@register("addressing", "sharpen")
class Sharpen(Addressing):
    """Makes large weights larger."""

    numbers = 1

    def forward(self, numbers_BHP: Tensor, weights_BHN: Tensor, seen: Seen, state: PartState) -> tuple[Tensor, PartState]:
        return sharpen(weights_BHN, 1 + F.softplus(numbers_BHP)), state
