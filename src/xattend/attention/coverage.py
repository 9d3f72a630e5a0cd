"""Attention that knows where it has looked: fewer repetitions, fewer omissions.

coverage        e_tj = v . tanh(W query_t + U state_j + w C_tj),   C_tj = sum of past weights on j      (Tu et al. 2016)
alignment-rnn   e_tj = v . tanh(W query_t + U state_j + G d_tj),   d_tj = tanh(W_d d_{t-1,j} + u a_{t-1,j} + U_d state_j)
                an RNN over past alignments, one small state a source position (Tu's neural coverage)

>>> import torch
>>> attention = Coverage(query_size=8, memory_size=6)
>>> memory = Memory(torch.randn(1, 4, 6), torch.ones(1, 4, dtype=torch.bool), torch.zeros(1, 6))
>>> bound = attention.bind(memory)
>>> _, weights_BHS, covered_BS = attention.attend(torch.randn(1, 8), bound, attention.start(bound))
>>> torch.equal(weights_BHS[:, 0], covered_BS)
True
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor, nn

from xattend.attention.additive import Additive
from xattend.attention.base import Bound, tanh_score
from xattend.registry import register
from xattend.tree import Tree
from xattend.types import Memory


class Remembering(Additive):
    """Additive attention with a third term that comes from the state."""

    stateful = True

    def remembered(self, state: Tree) -> Tensor:
        """What the past adds inside the tanh: [B, S, A]."""
        raise NotImplementedError

    def fused_form(self) -> None:
        return None

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        return tanh_score(self.query(query_BTQ), bound.keys_BSA + self.remembered(state), self.v.weight[0])


@register("attention", "coverage")
class Coverage(Remembering):
    """The sum of past weights as a feature of each position."""

    def __init__(
        self, query_size: int, memory_size: int, *,
        size: Annotated[int | None, "width of the alignment layer; by default the query's"] = None,
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size, size=size)
        self.covered = nn.Linear(1, size or query_size, bias=False)

    def start(self, bound: Bound) -> Tree:
        return bound.keys_BSA.new_zeros(bound.mask_BS.shape)

    def remembered(self, state: Tree) -> Tensor:
        past_BSA: Tensor = self.covered(state[:, :, None])
        return past_BSA

    def advance(self, state: Tree, weights_BS: Tensor, bound: Bound) -> Tree:
        return state + weights_BS


@register("attention", "alignment-rnn")
class AlignmentRNN(Remembering):
    """An RNN over past alignments."""

    def __init__(
        self, query_size: int, memory_size: int, *,
        size: Annotated[int | None, "width of the alignment layer; by default the query's"] = None,
        past: Annotated[int, "width of the state kept for each source position"] = 10,
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size, size=size)
        self.past = nn.Linear(past, size or query_size, bias=False)
        self.recurrent = nn.Linear(past, past)
        self.weight_in = nn.Linear(1, past, bias=False)
        self.state_in = nn.Linear(memory_size, past, bias=False)

    def bind(self, memory: Memory) -> Bound:
        return super().bind(memory)._replace(extra=self.state_in(memory.states_BSD))

    def start(self, bound: Bound) -> Tree:
        return torch.zeros_like(bound.extra)

    def remembered(self, state: Tree) -> Tensor:
        past_BSA: Tensor = self.past(state)
        return past_BSA

    def advance(self, state: Tree, weights_BS: Tensor, bound: Bound) -> Tree:
        return torch.tanh(self.recurrent(state) + self.weight_in(weights_BS[:, :, None]) + bound.extra)
