"""Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000).

    i, f, o = sigmoid(U x + W h + b)
    c'      = f * c + i * g
lstm         g = tanh(U x + W h + b)       h' = o * tanh(c')       the standard form, one fused kernel
sigma-lstm   g = sigmoid(U x + W h + b)    h' = o * sigmoid(c')    the lecture's form

The state is (h, c).

>>> import torch
>>> cell = LSTM(3, 4)
>>> [part.shape for part in cell(torch.zeros(2, 3), cell.start(2))]
[torch.Size([2, 4]), torch.Size([2, 4])]
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from xattend.cells.base import Cell, CellState
from xattend.cells.gates import LSTMGates
from xattend.registry import register


@register("cell", "lstm")
class LSTM(Cell):
    """The standard form."""

    gates = 4  # in torch's order: i, f, g, o
    parts = 2

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.constant_(self.input.bias[self.size : 2 * self.size], 1.0)  # forget nothing at first (Jozefowicz 2015)

    def squash(self, value: Tensor) -> Tensor:
        return torch.tanh(value)

    def advance(self, projected_BG: Tensor, state: CellState) -> CellState:
        h, c = state
        i, f, g, o = (projected_BG + self.recur(h)).chunk(4, dim=-1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * self.squash(g)
        return torch.sigmoid(o) * self.squash(c), c

    def fused(self, inputs_BTD: Tensor, state: CellState, mask_BT: Tensor | None) -> tuple[Tensor, CellState] | None:
        h, c = state
        weights, training = self.kernel_weights(), self.training
        if mask_BT is None:
            outputs_BTD, h_1BD, c_1BD = torch.lstm(
                inputs_BTD, (h[None], c[None]), weights, True, 1, 0.0, training, False, True
            )
            return outputs_BTD, (h_1BD[0], c_1BD[0])
        lengths_B = mask_BT.sum(dim=1).cpu()
        if not bool(lengths_B.all()):
            return None  # torch cannot pack an empty row
        # c at each row's end is not among the outputs, so this kernel must know the lengths; it is the slower one
        packed = pack_padded_sequence(inputs_BTD, lengths_B, batch_first=True, enforce_sorted=False)
        order = packed.sorted_indices
        data, h_1BD, c_1BD = torch.lstm(
            packed.data, packed.batch_sizes, (h[order][None], c[order][None]), weights, True, 1, 0.0, training, False
        )
        back = packed.unsorted_indices
        outputs_BTD, _ = pad_packed_sequence(
            packed._replace(data=data), batch_first=True, total_length=inputs_BTD.shape[1]
        )
        return outputs_BTD, (h_1BD[0][back], c_1BD[0][back])

    def fused_gates(self) -> type[LSTMGates] | None:
        return LSTMGates


@register("cell", "sigma-lstm")
class SigmaLSTM(LSTM):
    """The lecture's form: sigmoids where the standard form has tanh."""

    def squash(self, value: Tensor) -> Tensor:
        return torch.sigmoid(value)

    def fused(self, inputs_BTD: Tensor, state: CellState, mask_BT: Tensor | None) -> None:
        return None

    def fused_gates(self) -> None:
        return None
