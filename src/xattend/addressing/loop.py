"""All steps of a controller and its memory as one autograd function.

    x_t = W_x input_t + b         the inputs' half of the controller's first layer, for all steps at once
    h_t = cell(x_t + W_r r_{t-1}, h_{t-1}),   numbers_t = W_n h_t + b_n,   r_t, M_t = heads(numbers_t, M_{t-1})

Between two steps of a machine lie a few small products and a step of the memory, and torch would note each of them for the gradient. Here
the backwards of the memory (fused.py) and of the cell's gates (cells/gates.py, controls.py) are called by hand, and the gradients of weights
are made for all steps at once, by one product each. The plain way, step by step, is the reference in tests. Controllers: feed-forward, or one
layer of a cell that has such gates.

>>> from xattend.addressing.slots import Slots
>>> from xattend.layers.controller import Controller
>>> slots = Slots(["content", "links"], ["content", "usage", "allocation"], slots=5, width=3, reads=2, writes=1)
>>> controller, drive = Controller("lstm", 4, 6, 8), torch.nn.Linear(8, slots.numbers)
>>> hidden_BTD, read_BTV = run(controller, drive, slots, torch.zeros(2, 7, 4))
>>> hidden_BTD.shape, read_BTV.shape
(torch.Size([2, 7, 8]), torch.Size([2, 7, 6]))

Shapes: B batch, T steps, I input width, D controller width, G gates x D, V width of all vectors read, X numbers of the controller.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from xattend.addressing.controls import FeedForward, small
from xattend.addressing.slots import Slots
from xattend.cells.gates import Gates
from xattend.layers.controller import Controller
from xattend.layers.precision import in_float32


class _Loop(torch.autograd.Function):
    """What is run, projected_TBG, read_VG, drive_XD, its bias_X, and of a cell recurrent_GD and its bias_G -> hidden_TBD, read_TBV."""

    @staticmethod
    @in_float32
    def forward(
        ctx: Any, parts: tuple[Controller, Slots], projected_TBG: Tensor, read_VG: Tensor, drive_XD: Tensor, drive_X: Tensor,
        *recurrent: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        controller, slots = parts
        steps, batch = projected_TBG.shape[:2]
        with torch.inference_mode():
            run = slots.run(steps, slots.start(batch, projected_TBG))
            gates, first_BD = _gates(controller, steps, projected_TBG)
            hidden_TBD, read_TBV = projected_TBG.new_empty(steps + 1, batch, controller.size), run.vectors_TBRM.flatten(2)
            hidden_TBD[0] = first_BD
            hidden, read, raw, projected = hidden_TBD.unbind(), read_TBV.unbind(), run.numbers.raw_TBX.unbind(), projected_TBG.unbind()
            drive_DX, recurrent_DG = drive_XD.t().contiguous(), recurrent[0].t().contiguous() if recurrent else drive_XD
            for t in range(steps):
                gates_BG = torch.addmm(projected[t], read[t], read_VG)
                recurrent_BG = torch.addmm(recurrent[1], hidden[t], recurrent_DG) if recurrent else gates_BG
                h_BD = hidden[t + 1].copy_(gates.forward(t, gates_BG, recurrent_BG, hidden[t]))
                torch.addmm(drive_X, h_BD, drive_DX, out=raw[t])
                run.forward(t)
        ctx.save_for_backward(read_VG, drive_XD, *recurrent)
        ctx.run = run, gates, hidden_TBD, read_TBV
        return hidden_TBD[1:].clone(), read_TBV[1:].clone()  # what backward needs is not handed out

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_hidden_TBD: Tensor, d_read_TBV: Tensor) -> tuple[Tensor | None, ...]:
        read_VG, drive_XD, *recurrent = ctx.saved_tensors
        run, gates, hidden_TBD, read_TBV = ctx.run
        steps, batch = d_hidden_TBD.shape[:2]
        d_gates_TBG = d_hidden_TBD.new_empty(steps, batch, read_VG.shape[1])
        d_recurrent_TBG = torch.empty_like(d_gates_TBG) if recurrent else d_gates_TBG
        with torch.inference_mode():
            run.start()
            d_raw, hidden = run.numbers.d, hidden_TBD.unbind()
            d_hidden, d_read = d_hidden_TBD.contiguous().unbind(), d_read_TBV.contiguous().unbind()
            d_gates, d_recurrent, read_GV = d_gates_TBG.unbind(), d_recurrent_TBG.unbind(), read_VG.t().contiguous()
            d_state, d_vectors_BV, shape = gates.start(), d_read[-1], run.vectors_TBRM.shape[1:]
            for t in range(steps - 1, -1, -1):
                run.backward(t, d_vectors_BV.view(shape))
                d_h_BD = (d_state[0] + d_hidden[t]).addmm_(d_raw[t], drive_XD)
                d_gates_BG, d_recurrent_BG, d_before_BD, d_rest = gates.backward(t, hidden[t], (d_h_BD, *d_state[1:]))
                d_gates[t].copy_(d_gates_BG)
                if recurrent:
                    d_recurrent[t].copy_(d_recurrent_BG)
                    d_before_BD = torch.addmm(d_before_BD, d_recurrent_BG, recurrent[0])
                d_state = (d_before_BD, *d_rest)
                if t > 0:
                    d_vectors_BV = torch.addmm(d_read[t - 1], d_gates_BG, read_GV)
        # outside of inference mode, since these may become weights' gradients, which others change
        flat_raw, flat_gates, flat_recurrent = run.numbers.d_TBX.flatten(0, 1), d_gates_TBG.flatten(0, 1), d_recurrent_TBG.flatten(0, 1)
        own = (flat_recurrent.t() @ hidden_TBD[:-1].flatten(0, 1), flat_recurrent.sum(dim=0)) if recurrent else ()
        d_read_VG, d_drive_XD = read_TBV[:-1].flatten(0, 1).t() @ flat_gates, flat_raw.t() @ hidden_TBD[1:].flatten(0, 1)
        return None, d_gates_TBG, d_read_VG, d_drive_XD, flat_raw.sum(dim=0), *own


def _gates(controller: Controller, steps: int, like: Tensor) -> tuple[Gates, Tensor]:
    """What the controller does between its products, and its first output."""
    if not controller.recurrent:
        first_BD = like.new_zeros(like.shape[1], controller.size)
        return FeedForward(steps, (first_BD,), like), first_BD
    (cell,) = controller.layers()
    kind, first = cell.fused_gates(), cell.start(like.shape[1])
    assert kind is not None
    return small(kind, controller.size)(steps, first, like), first[0]


def fits(controller: Controller, slots: Slots) -> bool:
    """Whether controller and memory have backwards of their own."""
    cells = controller.layers()
    one = len(cells) == 1 and cells[0].input_norm is None and cells[0].fused_gates() is not None
    return slots.fused and (one or not controller.recurrent)


def run(controller: Controller, drive: nn.Linear, slots: Slots, inputs_BTI: Tensor) -> tuple[Tensor, Tensor]:
    """hidden_BTD of the controller and read_BTV, what the heads read."""
    projected_BTG, read_VG = controller.project(inputs_BTI)
    order_X = slots.order().to(drive.weight.device)
    recurrent = [weight for cell in controller.layers() for weight in (cell.recurrent.weight, cell.recurrent.bias)]
    hidden_TBD, read_TBV = _Loop.apply(  # type: ignore[no-untyped-call]
        (controller, slots), projected_BTG.transpose(0, 1), read_VG, drive.weight[order_X], drive.bias[order_X], *recurrent
    )
    return hidden_TBD.transpose(0, 1), read_TBV.transpose(0, 1)
