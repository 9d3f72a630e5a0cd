"""Gated recurrent units (Cho et al. 2014). r = reset, z = update (z = 1 keeps the old state, as in the lecture).

    r, z = sigmoid(W_x x + W_h h)
    h'   = z * h + (1 - z) * n
gru                n = tanh(U x + r * (W h + b))     reset after the product: torch's and cuDNN's form; all steps at once in sequence.py
gru-reset-before   n = tanh(U x + W (r * h) + b)     reset before it: the papers' form, Cho 2014 and Bahdanau 2015
sigma-gru          n = sigmoid(U x + W (r * h) + b)  the lecture's form

The two orders are different functions with the same weights, so they are two parts.

>>> import torch
>>> cell = GRU(3, 4)
>>> cell(torch.zeros(2, 3), cell.start(2))[0].shape
torch.Size([2, 4])
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.cells import sequence
from xattend.cells.base import Cell, CellState
from xattend.cells.gates import GRUGates
from xattend.registry import register


@register("cell", "gru")
class GRU(Cell):
    """Reset after the product."""

    gates = 3

    def advance(self, projected_BG: Tensor, state: CellState) -> CellState:
        (h,) = state
        x_r, x_z, x_n = projected_BG.chunk(3, dim=-1)
        h_r, h_z, h_n = self.recur(h).chunk(3, dim=-1)
        n = torch.tanh(x_n + torch.sigmoid(x_r + h_r) * h_n)
        return (torch.lerp(n, h, torch.sigmoid(x_z + h_z)),)

    def fused(self, inputs_BTD: Tensor, state: CellState, mask_BT: Tensor | None) -> tuple[Tensor, CellState]:
        if torch.is_grad_enabled():
            outputs_BTD = sequence.gru(self.project(inputs_BTD), state[0], self.recurrent.weight, self.recurrent.bias)
            return outputs_BTD, (outputs_BTD[:, -1],)
        outputs_BTD, last_1BD = torch.gru(
            inputs_BTD, state[0][None], self.kernel_weights(), True, 1, 0.0, self.training, False, True
        )
        return outputs_BTD, (last_1BD[0],)

    def fused_gates(self) -> type[GRUGates]:
        return GRUGates


@register("cell", "gru-reset-before")
class GRUResetBefore(Cell):
    """Reset before the product."""

    gates = 3

    def candidate(self, preactivation_BD: Tensor) -> Tensor:
        return torch.tanh(preactivation_BD)

    def advance(self, projected_BG: Tensor, state: CellState) -> CellState:
        (h,) = state
        two = 2 * self.size
        weight, bias = self.recurrent.weight, self.recurrent.bias
        gates = F.linear(h, weight[:two], bias[:two]).to(weight.dtype)
        if self.recurrent_norm is not None:  # the candidate's product waits for r, so each half is normalised by itself
            gates = F.layer_norm(gates, (two,), self.recurrent_norm.weight[:two], self.recurrent_norm.bias[:two])
        r, z = torch.sigmoid(projected_BG[..., :two] + gates).chunk(2, dim=-1)
        product = F.linear(r * h, weight[two:], bias[two:]).to(weight.dtype)
        if self.recurrent_norm is not None:
            product = F.layer_norm(product, (self.size,), self.recurrent_norm.weight[two:], self.recurrent_norm.bias[two:])
        n = self.candidate(projected_BG[..., two:] + product)
        return (torch.lerp(n, h, z),)


@register("cell", "sigma-gru")
class SigmaGRU(GRUResetBefore):
    """The lecture's form: a sigmoid candidate."""

    def candidate(self, preactivation_BD: Tensor) -> Tensor:
        return torch.sigmoid(preactivation_BD)
