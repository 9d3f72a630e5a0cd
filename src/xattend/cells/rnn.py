"""Simple recurrent cells.

sigma-rnn   s_t = sigmoid(U x_t + W s_{t-1} + b)    the lecture's form; its outputs are all positive, and it learns slowly
tanh-rnn    s_t = tanh(U x_t + W s_{t-1} + b)       Elman 1990

>>> import torch
>>> cell = TanhRNN(3, 4)
>>> outputs_BTD, state = cell.unroll(torch.zeros(2, 5, 3), cell.start(2))
>>> outputs_BTD.shape
torch.Size([2, 5, 4])
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.cells.base import Cell, CellState
from xattend.registry import register


@register("cell", "sigma-rnn")
class SigmaRNN(Cell):
    """The lecture's RNN, with a sigmoid where one usually finds tanh."""

    def reset_parameters(self) -> None:
        super().reset_parameters()
        torch.nn.init.constant_(self.input.bias, -1.0)  # at 0 every unit sits at .5 and the state carries nothing

    def advance(self, projected_BG: Tensor, state: CellState) -> CellState:
        return (torch.sigmoid(projected_BG + self.recur(state[0])),)


@register("cell", "tanh-rnn")
class TanhRNN(Cell):
    """The simple recurrent network."""

    def advance(self, projected_BG: Tensor, state: CellState) -> CellState:
        return (torch.tanh(projected_BG + self.recur(state[0])),)

    def fused(self, inputs_BTD: Tensor, state: CellState, mask_BT: Tensor | None) -> tuple[Tensor, CellState]:
        outputs_BTD, last_1BD = torch.rnn_tanh(
            inputs_BTD, state[0][None], self.kernel_weights(), True, 1, 0.0, self.training, False, True
        )
        return outputs_BTD, (last_1BD[0],)
