"""Recurrences of several time scales.

clockwork   units in modules, each with a period; a module moves only when its clock ticks (Koutnik et al. 2014)
    h_t[i] = tanh(U x_t + W h_{t-1} + b)[i]   if t mod T_i = 0,   else h_{t-1}[i]
    W is block upper triangular: a module reads those of its own and of longer periods.

delay-rnn   a second recurrence from some steps back (El Hihi and Bengio 1995; Lin et al. 1996), a short cut for the gradient
    h_t = tanh(U x_t + W h_{t-1} + V h_{t-d} + b)

The clock is a part of the state, so a row's padding stops it. At the first step every module moves.

>>> import torch
>>> cell = Clockwork(3, 4, periods=[1, 2])
>>> h, clock = cell(torch.ones(1, 3), cell(torch.ones(1, 3), cell.start(1)))
>>> clock.tolist()
[[2.0, 2.0, 2.0, 2.0]]
>>> cell.reads.tolist()
[[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]

Shapes: B batch, T steps, D width, G = D.
"""

from __future__ import annotations

from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from xattend.cells.base import Cell, CellState
from xattend.errors import UserError
from xattend.layers.precision import in_float32
from xattend.registry import register

Period = Annotated[int, Field(ge=1, le=1 << 20)]


class _Unrolled(torch.autograd.Function):
    """All steps, with a backward of its own: projected_TBD, h_BD, weight_DD, bias_D, active_TBD -> outputs_TBD."""

    @staticmethod
    @in_float32
    def forward(ctx: Any, projected: Tensor, first: Tensor, weight: Tensor, bias: Tensor, active: Tensor) -> Tensor:
        candidates, outputs, h, turned = torch.empty_like(projected), torch.empty_like(projected), first, weight.t().contiguous()
        for t in range(len(projected)):
            torch.addmm(bias, h, turned, out=candidates[t]).add_(projected[t]).tanh_()
            h = torch.lerp(h, candidates[t], active[t], out=outputs[t])
        ctx.save_for_backward(candidates, outputs, first, weight, active)
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        candidates, outputs, first, weight, active = ctx.saved_tensors
        slope = (1 - candidates.square()).mul_(active)
        stays = 1 - active
        d_projected, d_h = torch.empty_like(outputs), torch.zeros_like(first)
        for t in range(len(outputs) - 1, -1, -1):
            d_h = d_h + gradients[0][t]
            torch.mul(d_h, slope[t], out=d_projected[t])
            d_h = torch.addmm(d_h.mul_(stays[t]), d_projected[t], weight)
        before = torch.cat([first[None], outputs[:-1]])
        d_flat = d_projected.flatten(0, 1)
        return d_projected, d_h, d_flat.t() @ before.flatten(0, 1), d_flat.sum(dim=0), None


@register("cell", "clockwork")
class Clockwork(Cell):
    """Modules of units that move at their own periods. The state is (h, steps so far)."""

    parts = 2

    def __init__(
        self, input_size: int, size: int, *,
        layer_norm: Annotated[bool, "normalise both halves (Ba et al. 2016)"] = False,
        periods: Annotated[Annotated[list[Period], Field(min_length=1)], "of the modules; units are shared out evenly"] = [1, 2, 4, 8],  # noqa: B006
    ) -> None:  # fmt: skip
        super().__init__(input_size, size, layer_norm=layer_norm)
        if size < len(periods):
            raise UserError(f"{len(periods)} periods need a unit each, and there are {size}: raise 'size', or name fewer periods")
        # shared out by order, so that a period stays where it is when the size changes; shorter periods first
        period_D = torch.tensor(sorted(periods))[torch.arange(size) * len(periods) // size].float()
        self.period: Tensor
        self.reads: Tensor
        self.register_buffer("period", period_D, persistent=False)
        self.register_buffer("reads", (period_D[:, None] <= period_D).float(), persistent=False)

    def recur(self, output_BD: Tensor) -> Tensor:
        gates_BG = F.linear(output_BD, self.recurrent.weight * self.reads, self.recurrent.bias).to(self.recurrent.weight.dtype)
        return gates_BG if self.recurrent_norm is None else self.recurrent_norm(gates_BG)

    def active(self, clock_BD: Tensor) -> Tensor:
        """1 for units that move at this step, else 0."""
        return (clock_BD.floor() % self.period == 0).to(clock_BD.dtype)

    def advance(self, projected_BG: Tensor, state: CellState) -> CellState:
        h, clock = state[0], state[1][:, :1].expand_as(state[1])
        candidate = torch.tanh(projected_BG + self.recur(h))
        return torch.lerp(h, candidate, self.active(clock)), clock + 1

    def fused(self, inputs_BTD: Tensor, state: CellState, mask_BT: Tensor | None) -> tuple[Tensor, CellState] | None:
        if mask_BT is not None:
            return None
        steps, clock_BD = inputs_BTD.shape[1], state[1][:, :1].expand_as(state[1])
        active_TBD = self.active(clock_BD + torch.arange(steps, dtype=clock_BD.dtype, device=clock_BD.device)[:, None, None])
        projected_TBD = self.project(inputs_BTD.transpose(0, 1))
        outputs_TBD: Tensor = _Unrolled.apply(projected_TBD, state[0], self.recurrent.weight * self.reads, self.recurrent.bias, active_TBD)  # type: ignore[no-untyped-call]
        return outputs_TBD.transpose(0, 1), (outputs_TBD[-1], clock_BD + steps)


@register("cell", "delay-rnn")
class DelayRNN(Cell):
    """A simple recurrent network that also sees its output of some steps back. The state is its last outputs, the newest first."""

    def __init__(
        self, input_size: int, size: int, *,
        layer_norm: Annotated[bool, "normalise both halves (Ba et al. 2016)"] = False,
        delay: Annotated[int, Field(ge=2, le=256), "steps back"] = 4,
    ) -> None:  # fmt: skip
        self.parts = delay  # type: ignore[misc]
        super().__init__(input_size, size, layer_norm=layer_norm)
        self.delayed = torch.nn.Linear(size, size, bias=False)
        torch.nn.init.orthogonal_(self.delayed.weight, gain=0.5)

    def advance(self, projected_BG: Tensor, state: CellState) -> CellState:
        return torch.tanh(projected_BG + self.recur(state[0]) + self.delayed(state[-1])), *state[:-1]
