"""Where a token stands, added to what it is (Vaswani et al. 2017, section 3.5).

    PE(pos, 2i) = sin(pos / 10000^(2i/d))      PE(pos, 2i+1) = cos(pos / 10000^(2i/d))

>>> sinusoids(2, 4)[0].tolist()
[0.0, 1.0, 0.0, 1.0]
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from xattend.errors import UserError


def sinusoids(length: int, width: int) -> Tensor:
    """The table of the paper: [length, width]."""
    place_L1 = torch.arange(length, dtype=torch.float32)[:, None]
    rate = torch.pow(10000.0, -torch.arange(0, width, 2, dtype=torch.float32) / width)
    table = torch.zeros(length, width)
    table[:, 0::2] = torch.sin(place_L1 * rate)
    table[:, 1::2] = torch.cos(place_L1 * rate)[:, : width // 2]
    return table


class Positions(nn.Module):
    """Sinusoids reach any length; a learned table reaches as far as it was made, and says so beyond that."""

    table_LD: Tensor

    def __init__(self, kind: str, width: int, longest: int) -> None:
        super().__init__()
        self.learned = nn.Embedding(longest, width) if kind == "learned" else None
        self.on = kind != "none"
        self.longest = longest
        if self.learned is not None:
            nn.init.normal_(self.learned.weight, std=width**-0.5)
        self.register_buffer("table_LD", sinusoids(0, width), persistent=False)  # grows with what is read

    def forward(self, start: int, end: int, like: Tensor) -> Tensor:
        """Rows [start, end) of the table."""
        if not self.on:
            return like.new_zeros(end - start, like.shape[-1])
        if self.learned is not None:
            if end > self.longest:
                raise UserError(
                    f"a sequence of {end} tokens is longer than the {self.longest} learned positions: "
                    "set 'longest' higher and retrain, or use positions = \"sinusoidal\""
                )
            rows_LD: Tensor = self.learned.weight[start:end]
            return rows_LD
        if end > len(self.table_LD):
            self.table_LD = sinusoids(max(64, 2 * end), like.shape[-1]).to(like)
        rows_LD = self.table_LD[start:end]
        return rows_LD if rows_LD.dtype == like.dtype else rows_LD.to(like.dtype)
