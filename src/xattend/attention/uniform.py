"""The same weight for every position: the mean of the states, by way of attention. The control for any other score.

    e_tj = query . 0,   a_tj = 1 / S

Unlike every-step, which hands the decoder the encoder's own summary, it goes through all that attention goes through: gate, dropout, trace.

>>> import torch
>>> from xattend.types import Memory
>>> even = Uniform(2, 1)
>>> bound = even.bind(Memory(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[True, True, False]]), torch.zeros(1, 1)))
>>> even.attend(torch.randn(1, 2), bound, None)[0].tolist()
[[2.0]]
"""

from __future__ import annotations

from torch import Tensor

from xattend.attention.base import Attention, Bound, ProductScore
from xattend.registry import register
from xattend.tree import Tree


@register("attention", "uniform")
class Uniform(Attention):
    """Every position alike."""

    def keys(self, states_BSD: Tensor) -> Tensor:
        return states_BSD.new_zeros(*states_BSD.shape[:2], self.query_size)

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        return query_BTQ @ bound.keys_BSA.transpose(1, 2)

    def fused_form(self) -> ProductScore:
        return ProductScore(1.0)
