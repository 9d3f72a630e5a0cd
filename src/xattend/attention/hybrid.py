"""Hybrid attention (Chorowski et al. 2015): what stands at a position and where the last step looked, both in one score.

    f_t   = F * a_{t-1}                                            `filters` convolutions over the last step's weights
    e_tj  = v . tanh(W query_t + V state_j + U f_tj)               without f_t it is additive attention
    a_t   = softmax(beta e_t)                                      sharpening: beta > 1, or the `top` positions alone
    a_tj  = sigmoid(e_tj) / sum_k sigmoid(e_tk)                    smoothing
    -back <= j - median of a_{t-1} <= window                       windowing: a step looks near the last one

Content alone cannot tell two places that sound alike; the place of the last look can. Smoothing lets a step gather several frames.

>>> attention = Hybrid(query_size=8, memory_size=6, window=1)
>>> memory = Memory(torch.randn(1, 6, 6), torch.ones(1, 6, dtype=torch.bool), torch.zeros(1, 6))
>>> bound = attention.bind(memory)
>>> attention.attend(torch.randn(1, 8), bound, torch.eye(6)[3:4])[1].gt(0).int().tolist()  # near position 3
[[[0, 0, 1, 1, 1, 0]]]
>>> attention = Hybrid(query_size=8, memory_size=6, window=2, back=0)  # and never back
>>> attention.attend(torch.randn(1, 8), attention.bind(memory), torch.eye(6)[3:4])[1].gt(0).int().tolist()
[[[0, 0, 0, 1, 1, 1]]]
"""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from xattend.attention.base import Bound
from xattend.attention.coverage import Remembering
from xattend.errors import UserError
from xattend.registry import register
from xattend.tree import Tree
from xattend.types import Memory

__all__ = ["Hybrid", "Memory"]  # Memory is for the example above


def median(weights_BS: Tensor) -> Tensor:
    """The position where half of the weight is reached: place_B. Nothing looked at yet: the first.

    >>> median(torch.tensor([[0.2, 0.2, 0.6], [0.0, 0.0, 0.0]])).tolist()
    [2, 0]
    """
    cumulated_BS = weights_BS.cumsum(dim=1)
    return (cumulated_BS * 2 < cumulated_BS[:, -1:]).sum(dim=1)


@register("attention", "hybrid")
class Hybrid(Remembering):
    """Content, and convolutions over the last weights."""

    def __init__(
        self, query_size: int, memory_size: int, *,
        size: Annotated[int | None, "width of the alignment layer; by default the query's"] = None,
        filters: Annotated[int, Field(ge=1), "convolutions over the last weights"] = 10,
        reach: Annotated[int, Field(ge=1), "positions to either side that a convolution sees; the authors: 100 of unhalved frames"] = 15,
        smooth: Annotated[bool, "sigmoids that are normalised, instead of a softmax"] = False,
        sharpen: Annotated[float, Field(gt=0), "beta: scores are multiplied by it"] = 1.0,
        top: Annotated[int | None, Field(ge=1), "only so many best positions are looked at"] = None,
        window: Annotated[int | None, Field(ge=1), "positions to either side of the last look's median; by default all"] = None,
        back: Annotated[int | None, Field(ge=0), "fewer of them before it, so that a look cannot go far back; by default as many"] = None,
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size, size=size)
        self.convolution = nn.Conv1d(1, filters, 2 * reach + 1, padding=reach, bias=False)
        self.location = nn.Linear(filters, size or query_size, bias=False)
        self.smooth, self.sharpen, self.top, self.window = smooth, sharpen, top, window
        if back is not None and (window is None or back > window):
            raise UserError(f"attention.back = {back} makes attention.window narrower: set a window that is at least as wide")
        self.back = window if back is None else back

    def start(self, bound: Bound) -> Tree:
        return bound.keys_BSA.new_zeros(bound.mask_BS.shape)

    def remembered(self, state: Tree) -> Tensor:
        past_BSA: Tensor = self.location(self.convolution(state[:, None]).transpose(1, 2))
        return past_BSA

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        scores_BTS = super().score(query_BTQ, bound, state)
        if self.smooth:
            scores_BTS = F.logsigmoid(scores_BTS)  # softmax(log s) = s / sum s
        scores_BTS = self.sharpen * scores_BTS
        lowest = torch.finfo(scores_BTS.dtype).min
        if self.window is not None:
            away_BS = torch.arange(scores_BTS.shape[-1], device=state.device) - median(state.detach())[:, None]
            outside_BS = (away_BS > self.window) | (away_BS < -(self.back or 0))
            scores_BTS = scores_BTS.masked_fill(outside_BS[:, None], lowest)
        if self.top is not None and self.top < scores_BTS.shape[-1]:
            real_BTS = scores_BTS.masked_fill(~bound.mask_BS[:, None], lowest)
            least_BT1 = real_BTS.topk(self.top, dim=-1).values[..., -1:]
            scores_BTS = scores_BTS.masked_fill(real_BTS < least_BT1, lowest)
        return scores_BTS

    def advance(self, state: Tree, weights_BS: Tensor, bound: Bound) -> Tree:
        return weights_BS
