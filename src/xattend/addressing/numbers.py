"""What the controller says in all steps of a sequence, made into what heads need, and the slopes of it for a backward.

    tanh        keys, what is added           sigmoid     gates, what is erased
    softplus    how strong, above a least     softmax     which of a few ways

Every number is cut to [-20, 20] first. The numbers lie in these four groups, in this order, so that one call a group is enough in a step; the
two machines (fused_turing.py, fused_computer.py) say in `order` where the controller has them. What is multiplied by a slope on the
way back needs no step: slopes are made for all steps at once, and are 0 where a number was cut.

>>> numbers = Numbers(1, 1, tanh=1, sigmoid=1, least=[2.0], ways=(1, 2), like=torch.zeros(1))
>>> numbers.raw_TBX[0] = torch.tensor([[0.0, 0.0, 30.0, 1.0, 1.0]])
>>> numbers.forward(0)
>>> numbers.squashed_TBX[0, 0, :2].tolist(), numbers.strength_TBP.flatten().tolist(), numbers.ways_TBKS.flatten().tolist()
([0.0, 0.5], [22.0], [0.5, 0.5])
>>> numbers.start()
>>> numbers.slope_TBX.flatten().tolist()
[1.0, 0.25, 0.0, 1.0, 1.0]

Shapes: T steps, B batch, X all numbers, P of them softplus, K choices between S ways.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

CLIP = 20.0  # the controller's numbers are cut to [-CLIP, CLIP]


class Numbers:
    """`raw_TBX` is filled by who runs the controller; after `start`, a backward fills the parts of `d_TBX` that belong to a step."""

    def __init__(
        self, steps: int, rows: int, *, tanh: int, sigmoid: int, least: Sequence[float], ways: tuple[int, int], like: Tensor
    ) -> None:
        self.ends = tanh, tanh + sigmoid, tanh + sigmoid + len(least)
        self.raw_TBX = like.new_empty(steps, rows, self.ends[2] + ways[0] * ways[1])
        self.squashed_TBX = torch.empty_like(self.raw_TBX)
        self.strength_TBP = like.new_empty(steps, rows, len(least))
        self.ways_TBKS = like.new_empty(steps, rows, *ways)
        self.least_P = like.new_tensor(least)
        # all views are taken once: to take one costs as much as a small sum
        self._raw, self._squashed = self.raw_TBX.unbind(), self.squashed_TBX.unbind()
        parts = torch.tensor_split(self.squashed_TBX, self.ends, dim=2)
        self._tanh, self._sigmoid, self._softplus = (part.unbind() for part in parts[:3])
        self._choice = parts[3].view(steps, rows, *ways).unbind()
        self._strength, self._ways = self.strength_TBP.unbind(), self.ways_TBKS.unbind()

    def forward(self, t: int) -> None:
        """Squashes what the controller says in step t."""
        torch.clamp(self._raw[t], -CLIP, CLIP, out=self._squashed[t])
        self._tanh[t].tanh_()
        self._sigmoid[t].sigmoid_()
        torch.add(F.softplus(self._softplus[t]), self.least_P, out=self._strength[t])
        torch.softmax(self._choice[t], dim=-1, out=self._ways[t])

    def start(self) -> None:
        """Before a backward: all slopes, and room for the gradients, of squashed numbers first and then of raw ones."""
        tanh, sigmoid, softplus = self.ends
        slope_TBX = torch.ones_like(self.raw_TBX)
        slope_TBX[..., :tanh] -= self.squashed_TBX[..., :tanh].square()
        gates = self.squashed_TBX[..., tanh:sigmoid]
        slope_TBX[..., tanh:sigmoid] = gates - gates.square()
        slope_TBX[..., sigmoid:softplus] = self.squashed_TBX[..., sigmoid:softplus].sigmoid()
        self.slope_TBX = slope_TBX.masked_fill_(self.raw_TBX.abs() > CLIP, 0.0)
        self.d_TBX = torch.empty_like(self.raw_TBX)
        self._slope, self.d = self.slope_TBX.unbind(), self.d_TBX.unbind()
        self._d_choice = self.d_TBX[..., softplus:].view(self.ways_TBKS.shape).unbind()

    def backward(self, t: int, d_ways_BKS: Tensor) -> None:
        """The gradient of the raw numbers of step t; those of squashed ones have been put into `d_TBX`."""
        self._d_choice[t].copy_(of_softmax(d_ways_BKS, self._ways[t]))
        self.d[t].mul_(self._slope[t])


def of_softmax(d_found: Tensor, found: Tensor) -> Tensor:
    """The gradient of what a softmax over the last axis was taken of.

    >>> of_softmax(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])).tolist()
    [0.25, -0.25]
    """
    return torch._softmax_backward_data(d_found, found, -1, found.dtype)
