"""Additive attention (Bahdanau, Cho and Bengio 2015).

    e_tj = v . tanh(W query_t + U state_j)

U state_j does not depend on the step, so it is computed once a sequence.

>>> from xattend.types import Memory
>>> attention = Additive(query_size=8, memory_size=6, size=5)
>>> import torch
>>> memory = Memory(torch.randn(2, 4, 6), torch.ones(2, 4, dtype=torch.bool), torch.zeros(2, 6))
>>> context_BD, weights_BHS, _ = attention.attend(torch.randn(2, 8), attention.bind(memory), None)
>>> context_BD.shape, weights_BHS.shape
(torch.Size([2, 6]), torch.Size([2, 1, 4]))
"""

from __future__ import annotations

from typing import Annotated

from torch import Tensor, nn

from xattend.attention.base import Attention, Bound, TanhScore, tanh_score
from xattend.registry import register
from xattend.tree import Tree


@register("attention", "additive")
class Additive(Attention):
    """v . tanh(W query + U state)."""

    def __init__(
        self, query_size: int, memory_size: int, *,
        size: Annotated[int | None, "width of the alignment layer; by default the query's"] = None,
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size)
        width = size or query_size
        self.query = nn.Linear(query_size, width, bias=False)
        self.key = nn.Linear(memory_size, width, bias=False)
        self.v = nn.Linear(width, 1, bias=False)

    def keys(self, states_BSD: Tensor) -> Tensor:
        keys_BSA: Tensor = self.key(states_BSD)
        return keys_BSA

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        return tanh_score(self.query(query_BTQ), bound.keys_BSA, self.v.weight[0])

    def fused_form(self) -> TanhScore | None:
        return TanhScore(self.query.weight, self.v.weight[0])
