"""Sparse access (Rae et al. 2016): the few largest weights, made to keep their sum; all others are 0.

Only the slots kept have a gradient. The memory is still held and searched whole: it is the paper's rule, not its savings in time.

>>> keep_largest(torch.tensor([[[0.5, 0.3, 0.2]]]), 2).tolist()
[[[0.625, 0.37..., 0.0]]]
"""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from xattend.addressing.base import Addressing, PartState, Seen
from xattend.registry import register

TINY = 1e-8


def keep_largest(weights_BHN: Tensor, count: int) -> Tensor:
    """The `count` largest weights, scaled to the sum of all; the others are 0."""
    kept_BHK, place_BHK = weights_BHN.topk(min(count, weights_BHN.shape[-1]), dim=-1)
    scale_BH1 = weights_BHN.sum(dim=-1, keepdim=True) / (kept_BHK.sum(dim=-1, keepdim=True) + TINY)
    return torch.zeros_like(weights_BHN).scatter(-1, place_BHK, kept_BHK * scale_BH1)


@register("addressing", "top-k")
class TopK(Addressing):
    """A head looks at a few slots only."""

    def __init__(
        self, width: int, heads: int, reads: int, *,
        count: Annotated[int, Field(ge=1), "slots that a head may look at"] = 4,
    ) -> None:  # fmt: skip
        super().__init__(width, heads, reads)
        self.count = count

    def forward(self, numbers_BHP: Tensor, weights_BHN: Tensor, seen: Seen, state: PartState) -> tuple[Tensor, PartState]:
        return keep_largest(weights_BHN, self.count), state
