"""A network with a memory that it reads and writes: the neural Turing machine (Graves et al. 2014) and its successor, the differentiable
neural computer (Graves et al. 2016). Without heads it is the plain recurrent network that they are compared with.

    h_t = controller(x_t, r_{t-1}),   r_t, M_t = heads(W h_t, M_{t-1}),   y_t = sigmoid(V [h_t; r_t] + b)

Which of the two it is, is a matter of how its heads find their slots (addressing/), so they are recipes of this one system:

    read = write = ["content", "interpolation", "shift", "sharpen"]                              the Turing machine
    write = ["content", "usage", "allocation"], read = ["content", "links"]                      the computer

Both sides of a row are of the field `bits`. An answer is given in the silent steps of the source, or at every step if none is silent. The
loss is the negative log-likelihood of the answer's bits; of numbers, half the squared error.

With a task of bits (data/tasks/bits.py) every update in training has rows that were drawn for it (`fresh`). They are drawn from torch's
generator, which training seeds with its seed, the update's number and the process before each update: so a training that is resumed sees
the rows it would have seen, and nothing about them is saved.

Shapes: B batch, T steps, C channels, A steps of an answer, H heads, N slots, M width of a slot.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from xattend import registry
from xattend.addressing import loop
from xattend.addressing.slots import Slots, SlotsState
from xattend.data.fields.bits import SILENT, Bits
from xattend.data.tasks.bits import Drawn
from xattend.errors import UserError
from xattend.layers.controller import Controller
from xattend.registry import register
from xattend.search.base import Search
from xattend.search.ensemble import Together
from xattend.search.greedy import Greedy
from xattend.systems.base import System
from xattend.systems.parts import Parts
from xattend.types import BOS, EOS, Batch, Hypothesis, Loss, Padded, Prediction, Trace

Positive = Annotated[int, Field(ge=1)]
Chain = list[str | dict[str, Any]]
TURING: Chain = ["content", "interpolation", "shift", "sharpen"]


@register("system", "machine")
class Machine(System):
    """A controller, and a memory of slots with read and write heads."""

    def __init__(
        self, parts: Parts, *,
        controller: Annotated[str | dict[str, Any], "feed-forward, or a cell: its name, or { kind = name, setting = value }"] = "lstm",
        size: Annotated[Positive, "its width"] = 100,
        layers: Annotated[Positive, "its layers, one above the other"] = 1,
        slots: Annotated[Annotated[int, Field(ge=2)], "of the memory; no weight depends on it, so a trained machine may be given more"] = 128,
        width: Annotated[Positive, "of a slot"] = 20,
        reads: Annotated[Positive, "read heads"] = 1,
        writes: Annotated[Positive, "write heads"] = 1,
        read: Annotated[Chain, "how read heads find their slots: addressing parts, in their order; empty: there is no memory"] = TURING,
        write: Annotated[Chain, "how write heads do"] = TURING,
        fresh: Annotated[bool, "with a task of bits: train on rows drawn anew at every update"] = True,
    ) -> None:  # fmt: skip
        super().__init__()
        _must_be_greedy(parts.recipe.part("search")[0] == "greedy")
        if not isinstance(parts.source, Bits) or not isinstance(parts.target, Bits):
            raise UserError('the system \'machine\' reads and writes bits: choose a task of bits, or set the kind of data.source and data.target to "bits"')
        if bool(read) != bool(write):
            raise UserError("system.read and system.write go together: a memory is written and read, or there is none")
        self.source, self.target = parts.source, parts.target
        self.slots = Slots(read, write, slots=slots, width=width, reads=reads, writes=writes) if read else None
        vectors = reads * width if self.slots is not None else 0
        self.controller = Controller(controller, self.source.channels, vectors, size, layers=layers)
        self.drive = nn.Linear(size, self.slots.numbers) if self.slots is not None else None
        self.output = nn.Linear(size + vectors, self.target.channels)
        self.task = _task(parts) if fresh else None
        self.looks = self.slots is not None

    def run(self, source: Padded, seen: list[SlotsState] | None = None) -> Tensor:
        """outputs_BTC before their sigmoid; `seen` is given the memory after each step."""
        inputs_BTC = self.source.vectors(source.values)
        if self.slots is None or self.drive is None:
            return self.output(self.controller.unroll(inputs_BTC))  # type: ignore[no-any-return]
        if seen is None and loop.fits(self.controller, self.slots):
            return self.output(torch.cat(loop.run(self.controller, self.drive, self.slots, inputs_BTC), dim=-1))  # type: ignore[no-any-return]
        state, slots = self.controller.start(len(inputs_BTC)), self.slots.start(len(inputs_BTC), self.output.weight)
        hidden, read, vectors_BV = [], [], slots.vectors_BRM.flatten(1)
        projected_BTG, read_VG = self.controller.project(inputs_BTC)
        for projected_BG in projected_BTG.unbind(dim=1):
            h_BD, state = self.controller(projected_BG, vectors_BV, read_VG, state)
            vectors_BRM, slots = self.slots(self.drive(h_BD), slots)
            vectors_BV = vectors_BRM.flatten(1)
            hidden.append(h_BD)
            read.append(vectors_BV)
            if seen is not None:
                seen.append(slots)
        return self.output(torch.cat([torch.stack(hidden, dim=1), torch.stack(read, dim=1)], dim=-1))  # type: ignore[no-any-return]

    def answers(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """outputs_XC and values_XC of all steps of all answers, one row after the other."""
        assert batch.source is not None
        assert batch.target is not None
        steps_BT = answered(batch.source)
        given = batch.target.values[:, 1:-1], batch.target.mask_BS[:, 2:]  # without BOS and EOS
        wanted, asked = given[1].sum(dim=1), steps_BT.sum(dim=1)
        if not torch.equal(wanted, asked):
            row = int((wanted != asked).nonzero()[0])
            raise UserError(f"a source asks for {asked[row]} steps (its silent ones, or all if none is), and its target has {wanted[row]}")
        return self.run(batch.source)[steps_BT], self.target.vectors(given[0][given[1]])

    def losses(self, outputs_XC: Tensor, values_XC: Tensor) -> Tensor:
        """Of each channel of each step."""
        if self.target.real:
            return (outputs_XC - values_XC).square() / 2
        return F.binary_cross_entropy_with_logits(outputs_XC, values_XC, reduction="none")

    def loss(self, batch: Batch) -> Loss:
        if self.training and self.task is not None:
            seed = int(torch.randint(1 << 62, ()))
            batch = drawn(self.task, np.random.default_rng(seed), len(batch))
        outputs_XC, values_XC = self.answers(batch)
        total = self.losses(outputs_XC, values_XC).sum()
        if self.target.real:
            return Loss(total, len(values_XC), len(batch))
        wrong = int(((outputs_XC.detach() > 0) != (values_XC > 0.5)).sum())
        return Loss(total, len(values_XC), len(batch), {"nll": float(total.detach()), "wrong_bits": float(wrong)})

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        """Each bit as it is likelier; the trace has where the heads were at every step, and what the memory held then."""
        assert batch.source is not None
        inner = search.inner if isinstance(search, Together) else search
        alone = not (isinstance(search, Together) and (search.others or search.held))
        _must_be_greedy(isinstance(inner, Greedy) and inner.limits == Greedy().limits and alone)
        seen: list[SlotsState] | None = [] if attention and self.slots is not None else None
        outputs_BTC, steps_BT = self.run(batch.source, seen), answered(batch.source)
        found = []
        for row, length in enumerate(batch.source.lengths_B.tolist()):
            own_AC = outputs_BTC[row][steps_BT[row]]
            values_AC = own_AC if self.target.real else own_AC.sigmoid()
            ids_A = self.target.ids(values_AC)
            logs = [*self._logs(own_AC, ids_A), 0.0]
            ids, score = ids_A.tolist(), sum(logs)
            trace = None if seen is None else self._trace(batch.source.values[row, :length], ids, steps_BT[row, :length], seen, row)
            best = Hypothesis(ids, score, score, logs, True)
            text = self.target.decode(ids)
            found.append(Prediction(text, self.target.symbols(ids), score, score, [(text, score)], trace, best))
        return found

    def _logs(self, outputs_AC: Tensor, ids_A: Tensor) -> list[float]:
        """Log-probability of each step of an answer; of numbers, the log-density of a normal distribution of unit variance."""
        constant = self.target.channels * math.log(2 * math.pi) / 2 if self.target.real else 0.0
        found: list[float] = (-self.losses(outputs_AC, self.target.vectors(ids_A)).sum(dim=1) - constant).tolist()
        return found

    def _trace(self, source_T: Tensor, ids: list[int], steps_T: Tensor, seen: list[SlotsState], row: int) -> Trace:
        assert self.slots is not None
        length = len(source_T)
        weights_THN = torch.stack([step.heads_BHN[row] for step in seen[:length]])
        read, written = self.source.symbols(source_T.tolist()), iter(self.target.symbols(ids))
        tokens = [f"> {next(written)}" if answer else token for token, answer in zip(read, steps_T.tolist(), strict=True)]
        usage_TN = torch.stack([step.kept["usage"][row] for step in seen[:length]]).numpy() if "usage" in seen[0].kept else None
        contents_TNM = torch.stack([step.memory_BNM[row] for step in seen[:length]]).numpy()
        slots = weights_THN.shape[2]
        return Trace(
            [str(slot) for slot in range(slots)], tokens, weights_THN.numpy(), (slots,), kind="machine", heads=self.slots.names,
            contents_TNM=contents_TNM, usage_TN=usage_TN,
        )  # fmt: skip

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        """Of each step of a given answer; the end mark is certain."""
        assert batch.source is not None
        assert batch.target is not None
        outputs_XC, _ = self.answers(batch)
        lengths = answered(batch.source).sum(dim=1).tolist()
        ids_BA = batch.target.values[:, 1:-1]
        return [
            [*self._logs(own_AC, ids_A[:length]), 0.0]
            for own_AC, ids_A, length in zip(torch.split(outputs_XC, lengths), ids_BA, lengths, strict=True)
        ]  # fmt: skip

    def align(self, batch: Batch) -> list[Tensor]:
        raise UserError("aligning links words, and this model looks at slots of its memory: predict --attention shows where its heads were")


def answered(source: Padded) -> Tensor:
    """steps_BT in which an answer is given: the silent ones, or all of a row that has none."""
    silent_BT = (source.values == SILENT) & source.mask_BS
    return torch.where(silent_BT.any(dim=1, keepdim=True), silent_BT, source.mask_BS)


def drawn(task: Drawn, random: np.random.Generator, rows: int) -> Batch:
    """A batch of rows of one shape."""
    source_BT, target_BA = (torch.from_numpy(ids) for ids in task.fresh(random, rows))
    target_BA = F.pad(F.pad(target_BA, (1, 0), value=BOS), (0, 1), value=EOS)
    source, target = (Padded(ids, torch.ones_like(ids, dtype=torch.bool)) for ids in (source_BT, target_BA))
    return Batch(source, target, tuple(range(rows)))


def batches(task: Drawn, rows: int, *, seed: int, size: int = 50) -> Iterator[Batch]:
    """So many rows of a task, a shape a batch; the same for the same seed."""
    random = np.random.default_rng(seed)
    for start in range(0, rows, size):
        yield drawn(task, random, min(size, rows - start))


def _task(parts: Parts) -> Drawn | None:
    """The task that rows can be drawn from, if the data is one of those."""
    given = parts.recipe.data.task
    task = None if given is None else registry.build_named("task", given)
    if not isinstance(task, Drawn):
        return None
    assert isinstance(parts.source, Bits)
    assert isinstance(parts.target, Bits)
    if parts.source.marks != sorted(task.marks) or parts.target.marks != sorted(task.written):
        raise UserError("the rows of the training split do not have all marks of their task: set more data.task.rows, or system.fresh = false")
    return task


def _must_be_greedy(greedy: bool) -> None:
    if not greedy:
        raise UserError(
            "the system 'machine' decides each bit by itself, and there is nothing to search: set search.kind = \"greedy\", "
            "without limits, phrases or ensembles"
        )
