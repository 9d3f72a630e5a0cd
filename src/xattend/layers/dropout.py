"""Dropout (Srivastava et al. 2014) from random bytes: an eighth of the random numbers that torch's own draws on a CPU.

    y = x keep / (1 - p),   keep is 0 with probability p

One draw of 64 bits decides for eight units, so p is rounded to a 256th (0.2 becomes 51/256 = 0.1992); the scale is that
of the rounded p, so the mean is kept exactly.

>>> Dropout(0.2).probability
0.19921875
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

LEVELS = 256


class Dropout(nn.Module):
    """Drawn from torch's random state, so that a seed fixes it."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        if not 0.0 <= probability < 1.0:
            raise ValueError(f"a dropout of {probability} is not in [0, 1)")
        self.level = min(round(probability * LEVELS), LEVELS - 1)

    @property
    def probability(self) -> float:
        return self.level / LEVELS

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.level == 0 or x.numel() == 0:
            return x
        draws = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
        keep = draws.view(torch.uint8)[: x.numel()].view(x.shape) >= self.level
        return x * keep.to(x.dtype).mul_(1 / (1 - self.probability))
