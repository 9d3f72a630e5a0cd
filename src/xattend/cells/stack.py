"""Cells on top of each other: layer l reads what layer l-1 wrote.

>>> import torch
>>> stack = Stack("lstm", 3, 4, layers=2)
>>> outputs_BTD, state = stack.unroll(torch.zeros(2, 5, 3), stack.start(2))
>>> len(state), outputs_BTD.shape
(2, torch.Size([2, 5, 4]))
"""

from __future__ import annotations

from torch import Tensor, nn

from xattend import registry
from xattend.cells.base import Cell, CellState
from xattend.layers.dropout import Dropout

StackState = tuple[CellState, ...]  # one cell state a layer, the lowest first


class Stack(nn.Module):
    """Dropout falls on what goes up from layer to layer, never on the recurrence."""

    def __init__(
        self, cell: str, input_size: int, size: int, *,
        layers: int = 1, dropout: float = 0.0, layer_norm: bool = False, residual: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.size = size
        self.residual = residual
        sizes = [input_size] + [size] * (layers - 1)
        self.cells = nn.ModuleList(
            [registry.build("cell", cell, width, size, layer_norm=layer_norm) for width in sizes]
        )
        self.dropout = Dropout(dropout)

    def _layers(self) -> list[Cell]:
        return [cell for cell in self.cells if isinstance(cell, Cell)]

    def start(self, batch: int) -> StackState:
        return tuple(cell.start(batch) for cell in self._layers())

    def _up(self, level: int, below: Tensor, output: Tensor) -> Tensor:
        return below + output if self.residual and level > 0 else output

    def forward(self, input_BD: Tensor, state: StackState) -> tuple[Tensor, StackState]:
        """One step: the top layer's output and every layer's state."""
        value, new = input_BD, []
        for level, (cell, old) in enumerate(zip(self._layers(), state, strict=True)):
            below = value if level == 0 else self.dropout(value)
            new.append(cell(below, old))
            value = self._up(level, value, new[-1][0])
        return value, tuple(new)

    def unroll(self, inputs_BTD: Tensor, state: StackState, mask_BT: Tensor | None = None) -> tuple[Tensor, StackState]:
        """All steps, layer by layer, each through its fused kernel where it has one."""
        value, last = inputs_BTD, []
        for level, (cell, old) in enumerate(zip(self._layers(), state, strict=True)):
            below = value if level == 0 else self.dropout(value)
            outputs_BTD, final = cell.unroll(below, old, mask_BT)
            last.append(final)
            value = self._up(level, value, outputs_BTD)
        return value, tuple(last)
