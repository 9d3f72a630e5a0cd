"""Attention by a two-layer perceptron over query and state together (the lectures' MLP; Luong's `concat`).

    e_tj = w_2 . tanh(W_1 [query_t ; state_j] + b)

W_1 [q ; k] = W_q q + W_k k, so the half that belongs to the states is computed once a sequence.

>>> Concat(query_size=8, memory_size=6, size=5).layer.weight.shape
torch.Size([5, 14])
"""

from __future__ import annotations

from typing import Annotated

from torch import Tensor, nn
from torch.nn import functional as F

from xattend.attention.base import Attention, Bound, TanhScore, tanh_score
from xattend.registry import register
from xattend.tree import Tree


@register("attention", "concat")
class Concat(Attention):
    """w_2 . tanh(W_1 [query ; state] + b)."""

    def __init__(
        self, query_size: int, memory_size: int, *,
        size: Annotated[int | None, "width of the hidden layer; by default the query's"] = None,
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size)
        self.layer = nn.Linear(query_size + memory_size, size or query_size)
        self.w2 = nn.Linear(size or query_size, 1, bias=False)

    def keys(self, states_BSD: Tensor) -> Tensor:
        return F.linear(states_BSD, self.layer.weight[:, self.query_size :], self.layer.bias)

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        query_BTA = F.linear(query_BTQ, self.layer.weight[:, : self.query_size])
        return tanh_score(query_BTA, bound.keys_BSA, self.w2.weight[0])

    def fused_form(self) -> TanhScore:
        return TanhScore(self.layer.weight[:, : self.query_size], self.w2.weight[0])
