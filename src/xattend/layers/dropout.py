"""Dropout (Srivastava et al. 2014) from random bytes: an eighth of the random numbers that torch's own draws on a CPU.

    y = x keep / (1 - p),   keep is 0 with probability p

One draw of 64 bits decides for eight units, so p is rounded to a 256th (0.2 becomes 51/256 = 0.1992); the scale is that
of the rounded p, so the mean is kept exactly.

>>> Dropout(0.2).probability
0.19921875
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

LEVELS = 256


def _level(probability: float) -> int:
    if not 0.0 <= probability < 1.0:
        raise ValueError(f"a dropout of {probability} is not in [0, 1)")
    return min(round(probability * LEVELS), LEVELS - 1)


def _mask(x: Tensor, level: int) -> Tensor:
    """0, or 1 / (1 - p), for every element: drawn from torch's random state, so that a seed fixes it."""
    draws = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
    mask = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    # straight into floats: ten times as fast as by way of a tensor of truth values
    torch.ge(draws.view(torch.uint8)[: x.numel()].view(x.shape), level, out=mask)
    return mask.mul_(LEVELS / (LEVELS - level))


def drop(x: Tensor, probability: float) -> Tensor:
    """x with some elements zero and the others larger; itself if the probability is 0."""
    level = _level(probability)
    return x if level == 0 or x.numel() == 0 else x * _mask(x, level)


class _DroppedReLU(torch.autograd.Function):
    """max(x, 0) keep / (1 - p), in place. The result alone says where its gradient goes: no mask is kept for it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, level: int) -> Tensor:
        ctx.mark_dirty(x)
        ctx.scale = LEVELS / (LEVELS - level)
        x.clamp_min_(0.0).mul_(_mask(x, level))
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, d_y: Tensor) -> tuple[Tensor, None]:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(d_y, y, 0).mul_(ctx.scale), None


class Dropout(nn.Module):
    """Drops in training, and does nothing in evaluation."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.level = _level(probability)

    @property
    def probability(self) -> float:
        return self.level / LEVELS

    def forward(self, x: Tensor) -> Tensor:
        return drop(x, self.probability) if self.training else x

    def after_relu(self, x: Tensor) -> Tensor:
        """The same of max(x, 0). Takes x for itself: it must be the result of a product, which needs it no more."""
        if not self.training or self.level == 0 or x.numel() == 0:
            return x.relu_()
        dropped: Tensor = _DroppedReLU.apply(x, self.level)  # type: ignore[no-untyped-call]
        return dropped
