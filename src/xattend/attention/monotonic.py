"""Monotonic hard attention (Raffel et al. 2017): go on from where the last step stopped, and stop at the first position that says so.

    e_tj  = g v . tanh(W query_t + V state_j) / |v| + r             r is negative at first: most positions say no
    p_tj  = sigmoid(e_tj)
    a_tj  = p_tj sum_{k <= j} a_{t-1,k} prod_{l = k}^{j-1} (1 - p_tl)       the chance that step t stops at j

In training the context is the expectation under a_t, and noise on e_tj makes p decide. In evaluation the walk is taken: the first j from the
last stop on with p_tj > 1/2, and one state is the context. A walk that finds none has come to the end: nothing is looked at, now and later. So
weights need not sum to one. With c_j = sum_{l < j} log(1 - p_l), log a_t = log p_t + c + logcumsumexp(log a_{t-1} - c): no loop over positions.

>>> attention = Monotonic(query_size=8, memory_size=6).eval()
>>> memory = Memory(torch.randn(1, 4, 6), torch.ones(1, 4, dtype=torch.bool), torch.zeros(1, 6))
>>> bound = attention.bind(memory)
>>> expected_S(torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]])).tolist()
[[0.5, 0.25]]
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from xattend.attention.additive import Additive
from xattend.attention.base import Bound, tanh_score
from xattend.registry import register
from xattend.tree import Tree
from xattend.types import Memory

__all__ = ["Memory", "Monotonic"]  # Memory is for the example above
TINY = 1e-20


def expected_S(stop_BS: Tensor, last_BS: Tensor) -> Tensor:
    """The chance to stop at each position, from the chance that each says yes and the last step's a: a_BS."""
    return _expected(stop_BS.logit(eps=1e-6), last_BS)


def _expected(energy_BS: Tensor, last_BS: Tensor) -> Tensor:
    no_BS = F.logsigmoid(-energy_BS)
    passed_BS = no_BS.cumsum(dim=1) - no_BS  # c_j: all before j said no
    return torch.exp(F.logsigmoid(energy_BS) + passed_BS + torch.logcumsumexp(last_BS.clamp(min=TINY).log() - passed_BS, dim=1))


@register("attention", "monotonic")
class Monotonic(Additive):
    """One position a step, never backwards."""

    stateful = True
    sums_to_one = False

    def __init__(
        self, query_size: int, memory_size: int, *,
        size: Annotated[int | None, "width of the alignment layer; by default the query's"] = None,
        offset: Annotated[float, "r at the beginning of training"] = -2.0,
        noise: Annotated[float, Field(ge=0), "in training, deviation of what is added to each energy"] = 1.0,
        at_test: Annotated[Literal["walk", "expected"], "in evaluation: one position, or the mean that training uses"] = "walk",
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size, size=size)
        self.gain = nn.Parameter(torch.tensor([(size or query_size) ** -0.5]))
        self.offset = nn.Parameter(torch.tensor([offset]))
        self.noise, self.at_test = noise, at_test

    def fused_form(self) -> None:
        return None

    def start(self, bound: Bound) -> Tree:
        """As if a step before the first had stopped at the first position."""
        first_BS = bound.keys_BSA.new_zeros(bound.mask_BS.shape)
        first_BS[:, :1] = 1.0
        return first_BS

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        v_A = self.v.weight[0]
        return tanh_score(self.query(query_BTQ), bound.keys_BSA, self.gain * v_A / v_A.norm()) + self.offset

    def attend_all(
        self, query_BTQ: Tensor, bound: Bound, state: Tree, *, weights: bool = True
    ) -> tuple[Tensor, Tensor | None, Tree]:
        if query_BTQ.shape[1] != 1:
            return self._one_by_one(query_BTQ, bound, state)
        energy_BS = self.score(query_BTQ, bound, state)[:, 0]
        if self.training and self.noise:
            energy_BS = energy_BS + self.noise * torch.randn_like(energy_BS)
        if self.training or self.at_test == "expected":
            weights_BS = _expected(energy_BS, state) * bound.mask_BS
        else:
            weights_BS = self._walk(energy_BS, state, bound.mask_BS)
        return (weights_BS[:, None] @ bound.values_BSD), weights_BS[:, None, None], weights_BS

    @staticmethod
    def _walk(energy_BS: Tensor, last_BS: Tensor, mask_BS: Tensor) -> Tensor:
        """A one at the first position that says yes from the last stop on; zeros if there is none."""
        reached_BS = last_BS.cumsum(dim=1) > 0
        yes_BS = (energy_BS > 0) & reached_BS & mask_BS
        return (yes_BS & (yes_BS.cumsum(dim=1) == 1)).to(energy_BS.dtype)


