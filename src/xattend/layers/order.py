"""Turning sequences round inside their own length, so that padding stays where it is.

>>> turn(torch.tensor([[1, 2, 3, 0]]), torch.tensor([3])).tolist()
[[3, 2, 1, 0]]
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class _Turn(torch.autograd.Function):
    """Turning round is its own inverse, so its gradient is turned round too: no scattered sums."""

    @staticmethod
    def forward(ctx: Any, values_BSD: Tensor, index_BSD: Tensor) -> Tensor:
        ctx.save_for_backward(index_BSD)
        return values_BSD.gather(1, index_BSD)

    @staticmethod
    def backward(ctx: Any, gradient_BSD: Tensor) -> tuple[Tensor, None]:
        (index_BSD,) = ctx.saved_tensors
        return gradient_BSD.gather(1, index_BSD), None


def turn(values_BS: Tensor, lengths_B: Tensor) -> Tensor:
    """The first `length` positions of each row in reverse; the rest stays. [B, S] or [B, S, D]."""
    places_BS = torch.arange(values_BS.shape[1], device=values_BS.device).expand(len(values_BS), -1)
    lengths_B1 = lengths_B[:, None]
    index_BS = torch.where(places_BS < lengths_B1, lengths_B1 - 1 - places_BS, places_BS)
    if values_BS.dim() == 3:
        index_BS = index_BS[:, :, None].expand_as(values_BS)
    turned: Tensor = _Turn.apply(values_BS, index_BS)  # type: ignore[no-untyped-call]
    return turned
