"""Turning sequences round inside their own length, so that padding stays where it is.

>>> turn(torch.tensor([[1, 2, 3, 0]]), torch.tensor([3])).tolist()
[[3, 2, 1, 0]]
"""

from __future__ import annotations

import torch
from torch import Tensor


def turn(values_BS: Tensor, lengths_B: Tensor) -> Tensor:
    """The first `length` positions of each row in reverse; the rest stays. It is its own inverse. [B, S] or [B, S, D]."""
    places_BS = torch.arange(values_BS.shape[1], device=values_BS.device).expand(len(values_BS), -1)
    lengths_B1 = lengths_B[:, None]
    index_BS = torch.where(places_BS < lengths_B1, lengths_B1 - 1 - places_BS, places_BS)
    if values_BS.dim() == 3:
        index_BS = index_BS[:, :, None].expand_as(values_BS)
    return values_BS.gather(1, index_BS)
