"""Where a place lies on a grid, added to what is seen there: positions in two dimensions.

Sinusoidal: one half of the width says the row, the other the column, each as in positions.py (Parmar et al. 2018, section 3.3):

    P(y, x) = [PE(y) ; PE(x)]

Learned: a vector a place.

>>> Places("sinusoidal", (2, 3), 8)(torch.zeros(1, 6, 8)).shape
torch.Size([1, 6, 8])
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from xattend.errors import UserError
from xattend.layers.positions import sinusoids

Kind = Literal["sinusoidal", "learned", "none"]


def on_grid(grid: tuple[int, int], width: int) -> Tensor:
    """The sinusoids of every place, row by row: [h * w, width]."""
    rows, columns = (sinusoids(length, width // 2) for length in grid)
    return torch.cat([rows.repeat_interleave(grid[1], dim=0), columns.repeat(grid[0], 1)], dim=1)


class Places(nn.Module):
    """Adds them to states [B, S, D], S being whole grids one after the other: a film has one a frame."""

    table_SD: Tensor | None

    def __init__(self, kind: Kind, grid: tuple[int, ...] | None, width: int) -> None:
        super().__init__()
        if kind != "none" and (grid is None or len(grid) != 2):
            raise UserError(f"encoder.positions = \"{kind}\" needs places that lie on a grid, and these do not: set it to \"none\"")
        if kind == "sinusoidal" and width % 4:
            raise UserError(f"encoder.positions = \"sinusoidal\" needs an encoder.size that 4 divides, not {width}")
        if kind == "learned":
            assert grid is not None
            self.table_SD = nn.Parameter(torch.randn(grid[0] * grid[1], width) * width**-0.5)
        elif kind == "sinusoidal":
            assert grid is not None
            self.register_buffer("table_SD", on_grid((grid[0], grid[1]), width), persistent=False)
        else:
            self.table_SD = None

    def forward(self, states_BSD: Tensor) -> Tensor:
        if self.table_SD is None:
            return states_BSD
        return states_BSD + self.table_SD.repeat(states_BSD.shape[1] // len(self.table_SD), 1)
