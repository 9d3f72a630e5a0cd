"""What cells do between their products, forwards and backwards, for loops that keep their own gradients.

    forward    gates_BG (inputs' half), recurrent_BG (recurrent half), h  ->  new h
    backward   dL/dh at step t  ->  dL/dgates, dL/drecurrent, dL/d(h before) through the gates alone

Shapes: B batch, T steps, H state width, G gates x H.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Gates:
    """One sequence's run: what backward needs of each step is kept here between the two passes."""

    def __init__(self, steps: int, state: tuple[Tensor, ...], like: Tensor) -> None:
        raise NotImplementedError

    def forward(self, t: int, gates_BG: Tensor, recurrent_BG: Tensor, h_BH: Tensor) -> Tensor:
        """One step's new output."""
        raise NotImplementedError

    def start(self) -> tuple[Tensor, ...]:
        """The gradient of the state after the last step: nothing follows it. The first is that of h."""
        raise NotImplementedError

    def backward(
        self, t: int, d_output_BH: Tensor, h_BH: Tensor, d_state: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, ...]]:
        """(d_gates, d_recurrent, d_h before the step through the gates, gradients of the rest of the state)."""
        raise NotImplementedError

    def finish(self, d_state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Gradients of the first state, in its order."""
        return d_state


class GRUGates(Gates):
    """Reset after the product; see cells/gru.py."""

    def __init__(self, steps: int, state: tuple[Tensor, ...], like: Tensor) -> None:
        batch, width = state[0].shape
        self.kept = like.new_empty(steps, batch, 4 * width)  # r, z, n, recurrent half of n
        self.zero = torch.zeros_like(state[0])

    def forward(self, t: int, gates_BG: Tensor, recurrent_BG: Tensor, h_BH: Tensor) -> Tensor:
        kept = self.kept[t]
        width = h_BH.shape[1]
        two = 2 * width
        torch.add(gates_BG[:, :two], recurrent_BG[:, :two], out=kept[:, :two]).sigmoid_()
        n = kept[:, two : 3 * width]
        torch.addcmul(gates_BG[:, two:], kept[:, :width], recurrent_BG[:, two:], out=n).tanh_()
        kept[:, 3 * width :] = recurrent_BG[:, two:]
        return torch.lerp(n, h_BH, kept[:, width:two])

    def start(self) -> tuple[Tensor, ...]:
        return (self.zero,)

    def backward(
        self, t: int, d_output_BH: Tensor, h_BH: Tensor, d_state: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, ...]]:
        r, z, n, recurrent_n = self.kept[t].chunk(4, dim=1)
        d_h = d_output_BH + d_state[0]
        d_before = d_h * z
        d_n = (d_h - d_before) * torch.addcmul(n.new_ones(()), n, n, value=-1.0)
        d_z = d_h * (h_BH - n) * (z - z * z)
        d_r = d_n * recurrent_n * (r - r * r)
        return torch.cat([d_r, d_z, d_n], dim=1), torch.cat([d_r, d_z, d_n * r], dim=1), d_before, ()


class LSTMGates(Gates):
    """The standard form; see cells/lstm.py."""

    def __init__(self, steps: int, state: tuple[Tensor, ...], like: Tensor) -> None:
        batch, width = state[0].shape
        self.kept = like.new_empty(steps, batch, 4 * width)  # i, f, g, o
        self.c = like.new_empty(steps + 1, batch, width)
        self.c[0] = state[1]
        self.zero = torch.zeros_like(state[0])

    def forward(self, t: int, gates_BG: Tensor, recurrent_BG: Tensor, h_BH: Tensor) -> Tensor:
        kept = torch.add(gates_BG, recurrent_BG, out=self.kept[t])
        i, f, g, o = kept.chunk(4, dim=1)
        kept[:, : 2 * h_BH.shape[1]].sigmoid_()
        g.tanh_()
        o.sigmoid_()
        torch.addcmul(f * self.c[t], i, g, out=self.c[t + 1])
        return o * self.c[t + 1].tanh()

    def start(self) -> tuple[Tensor, ...]:
        return self.zero, self.zero

    def backward(
        self, t: int, d_output_BH: Tensor, h_BH: Tensor, d_state: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, ...]]:
        i, f, g, o = self.kept[t].chunk(4, dim=1)
        d_h = d_output_BH + d_state[0]
        squashed = self.c[t + 1].tanh()
        d_c = d_state[1] + d_h * o * (1 - squashed * squashed)
        d_gates = torch.cat([d_c * g * (i - i * i), d_c * self.c[t] * (f - f * f), d_c * i * (1 - g * g), d_h * squashed * (o - o * o)], dim=1)
        return d_gates, d_gates, torch.zeros_like(d_h), (d_c * f,)
