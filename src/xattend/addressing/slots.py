"""A memory of slots that a controller writes and reads with heads that move softly (Graves et al. 2014; 2016).

    M_t = M_{t-1} * prod_w (1 - w_w e_w^T) + sum_w w_w a_w^T,   e = sigmoid, a = tanh      each write head erases and adds
    r_r = w_r M_t                                                                           each read head brings a vector back

Where the heads are is made by chains of addressing parts (base.py). If read and write heads have the same chain, all of them look for their
slots at once, in the memory as it was before the step; else read heads look when the step has been written. Reading is always after writing.
The number of slots is no weight: a trained machine can be given more.

What keeps it finite: the controller's numbers are cut to [-20, 20], norms and logarithms have a constant added to them (content.py,
sharpen.py, allocation.py), powers are at least 1, and what is added to a slot in a step is at most 1 in size.

>>> slots = Slots(["content"], ["content"], slots=5, width=3, reads=2, writes=1)
>>> vectors_BRM, state = slots(torch.zeros(4, slots.numbers), slots.start(4, torch.zeros(1)))
>>> vectors_BRM.shape, state.memory_BNM.shape, state.heads_BHN.shape
(torch.Size([4, 2, 3]), torch.Size([4, 5, 3]), torch.Size([4, 3, 5]))

Shapes: B batch, H heads, R read heads, W write heads, N slots, M width of a slot, X all numbers of the controller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from xattend import registry
from xattend.addressing import fused_computer, fused_turing
from xattend.addressing.base import Addressing, PartState, Seen
from xattend.addressing.content import Content
from xattend.addressing.fused import Run, Step
from xattend.addressing.fused_computer import KEPT, ComputerRun
from xattend.addressing.fused_turing import TuringRun
from xattend.addressing.numbers import CLIP
from xattend.addressing.shift import Shift
from xattend.errors import UserError

BLANK = 1e-6  # what an untouched slot holds: a constant is learnt from better than chance or learnt values (Collier and Beel 2018)
# the chains that have a backward of their own (fused_turing.py, fused_computer.py), of write and of read heads
TURING: tuple[list[str], list[str]] = (["content", "interpolation", "shift", "sharpen"], [])
COMPUTER = (["content", "usage", "allocation"], ["content", "links"])


class SlotsState(NamedTuple):
    """The memory between two steps: what it holds, where heads are, what they read, and what addressing parts keep."""

    memory_BNM: Tensor
    heads_BHN: Tensor  # write heads first
    vectors_BRM: Tensor
    kept: PartState


class Slots(nn.Module):
    """The memory; it has no weights of its own, the controller's numbers say all."""

    def __init__(
        self, read: Sequence[str | dict[str, Any]], write: Sequence[str | dict[str, Any]], *, slots: int, width: int, reads: int, writes: int
    ) -> None:
        super().__init__()
        self.slots, self.width, self.reads, self.writes = slots, width, reads, writes
        self.together = list(read) == list(write)
        heads = writes + reads if self.together else writes
        self.write = nn.ModuleList(registry.build_named("addressing", part, width, heads, reads) for part in write)
        self.read = nn.ModuleList([] if self.together else (registry.build_named("addressing", part, width, reads, reads) for part in read))
        self._check()
        names = tuple([str(part.registered_name) for part in self.chain(group)] for group in ("write", "read"))
        self.fused = writes == 1 and (names == COMPUTER or (names == TURING and self.together))
        self.sizes = [heads * sum(part.numbers for part in self.chain("write")), reads * sum(part.numbers for part in self.chain("read")), 2 * writes * width]

    @property
    def names(self) -> list[str]:
        """What the heads are called, in their order."""
        return [f"write {head + 1}" for head in range(self.writes)] + [f"read {head + 1}" for head in range(self.reads)]

    @property
    def numbers(self) -> int:
        """How many numbers the controller must give in a step."""
        return sum(self.sizes)

    def chain(self, group: str) -> list[Addressing]:
        """The addressing parts of a group of heads; empty for read heads that go with the write heads."""
        return [part for part in (self.write if group == "write" else self.read) if isinstance(part, Addressing)]

    def _check(self) -> None:
        for group in ("write", "read"):
            before: list[str] = []
            for part in self.chain(group):
                name = str(part.registered_name)
                lacking = [other for other in part.needs if other not in before]
                if lacking:
                    raise UserError(f"'{name}' needs '{lacking[0]}' before it in system.{group}")
                if part.group and (part.group != group or self.together):
                    raise UserError(f"'{name}' is for {part.group} heads alone: give the others a chain of their own, system.read and system.write")
                if part.one_write and self.writes != 1:
                    raise UserError(f"'{name}' goes with one write head: system.writes = 1")
                before.append(name)

    def start(self, batch: int, like: Tensor) -> SlotsState:
        """Before the first step: heads that move start at the first slot, others nowhere."""
        both = self.chain("write") + self.chain("read")
        heads_BHN = like.new_zeros(batch, self.writes + self.reads, self.slots)
        for group, place in (("write", slice(self.writes)), ("write" if self.together else "read", slice(self.writes, None))):
            if any(part.first_slot for part in self.chain(group)):
                heads_BHN[:, place, 0] = 1.0
        kept = {name: value for part in both for name, value in part.start(batch, self.slots, like).items()}
        vectors_BRM = like.new_zeros(batch, self.reads, self.width)
        return SlotsState(like.new_full((batch, self.slots, self.width), BLANK), heads_BHN, vectors_BRM, kept)

    def forward(self, numbers_BX: Tensor, state: SlotsState) -> tuple[Tensor, SlotsState]:
        """One step: vectors_BRM that were read, and the state."""
        if self.fused:
            return self._fused(numbers_BX, state)
        write_BX, read_BX, change_BX = torch.split(numbers_BX.clamp(-CLIP, CLIP), self.sizes, dim=1)
        change_BW2M = change_BX.reshape(-1, self.writes, 2, self.width)
        last_BHN, last_BWN, last_BRN = state.heads_BHN, state.heads_BHN[:, : self.writes], state.heads_BHN[:, self.writes :]
        if self.together:
            heads_BHN, kept = self._address("write", write_BX, Seen(state.memory_BNM, last_BHN, last_BRN, last_BWN), state.kept)
            memory_BNM = change(state.memory_BNM, heads_BHN[:, : self.writes], change_BW2M)
        else:
            write_BWN, kept = self._address("write", write_BX, Seen(state.memory_BNM, last_BWN, last_BRN, last_BWN), state.kept)
            memory_BNM = change(state.memory_BNM, write_BWN, change_BW2M)
            read_BRN, kept = self._address("read", read_BX, Seen(memory_BNM, last_BRN, last_BRN, write_BWN), kept)
            heads_BHN = torch.cat([write_BWN, read_BRN], dim=1)
        vectors_BRM = heads_BHN[:, self.writes :] @ memory_BNM
        return vectors_BRM, SlotsState(memory_BNM, heads_BHN, vectors_BRM, kept)

    def _address(self, group: str, numbers_BX: Tensor, seen: Seen, kept: PartState) -> tuple[Tensor, PartState]:
        chain, weights_BHN = self.chain(group), seen.last_BHN
        each = torch.split(numbers_BX.reshape(len(numbers_BX), weights_BHN.shape[1], -1), [part.numbers for part in chain], dim=-1)
        for part, numbers_BHP in zip(chain, each, strict=True):
            weights_BHN, kept = part(numbers_BHP, weights_BHN, seen, kept)
        return weights_BHN, kept

    def run(self, steps: int, state: SlotsState) -> Run:
        """So many steps from a state on, with a backward of their own; for chains that have one (`fused`)."""
        return self._begin(steps, *self._given(state))

    def order(self) -> Tensor:
        """order_X: at each place of the numbers that a run is given, where that number is among those that chains are given."""
        if self.together:
            return fused_turing.order(self.writes + self.reads, self.width, self._shifts())
        return fused_computer.order(self.reads, self.width)

    def _shifts(self) -> int:
        return next(part.numbers for part in self.write if isinstance(part, Shift))

    def _given(self, state: SlotsState) -> tuple[Tensor, ...]:
        return (state.memory_BNM, *([] if self.together else [state.kept[name] for name in KEPT]), state.heads_BHN)

    def _begin(self, steps: int, *given: Tensor) -> Run:
        least = [part.least for chain in (self.write, self.read) for part in chain if isinstance(part, Content)]
        if self.together:
            return TuringRun(steps, *given, shifts=self._shifts(), least=least[0])
        return ComputerRun(steps, *given, least=(least[0], least[1]))

    def _fused(self, numbers_BX: Tensor, state: SlotsState) -> tuple[Tensor, SlotsState]:
        numbers_BX = numbers_BX[:, self.order().to(numbers_BX.device)]
        memory_BNM, *kept, heads_BHN, vectors_BRM = Step.apply(self._begin, numbers_BX, *self._given(state))  # type: ignore[no-untyped-call]
        return vectors_BRM, SlotsState(memory_BNM, heads_BHN, vectors_BRM, dict(zip(KEPT, kept)))


def change(memory_BNM: Tensor, writes_BWN: Tensor, change_BW2M: Tensor) -> Tensor:
    """The memory after every write head has erased and added.

    >>> memory, at = torch.tensor([[[1.0], [2.0]]]), torch.tensor([[[1.0, 0.0]]])
    >>> change(memory, at, torch.tensor([[[[20.0], [0.0]]]])).round(decimals=3).tolist()  # the first slot erased, nothing added
    [[[0.0], [2.0]]]
    """
    erase_BWM, add_BWM = torch.sigmoid(change_BW2M[:, :, 0]), torch.tanh(change_BW2M[:, :, 1])
    kept_BWNM = 1 - writes_BWN[..., None] * erase_BWM[:, :, None]
    kept_BNM = kept_BWNM[:, 0] if kept_BWNM.shape[1] == 1 else kept_BWNM.prod(dim=1)
    return torch.baddbmm(memory_BNM * kept_BNM, writes_BWN.transpose(1, 2), add_BWM)
