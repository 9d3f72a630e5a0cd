"""A machine's memory run over a whole sequence with a backward of its own: what such a run is, and one step of it as an autograd function.

The plain way is the chain of parts of slots.py, which is the reference in tests. What a step of a small machine needs most time for is not
arithmetic but starting kernels, taking views and noting both for the gradient. So a run has room for all steps and takes its views of it
once; nothing is noted (`torch.inference_mode`); and what a backward needs of a step alone (slopes, squares, quotients) is made for all
steps at once.

>>> from xattend.addressing.slots import Slots
>>> slots = Slots(["content", "links"], ["content", "usage", "allocation"], slots=5, width=3, reads=2, writes=1)
>>> state = slots.start(4, torch.zeros(1))
>>> run = slots.run(2, state)  # two steps
>>> for t in range(2):
...     _ = run.numbers.raw_TBX[t].zero_()
...     run.forward(t)
>>> run.vectors_TBRM.shape, [each.shape[0] for each in run.state(2)]
(torch.Size([3, 4, 2, 3]), [4, 4, 4, 4, 4])

Shapes: T steps, B batch, R read heads, M width of a slot, X all numbers of the controller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from xattend.addressing.numbers import Numbers
from xattend.layers.precision import in_float32


class Run:
    """One sequence's run. Before `forward(t)` the controller's numbers of step t are put into `numbers.raw_TBX[t]`, in the order of
    `Slots.order`; after `backward(t)` their gradient is in `numbers.d[t]`."""

    numbers: Numbers
    vectors_TBRM: Tensor  # T + 1: what was read before the first step, and in each

    def forward(self, t: int) -> None:
        raise NotImplementedError

    def start(self, gradients: tuple[Tensor, ...] = ()) -> None:
        """Before a backward: dL/d(state after the last step), or nothing if nobody looks at that."""
        raise NotImplementedError

    def backward(self, t: int, d_vectors_BRM: Tensor) -> None:
        raise NotImplementedError

    def state(self, t: int) -> tuple[Tensor, ...]:
        """The memory and all that is kept beside it, before step t."""
        raise NotImplementedError

    def gradients(self) -> tuple[Tensor, ...]:
        """dL/d(state before the step that `backward` was called for last)."""
        raise NotImplementedError


class Step(torch.autograd.Function):
    """How a run begins with a state, numbers_BX in the run's order, state -> state after the step, vectors_BRM."""

    @staticmethod
    @in_float32
    def forward(ctx: Any, begin: Callable[..., Run], numbers_BX: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        with torch.inference_mode():
            run = begin(1, *state)
            run.numbers.raw_TBX[0] = numbers_BX
            run.forward(0)
        ctx.run = run
        return tuple(each.clone() for each in (*run.state(1), run.vectors_TBRM[1]))  # what backward needs is not handed out

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        run: Run = ctx.run
        with torch.inference_mode():
            run.start(tuple(each.clone() for each in gradients[:-1]))
            run.backward(0, gradients[-1])
        return None, *(each.clone() for each in (run.numbers.d[0], *run.gradients()))  # outside of inference mode: others may change them
