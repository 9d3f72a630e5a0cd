"""Local attention (Luong et al. 2015): a window around a position, instead of the whole source.

local-m   p_t = t                                         the source is read at the target's pace
local-p   p_t = S sigmoid(v . tanh(W query_t))            the position is predicted
          a_tj = softmax(e_tj) exp(-(j - p_t)^2 / 2 sigma^2),  sigma = window / 2   (not normalised again)

Only positions with |j - p_t| <= window take part. S is each sentence's own length.

>>> import torch
>>> local = LocalM(4, 4, window=1)
>>> memory = Memory(torch.randn(1, 6, 4), torch.ones(1, 6, dtype=torch.bool), torch.zeros(1, 4))
>>> bound = local.bind(memory)
>>> local.attend(torch.randn(1, 4), bound, local.start(bound))[1].gt(0).int().tolist()  # step 0: positions 0 and 1
[[[1, 1, 0, 0, 0, 0]]]
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor, nn

from xattend import registry
from xattend.attention.base import Attention, Bound
from xattend.registry import Named, register
from xattend.tree import Tree
from xattend.types import Memory


class _Window(Attention):
    """Scores of another mechanism, seen through a window."""

    def __init__(self, query_size: int, memory_size: int, window: int, score: str) -> None:
        super().__init__(query_size, memory_size)
        self.window = window
        self.content: Attention = registry.build("attention", score, query_size, memory_size)

    def bind(self, memory: Memory) -> Bound:
        return self.content.bind(memory)

    def through(self, scores_BTS: Tensor, centre_BT: Tensor) -> Tensor:
        outside_BTS = self.distance(scores_BTS, centre_BT).abs() > self.window
        return scores_BTS.masked_fill(outside_BTS, torch.finfo(scores_BTS.dtype).min)

    def distance(self, like_BTS: Tensor, centre_BT: Tensor) -> Tensor:
        places_S = torch.arange(like_BTS.shape[-1], device=like_BTS.device, dtype=like_BTS.dtype)
        return places_S - centre_BT[:, :, None]


@register("attention", "local-m")
class LocalM(_Window):
    """A window that moves one position a step; it stops at the sentence's last position."""

    stateful = True

    def __init__(
        self, query_size: int, memory_size: int, *,
        window: Annotated[int, "positions to either side"] = 10,
        score: Annotated[str, Named("attention"), "how positions inside the window are scored"] = "bilinear",
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size, window, score)

    def start(self, bound: Bound) -> Tree:
        return bound.mask_BS.new_zeros(len(bound.mask_BS), dtype=torch.long)

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        last_B = (bound.mask_BS.sum(dim=1) - 1).clamp(min=0)
        centre_BT = torch.minimum(state, last_B)[:, None].to(query_BTQ.dtype)
        return self.through(self.content.score(query_BTQ, bound, None), centre_BT)

    def advance(self, state: Tree, weights_BS: Tensor, bound: Bound) -> Tree:
        return state + 1


@register("attention", "local-p")
class LocalP(_Window):
    """A window whose place is predicted, with weights that fade towards its edges."""

    sums_to_one = False

    def __init__(
        self, query_size: int, memory_size: int, *,
        window: Annotated[int, "positions to either side"] = 10,
        score: Annotated[str, Named("attention"), "how positions inside the window are scored"] = "bilinear",
        size: Annotated[int | None, "width of the layer that predicts the place; by default the query's"] = None,
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size, window, score)
        self.place = nn.Sequential(
            nn.Linear(query_size, size or query_size, bias=False), nn.Tanh(), nn.Linear(size or query_size, 1, bias=False)
        )

    def centre(self, query_BTQ: Tensor, bound: Bound) -> Tensor:
        length_B1 = bound.mask_BS.sum(dim=1, keepdim=True).to(query_BTQ.dtype)
        return length_B1 * torch.sigmoid(self.place(query_BTQ).squeeze(-1))

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        return self.through(self.content.score(query_BTQ, bound, None), self.centre(query_BTQ, bound).detach())

    def focus(self, weights_BTS: Tensor, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        away_BTS = self.distance(weights_BTS, self.centre(query_BTQ, bound))
        return weights_BTS * torch.exp(-2.0 * (away_BTS / self.window) ** 2)  # sigma = window / 2
