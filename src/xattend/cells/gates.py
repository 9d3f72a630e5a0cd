"""What cells do between their products, forwards and backwards, for loops that keep their own gradients.

    forward    gates_BG (inputs' half), recurrent_BG (recurrent half), h  ->  new h
    backward   dL/d(state after step t)  ->  dL/dgates, dL/drecurrent, dL/d(h before) through the gates alone

Shapes: B batch, T steps, H state width, G gates x H.
"""

from __future__ import annotations

import torch
from torch import Tensor


def tanh_(x: Tensor) -> Tensor:
    """tanh(x) = 2 sigmoid(2 x) - 1, in place: on a CPU torch's sigmoid is three times as fast as its tanh.

    >>> torch.allclose(tanh_(torch.tensor([-20.0, 0.0, 0.5])), torch.tensor([-20.0, 0.0, 0.5]).tanh(), atol=1e-6)
    True
    """
    return x.mul_(2).sigmoid_().mul_(2).sub_(1)


Gradients = tuple[Tensor, ...]  # of the state's parts; the first is that of h


class Gates:
    """One sequence's run: what backward needs of each step is kept here between the two passes."""

    def __init__(self, steps: int, state: tuple[Tensor, ...], like: Tensor) -> None:
        self.zero = torch.zeros_like(state[0])

    def forward(self, t: int, gates_BG: Tensor, recurrent_BG: Tensor, h_BH: Tensor) -> Tensor:
        """One step's new output."""
        raise NotImplementedError

    def start(self) -> Gradients:
        """The gradient of the state after the last step before anything is added to it."""
        return (self.zero,)

    def backward(self, t: int, h_BH: Tensor, d_state: Gradients) -> tuple[Tensor, Tensor, Tensor, Gradients]:
        """(d_gates, d_recurrent, d_h before the step through the gates alone, gradients of the other parts before it)."""
        raise NotImplementedError


class GRUGates(Gates):
    """Reset after the product; see cells/gru.py."""

    def __init__(self, steps: int, state: tuple[Tensor, ...], like: Tensor) -> None:
        super().__init__(steps, state, like)
        batch, width = state[0].shape
        self.kept = like.new_empty(steps, batch, 4 * width)  # r, z, n, recurrent half of n

    def forward(self, t: int, gates_BG: Tensor, recurrent_BG: Tensor, h_BH: Tensor) -> Tensor:
        kept = self.kept[t]
        width = h_BH.shape[1]
        two = 2 * width
        torch.add(gates_BG[:, :two], recurrent_BG[:, :two], out=kept[:, :two]).sigmoid_()
        n = kept[:, two : 3 * width]
        tanh_(torch.addcmul(gates_BG[:, two:], kept[:, :width], recurrent_BG[:, two:], out=n))
        kept[:, 3 * width :] = recurrent_BG[:, two:]
        return torch.lerp(n, h_BH, kept[:, width:two])

    def backward(self, t: int, h_BH: Tensor, d_state: Gradients) -> tuple[Tensor, Tensor, Tensor, Gradients]:
        r, z, n, recurrent_n = self.kept[t].chunk(4, dim=1)
        (d_h,) = d_state
        d_before = d_h * z
        d_n = (d_h - d_before) * (1 - n.square())
        d_z = d_h * (h_BH - n) * (z - z.square())
        d_r = d_n * recurrent_n * (r - r.square())
        return torch.cat([d_r, d_z, d_n], dim=1), torch.cat([d_r, d_z, d_n * r], dim=1), d_before, ()


class LSTMGates(Gates):
    """The standard form; see cells/lstm.py."""

    def __init__(self, steps: int, state: tuple[Tensor, ...], like: Tensor) -> None:
        super().__init__(steps, state, like)
        batch, width = state[0].shape
        self.kept = like.new_empty(steps, batch, 4 * width)  # i, f, g, o
        self.c = like.new_empty(steps + 1, batch, width)
        self.c[0] = state[1]
        self.squashed = like.new_empty(steps, batch, width)  # tanh(c)

    def forward(self, t: int, gates_BG: Tensor, recurrent_BG: Tensor, h_BH: Tensor) -> Tensor:
        kept = torch.add(gates_BG, recurrent_BG, out=self.kept[t])
        i, f, g, o = kept.chunk(4, dim=1)
        kept[:, : 2 * h_BH.shape[1]].sigmoid_()
        tanh_(g)
        o.sigmoid_()
        torch.addcmul(f * self.c[t], i, g, out=self.c[t + 1])
        return o * tanh_(self.squashed[t].copy_(self.c[t + 1]))

    def start(self) -> Gradients:
        return self.zero, self.zero

    def backward(self, t: int, h_BH: Tensor, d_state: Gradients) -> tuple[Tensor, Tensor, Tensor, Gradients]:
        i, f, g, o = self.kept[t].chunk(4, dim=1)
        d_h, d_c = d_state
        squashed = self.squashed[t]
        d_c = d_c + d_h * o * (1 - squashed.square())
        d_gates = torch.cat(
            [d_c * g * (i - i.square()), d_c * self.c[t] * (f - f.square()), d_c * i * (1 - g.square()), d_h * squashed * (o - o.square())], dim=1
        )
        return d_gates, d_gates, self.zero, (d_c * f,)
