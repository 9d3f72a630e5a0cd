"""A simple recurrent cell of rectified units, the core of RAM for still pictures (Mnih et al. 2014, section 4.1).

    h_t = relu(U g_t + W h_{t-1} + b)

The recurrence begins as the identity (Le et al. 2015): rectified units forget or explode otherwise.

>>> import torch
>>> cell = ReluRNN(3, 4)
>>> bool((cell(torch.randn(2, 3), cell.start(2))[0] >= 0).all())
True
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from xattend.cells.base import Cell, CellState
from xattend.registry import register


@register("cell", "relu-rnn")
class ReluRNN(Cell):
    """The simple recurrent network with rectified units."""

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.eye_(self.recurrent.weight)

    def advance(self, projected_BG: Tensor, state: CellState) -> CellState:
        return (torch.relu(projected_BG + self.recur(state[0])),)
