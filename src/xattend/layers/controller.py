"""The controller of a machine with a memory: a network that reads a step's input and what the heads brought back, and drives the heads.

    h_t = tanh(W [x_t; r_{t-1}] + b)          feed-forward: all that is remembered is in the memory
    h_t = cell(h_{t-1}, [x_t; r_{t-1}])       any recurrent cell, in one or more layers

The product with the inputs waits for nothing, so it is made for all steps at once; what the heads read is added step by step.

>>> controller = Controller("lstm", 5, 6, 8, layers=2)
>>> inputs_BTG, read_VG = controller.project(torch.zeros(3, 4, 5))
>>> h_BD, state = controller(inputs_BTG[:, 0], torch.zeros(3, 6), read_VG, controller.start(3))
>>> h_BD.shape, len(state)
(torch.Size([3, 8]), 2)

Shapes: B batch, T steps, I input width, V width of all vectors read, D controller width, G gates x D.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend import registry
from xattend.cells.base import Cell, CellState
from xattend.errors import UserError

FEED_FORWARD = "feed-forward"


class Controller(nn.Module):
    """Feed-forward, or cells on top of each other."""

    def __init__(self, kind: str | dict[str, Any], inputs: int, vectors: int, size: int, *, layers: int = 1) -> None:
        super().__init__()
        self.inputs, self.vectors, self.size = inputs, vectors, size
        self.recurrent = kind != FEED_FORWARD
        if not self.recurrent:
            if layers != 1:
                raise UserError("the feed-forward controller has one layer: set system.layers = 1")
            self.hidden = nn.Linear(inputs + vectors, size)
        widths = [inputs + vectors] + [size] * (layers - 1)
        self.cells = nn.ModuleList(registry.build_named("cell", kind, width, size) for width in widths) if self.recurrent else nn.ModuleList()

    def layers(self) -> list[Cell]:
        return [cell for cell in self.cells if isinstance(cell, Cell)]

    def start(self, batch: int) -> tuple[CellState, ...]:
        return tuple(cell.start(batch) for cell in self.layers())

    def first(self) -> nn.Linear:
        """The layer that reads inputs and vectors."""
        return self.layers()[0].input if self.recurrent else self.hidden

    def project(self, inputs_BTI: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs' half of the first layer, and the weights of its other half: taken once a sequence."""
        first = self.first()
        return F.linear(inputs_BTI, first.weight[:, : self.inputs], first.bias), first.weight[:, self.inputs :].t()

    def forward(
        self, projected_BG: Tensor, vectors_BV: Tensor, read_VG: Tensor, state: tuple[CellState, ...]
    ) -> tuple[Tensor, tuple[CellState, ...]]:
        """One step: h_BD and the state."""
        projected_BG = torch.addmm(projected_BG, vectors_BV, read_VG)
        if not self.recurrent:
            return torch.tanh(projected_BG), ()
        below, *above = self.layers()
        if below.input_norm is not None:
            projected_BG = below.input_norm(projected_BG)
        new = [below.advance(projected_BG, state[0])]
        for cell, old in zip(above, state[1:], strict=True):
            new.append(cell(new[-1][0], old))
        return new[-1][0], tuple(new)

    def unroll(self, inputs_BTI: Tensor) -> Tensor:
        """All steps where nothing is read: h_BTD, by fused kernels where cells have them."""
        if not self.recurrent:
            return torch.tanh(self.hidden(inputs_BTI))
        value = inputs_BTI
        for cell in self.layers():
            value, _ = cell.unroll(value, cell.start(len(inputs_BTI)))
        return value
