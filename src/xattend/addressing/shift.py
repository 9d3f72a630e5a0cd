"""Shifting (Graves et al. 2014, equation 8): a few slots back or on, round the end of the memory.

    w_i = sum_j s_j w_{i-j},   j = -reach .. reach, slots counted round, s = softmax

>>> shift(torch.tensor([[[0.0, 1.0, 0.0, 0.0]]]), torch.tensor([[[0.1, 0.2, 0.7]]])).tolist()  # back .1, stay .2, on .7
[[[0.10..., 0.20..., 0.69..., 0.0]]]
"""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from xattend.addressing.base import Addressing, PartState, Seen
from xattend.registry import register


def shift(weights_BHN: Tensor, shifts_BHS: Tensor) -> Tensor:
    """Circular convolution; the middle of `shifts_BHS` stays where it is."""
    reach = shifts_BHS.shape[-1] // 2
    round_BHN = torch.cat([weights_BHN[..., -reach:], weights_BHN, weights_BHN[..., :reach]], dim=-1)
    return (round_BHN.unfold(-1, 2 * reach + 1, 1) @ shifts_BHS.flip(-1)[..., None]).squeeze(-1)


@register("addressing", "shift")
class Shift(Addressing):
    """Moves a head by what the controller says."""

    first_slot = True

    def __init__(
        self, width: int, heads: int, reads: int, *,
        reach: Annotated[int, Field(ge=1, le=8), "how far a head can move in a step"] = 1,
    ) -> None:  # fmt: skip
        super().__init__(width, heads, reads)
        self.numbers, self.reach = 2 * reach + 1, reach

    def forward(self, numbers_BHP: Tensor, weights_BHN: Tensor, seen: Seen, state: PartState) -> tuple[Tensor, PartState]:
        return shift(weights_BHN, numbers_BHP.softmax(dim=-1)), state
