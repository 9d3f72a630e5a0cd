"""Interpolation (Graves et al. 2014, equation 7): the slots just found, or those of the step before.

    w = g w_found + (1 - g) w_{t-1},   g = sigmoid

>>> found, last = torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[0.0, 1.0]]])
>>> interpolate(found, last, torch.tensor([[[0.25]]])).tolist()
[[[0.25, 0.75]]]
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.addressing.base import Addressing, PartState, Seen
from xattend.registry import register


def interpolate(found_BHN: Tensor, last_BHN: Tensor, gate_BH1: Tensor) -> Tensor:
    """gate found + (1 - gate) last."""
    return torch.lerp(last_BHN, found_BHN, gate_BH1)


@register("addressing", "interpolation")
class Interpolation(Addressing):
    """A gate between what was found and where the head was."""

    first_slot = True
    numbers = 1

    def forward(self, numbers_BHP: Tensor, weights_BHN: Tensor, seen: Seen, state: PartState) -> tuple[Tensor, PartState]:
        return interpolate(weights_BHN, seen.last_BHN, torch.sigmoid(numbers_BHP)), state
