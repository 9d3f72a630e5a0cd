"""All steps of a controller and its memory as one autograd function.

Between two steps of a machine lie a few small products and a step of the memory, and torch would note each of them for the gradient. Here the
backwards of the steps (fused.py, fused_computer.py) and of the cell's gates (cells/gates.py) are called by hand, and the gradients of weights are made
for all steps at once. The plain way, step by step, is the reference in tests; controllers of one layer whose cell has such gates.

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

from xattend.addressing.slots import Slots
from xattend.layers.controller import Controller


class Note:
    """What the forward of a step leaves for its backward, as autograd's own context would keep it."""

    def __init__(self) -> None:
        self.saved_tensors: tuple[Tensor, ...] = ()
        self.between: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Tensor) -> None:
        self.saved_tensors = tensors


class _Loop(torch.autograd.Function):
    """What is run, projected_TBG, read_VG, recurrent_GD, its bias_G, drive_XD, its bias_X -> hidden_TBD, read_TBV."""

    @staticmethod
    def forward(
        ctx: Any, parts: tuple[Controller, Slots], projected: Tensor, read_VG: Tensor, recurrent_GD: Tensor, bias_G: Tensor, drive_XD: Tensor, drive_X: Tensor
    ) -> tuple[Tensor, Tensor]:
        controller, slots = parts
        steps, batch = projected.shape[:2]
        (cell,) = controller.layers()
        first = cell.start(batch)
        kind = cell.fused_gates()
        assert kind is not None
        gates = kind(steps, first, projected)
        hidden, read = projected.new_empty(steps + 1, batch, cell.size), projected.new_zeros(steps + 1, batch, len(read_VG))
        hidden[0] = first[0]
        step, memory, least = slots.step(slots.start(batch, projected))
        recurrent_DG, drive_DX = recurrent_GD.t().contiguous(), drive_XD.t().contiguous()
        notes = [Note() for _ in range(steps)]
        for t, note in enumerate(notes):
            gates_BG = torch.addmm(projected[t], read[t], read_VG)
            hidden[t + 1] = gates.forward(t, gates_BG, torch.addmm(bias_G, hidden[t], recurrent_DG), hidden[t])
            *memory, vectors_BRM = step.forward(note, torch.addmm(drive_X, hidden[t + 1], drive_DX), *memory, *least)
            read[t + 1] = vectors_BRM.flatten(1)
        ctx.save_for_backward(read_VG, recurrent_GD, drive_XD)
        ctx.run = gates, step, notes, hidden, read, slots, [torch.zeros_like(one) for one in memory]
        return hidden[1:].clone(), read[1:].clone()  # what backward needs is not handed out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        read_VG, recurrent_GD, drive_XD = ctx.saved_tensors
        gates, step, notes, hidden, read, slots, d_memory = ctx.run
        d_hidden, d_read = gradients
        steps, batch = d_hidden.shape[:2]
        d_raw, d_gates, d_recurrent = (hidden.new_empty(steps, batch, size) for size in (len(drive_XD), len(recurrent_GD), len(recurrent_GD)))
        d_state, d_vectors, read_GV = gates.start(), torch.zeros_like(read[0]), read_VG.t().contiguous()
        for t in range(steps - 1, -1, -1):
            d_vectors = (d_vectors + d_read[t]).view(batch, slots.reads, slots.width)
            d_raw[t], *d_memory = step.backward(notes[t], *d_memory, d_vectors)[: 1 + len(d_memory)]
            d_h = (d_state[0] + d_hidden[t]).addmm_(d_raw[t], drive_XD)
            d_gates[t], d_recurrent[t], d_before, d_rest = gates.backward(t, hidden[t], (d_h, *d_state[1:]))
            d_state = (torch.addmm(d_before, d_recurrent[t], recurrent_GD), *d_rest)
            d_vectors = d_gates[t] @ read_GV
        flat_raw, flat_gates, flat_recurrent = d_raw.flatten(0, 1), d_gates.flatten(0, 1), d_recurrent.flatten(0, 1)
        return (
            None, d_gates, read[:-1].flatten(0, 1).t() @ flat_gates, flat_recurrent.t() @ hidden[:-1].flatten(0, 1), flat_recurrent.sum(dim=0),
            flat_raw.t() @ hidden[1:].flatten(0, 1), flat_raw.sum(dim=0),
        )  # fmt: skip


def fits(controller: Controller, slots: Slots) -> bool:
    """Whether controller and memory have backwards of their own."""
    cells = controller.layers()
    return slots.fused and len(cells) == 1 and cells[0].input_norm is None and cells[0].fused_gates() is not None


def run(controller: Controller, drive: nn.Linear, slots: Slots, inputs_BTI: Tensor) -> tuple[Tensor, Tensor]:
    """hidden_BTD of the controller and read_BTV, what the heads read."""
    (cell,) = controller.layers()
    projected_BTG, read_VG = controller.project(inputs_BTI)
    hidden_TBD, read_TBV = _Loop.apply(  # type: ignore[no-untyped-call]
        (controller, slots), projected_BTG.transpose(0, 1), read_VG, cell.recurrent.weight, cell.recurrent.bias, drive.weight, drive.bias
    )
    return hidden_TBD.transpose(0, 1), read_TBV.transpose(0, 1)
