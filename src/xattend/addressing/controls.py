"""Controllers over a whole sequence with their own backward (see cells/gates.py), for steps so small that calls are their price.

    feed-forward   h = tanh(x)
    lstm           c_t = f c_{t-1} + i g,   h_t = o tanh(c_t)

    dL/dc_t = dL/dc + (dL/dh) o (1 - tanh(c_t)^2)
    dL/d(i, f, g before squashing) = dL/dc_t x (g i', c_{t-1} f', i g'),   dL/d(o before it) = dL/dh x tanh(c_t) o'

All that the gradients are multiplied by is known after the forward, and made for all steps at once; a step back is then four products.
The reference in tests is torch's own gradient of the cells step by step.

>>> run = FeedForward(1, (torch.zeros(1, 1),), torch.zeros(1))
>>> h = run.forward(0, torch.zeros(1, 1), torch.zeros(1, 1), torch.zeros(1, 1))
>>> run.start()[0].tolist(), run.backward(0, h, (torch.ones(1, 1),))[0].tolist()  # tanh's slope at 0
([[0.0]], [[1.0]])

Shapes: T steps, B batch, D width, G gates x D.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.cells.gates import Gates, Gradients, LSTMGates


class FeedForward(Gates):
    """A controller without a state of its own."""

    def __init__(self, steps: int, state: tuple[Tensor, ...], like: Tensor) -> None:
        super().__init__(steps, state, like)
        self.hidden_TBD = like.new_empty(steps, *state[0].shape)
        self._hidden = self.hidden_TBD.unbind()

    def forward(self, t: int, gates_BG: Tensor, recurrent_BG: Tensor, h_BH: Tensor) -> Tensor:
        return torch.tanh(gates_BG, out=self._hidden[t])

    def start(self) -> Gradients:
        self._slope = (1 - self.hidden_TBD.square()).unbind()
        return super().start()

    def backward(self, t: int, h_BH: Tensor, d_state: Gradients) -> tuple[Tensor, Tensor, Tensor, Gradients]:
        return d_state[0] * self._slope[t], self.zero, self.zero, ()


class LSTM(Gates):
    """The same numbers as LSTMGates of cells/gates.py, in fewer calls; for wide layers that one's tanh is faster."""

    def __init__(self, steps: int, state: tuple[Tensor, ...], like: Tensor) -> None:
        super().__init__(steps, state, like)
        batch, width = state[0].shape
        self.gates_TBG, self.c_TBD = like.new_empty(steps, batch, 4 * width), like.new_empty(steps + 1, batch, width)
        self.squashed_TBD = like.new_empty(steps, batch, width)  # tanh(c)
        self.c_TBD[0] = state[1]
        self.parts = self.gates_TBG.chunk(4, dim=2)
        self._gates, self._both = self.gates_TBG.unbind(), self.gates_TBG[..., : 2 * width].unbind()
        self._i, self._f, self._g, self._o = (part.unbind() for part in self.parts)
        self._c, self._squashed = self.c_TBD.unbind(), self.squashed_TBD.unbind()

    def forward(self, t: int, gates_BG: Tensor, recurrent_BG: Tensor, h_BH: Tensor) -> Tensor:
        torch.add(gates_BG, recurrent_BG, out=self._gates[t])
        self._both[t].sigmoid_()
        self._g[t].tanh_()
        self._o[t].sigmoid_()
        torch.mul(self._f[t], self._c[t], out=self._c[t + 1]).addcmul_(self._i[t], self._g[t])
        return self._o[t] * torch.tanh(self._c[t + 1], out=self._squashed[t])

    def start(self) -> Gradients:
        i, f, g, o = self.parts
        slopes_TBLD = torch.stack([g * (i - i.square()), self.c_TBD[:-1] * (f - f.square()), i * (1 - g.square())], dim=2)
        self._of_c, self._of_o = slopes_TBLD.unbind(), (self.squashed_TBD * (o - o.square())).unbind()
        self._into_c = (o * (1 - self.squashed_TBD.square())).unbind()
        self._d_gates = torch.empty_like(self.gates_TBG)
        steps, batch, width = self.squashed_TBD.shape
        self._d_first, self._d_last, self._d_all = (
            each.unbind() for each in (self._d_gates.view(steps, batch, 4, width)[:, :, :3], self._d_gates[..., 3 * width :], self._d_gates)
        )
        return self.zero, self.zero

    def backward(self, t: int, h_BH: Tensor, d_state: Gradients) -> tuple[Tensor, Tensor, Tensor, Gradients]:
        d_h, d_c = d_state
        d_c = torch.addcmul(d_c, d_h, self._into_c[t])
        torch.mul(d_c.unsqueeze(1), self._of_c[t], out=self._d_first[t])
        torch.mul(d_h, self._of_o[t], out=self._d_last[t])
        return self._d_all[t], self._d_all[t], self.zero, (d_c * self._f[t],)


def small(kind: type[Gates], width: int) -> type[Gates]:
    """The gates to take for a controller of this width."""
    return LSTM if kind is LSTMGates and width <= 512 else kind
