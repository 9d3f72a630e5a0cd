"""Attention that sees a place with its neighbours (Li et al. 2019, Show, Attend and Read).

    e_tij = w . tanh(W v_ij + sum over the neighbours (p, q) of (i, j) of W_{p-i, q-j} v_pq + U query_t)

Each of the 8 neighbours of a cell has a matrix of its own, so with W they are one 3 x 3 convolution over the memory's grid. It does not
depend on the step and is done once a sequence. The context is the weighted sum of the places themselves. What lies outside the picture,
or is padding, adds nothing.

A grid of one axis is a row, where a place has two neighbours; so is a memory that does not say how its places lie. Of a film's grid
(t, h, w) each frame is a picture.

Shapes: B batch, T queries, S source positions, Q query width, A alignment width, D memory width; h x w cells, N pictures.

>>> import torch
>>> memory = Memory(torch.randn(2, 6, 5), torch.ones(2, 6, dtype=torch.bool), torch.zeros(2, 5), grid=(2, 3))
>>> attention = Neighbourhood(query_size=8, memory_size=5, size=4)
>>> attention.attend(torch.randn(2, 8), attention.bind(memory), None)[1].shape
torch.Size([2, 1, 6])
"""

from __future__ import annotations

import math
from typing import Annotated

from torch import Tensor, nn

from xattend.attention.base import Attention, Bound, TanhScore, tanh_score
from xattend.registry import register
from xattend.tree import Tree
from xattend.types import Memory


@register("attention", "neighbourhood")
class Neighbourhood(Attention):
    """w . tanh(3 x 3 convolution of the states + U query)."""

    def __init__(
        self, query_size: int, memory_size: int, *,
        size: Annotated[int | None, "width of the alignment layer; by default the query's"] = None,
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size)
        width = size or query_size
        self.query = nn.Linear(query_size, width, bias=False)
        self.around = nn.Conv2d(memory_size, width, kernel_size=3, padding=1, bias=False)
        self.v = nn.Linear(width, 1, bias=False)

    def bind(self, memory: Memory) -> Bound:
        batch, places, width = memory.states_BSD.shape
        grid = memory.grid if len(memory.grid) > 1 else (1, places)
        if math.prod(grid) != places:
            raise ValueError(f"a grid of {grid} does not have {places} places")
        real_BSD = memory.states_BSD.masked_fill(~memory.mask_BS[:, :, None], 0.0)
        pictures_NDhw = real_BSD.reshape(-1, *grid[-2:], width).permute(0, 3, 1, 2)
        keys_NAhw: Tensor = self.around(pictures_NDhw)
        keys_BSA = keys_NAhw.permute(0, 2, 3, 1).reshape(batch, places, -1)
        return Bound(keys_BSA, memory.states_BSD, memory.mask_BS)

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        return tanh_score(self.query(query_BTQ), bound.keys_BSA, self.v.weight[0])

    def fused_form(self) -> TanhScore:
        return TanhScore(self.query.weight, self.v.weight[0])
