"""Attention by inner products.

dot          e_tj = query_t . state_j                   Luong et al. 2015
scaled-dot   e_tj = query_t . state_j / sqrt(width)     Vaswani et al. 2017
bilinear     e_tj = query_t . W state_j                 Luong's `general`

dot and scaled-dot have no weights of their own and need a query as wide as a state. Where the widths differ, the
states are first projected to the query's width, which makes them a bilinear form.

>>> import torch
>>> keys = Bound(torch.tensor([[[112.0], [96.0]]]), torch.eye(2)[None], torch.ones(1, 2, dtype=torch.bool))
>>> dot = Dot(1, 1)
>>> dot.attend(torch.tensor([[1 / 8]]), keys, None)[1][0, 0].mul(100).round().tolist()
[88.0, 12.0]
"""

from __future__ import annotations

import math

from torch import Tensor, nn

from xattend.attention.base import Attention, Bound, ProductScore
from xattend.registry import register
from xattend.tree import Tree


@register("attention", "bilinear")
class Bilinear(Attention):
    """query . W state."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.weight = nn.Linear(memory_size, query_size, bias=False)

    def keys(self, states_BSD: Tensor) -> Tensor:
        keys_BSQ: Tensor = self.weight(states_BSD)
        return keys_BSQ

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        return query_BTQ @ bound.keys_BSA.transpose(1, 2)

    def fused_form(self) -> ProductScore:
        return ProductScore(1.0)


@register("attention", "dot")
class Dot(Attention):
    """query . state."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.projection = None if query_size == memory_size else nn.Linear(memory_size, query_size, bias=False)

    def keys(self, states_BSD: Tensor) -> Tensor:
        if self.projection is not None:
            states_BSD = self.projection(states_BSD)
        return states_BSD

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        return query_BTQ @ bound.keys_BSA.transpose(1, 2)

    def fused_form(self) -> ProductScore:
        return ProductScore(1.0)


@register("attention", "scaled-dot")
class ScaledDot(Dot):
    """query . state / sqrt(width): keeps the softmax out of saturation when vectors are wide."""

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        return super().score(query_BTQ / math.sqrt(self.query_size), bound, state)

    def fused_form(self) -> ProductScore:
        return ProductScore(1 / math.sqrt(self.query_size))
