"""Location-only attention (Luong et al. 2015): the query alone says where to look, whatever stands there.

    a_t = softmax(W query_t + b)

W has one row a position, so positions past the last row are never looked at (as in the paper); set `positions` to the
longest source you mean to read.

>>> Location(query_size=8, memory_size=6, positions=50).place.weight.shape
torch.Size([50, 8])
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor, nn

from xattend.attention.base import Attention, Bound
from xattend.registry import register
from xattend.tree import Tree


@register("attention", "location")
class Location(Attention):
    """softmax(W query)."""

    def __init__(
        self, query_size: int, memory_size: int, *,
        positions: Annotated[int, "source positions it can look at"] = 200,
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size)
        self.place = nn.Linear(query_size, positions)

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        wanted, have = bound.mask_BS.shape[1], self.place.out_features
        scores_BTS: Tensor = self.place(query_BTQ)[:, :, :wanted]
        if wanted > have:
            batch, steps = query_BTQ.shape[:2]
            beyond = scores_BTS.new_full((batch, steps, wanted - have), torch.finfo(scores_BTS.dtype).min)
            scores_BTS = torch.cat([scores_BTS, beyond], dim=-1)
        return scores_BTS
