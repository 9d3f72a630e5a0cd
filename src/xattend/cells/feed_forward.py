"""A cell without a recurrence: what it gives depends on its input alone.

    s_t = tanh(U x_t + b)

In a decoder it remembers the last word and the last context, and nothing else: it cannot count, so what it does at step 30 is what it does at
step 3. With an attention that keeps the place (`hybrid`), that is enough to spell strings six times as long as those trained on.

>>> import torch
>>> cell = FeedForward(3, 4)
>>> input_BD = torch.randn(2, 3)
>>> torch.equal(cell(input_BD, cell.start(2))[0], cell(input_BD, (torch.randn(2, 4),))[0])
True
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor, nn

from xattend.cells.base import Cell, CellState
from xattend.registry import register


@register("cell", "feed-forward")
class FeedForward(Cell):
    """One layer of tanh units."""

    def __init__(
        self, input_size: int, size: int, *,
        layer_norm: Annotated[bool, "normalise what the units are given (Ba et al. 2016)"] = False,
    ) -> None:  # fmt: skip
        nn.Module.__init__(self)  # the base class would make a recurrence
        self.size = size
        self.input = nn.Linear(input_size, size)
        self.input_norm = nn.LayerNorm(size) if layer_norm else None
        self.recurrent_norm = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.input.weight)
        nn.init.zeros_(self.input.bias)

    def advance(self, projected_BG: Tensor, state: CellState) -> CellState:
        return (torch.tanh(projected_BG),)

    def fused(self, inputs_BTD: Tensor, state: CellState, mask_BT: Tensor | None) -> tuple[Tensor, CellState]:
        outputs_BTD = torch.tanh(self.project(inputs_BTD))
        return outputs_BTD, (outputs_BTD[:, -1],)
