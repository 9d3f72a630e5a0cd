"""Whole sequences with their own backward against chains of parts step by step: outputs and gradients, every controller, long shifts, absurd numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from xattend.addressing import fused_computer, loop
from xattend.addressing.controls import LSTM
from xattend.addressing.slots import Slots
from xattend.cells.gates import LSTMGates
from xattend.layers.controller import Controller

FAR: list[Any] = ["content", "interpolation", {"kind": "shift", "reach": 2}, "sharpen"]
CHAINS: dict[str, tuple[list[Any], list[Any]]] = {
    "turing": (["content", "interpolation", "shift", "sharpen"],) * 2, "far": (FAR, FAR),
    "computer": ([{"kind": "content", "least": 1.0}, "links"], ["content", "usage", "allocation"]),
}  # fmt: skip


def machine(kind: str, controller: str, *, reads: int, spread: float = 0.7) -> tuple[Controller, nn.Linear, Slots]:
    slots = Slots(*CHAINS[kind], slots=6, width=3, reads=reads, writes=1)
    parts = Controller(controller, 4, 3 * reads, 5).double(), nn.Linear(5, slots.numbers).double()
    for weight in (*parts[0].parameters(), *parts[1].parameters()):
        nn.init.normal_(weight, std=spread)
    return *parts, slots


def by_steps(controller: Controller, drive: nn.Linear, slots: Slots, inputs_BTI: Tensor) -> tuple[Tensor, Tensor]:
    """The plain way: chains of parts, torch's own gradients."""
    slots.fused = False
    state: Any = tuple(tuple(one.double() for one in layer) for layer in controller.start(len(inputs_BTI)))
    memory, kept = slots.start(len(inputs_BTI), inputs_BTI), []
    projected_BTG, read_VG = controller.project(inputs_BTI)
    for projected_BG in projected_BTG.unbind(dim=1):
        h_BD, state = controller(projected_BG, memory.vectors_BRM.flatten(1), read_VG, state)
        vectors_BRM, memory = slots(drive(h_BD), memory)
        kept.append((h_BD, vectors_BRM.flatten(1)))
    slots.fused = True
    hidden_BTD, read_BTV = (torch.stack(each, dim=1) for each in zip(*kept))
    return hidden_BTD, read_BTV


@pytest.mark.parametrize("kind", CHAINS)
@pytest.mark.parametrize("controller", ["lstm", "gru", "feed-forward"])
@pytest.mark.parametrize(("reads", "spread"), [(1, 0.7), (3, 0.7), (2, 8.0)])
def test_a_whole_sequence_is_its_chains_of_parts(kind: str, controller: str, reads: int, spread: float) -> None:
    parts = machine(kind, controller, reads=reads, spread=spread)  # with the larger spread many numbers are cut
    assert loop.fits(parts[0], parts[2])
    inputs = torch.randn(3, 8, 4, dtype=torch.float64, requires_grad=True)  # more steps than slots
    weights, found = [inputs, *parts[0].parameters(), *parts[1].parameters()], []
    for way in (loop.run, by_steps):
        hidden, read = way(*parts, inputs)
        total = (hidden * read.sum(dim=-1, keepdim=True)).sum() + read.square().sum() + hidden[:, 2].sum()  # each step its own gradient
        found.append((hidden, read, *torch.autograd.grad(total, weights)))
    torch.testing.assert_close(found[0], found[1], atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("kind", CHAINS)
def test_one_step_is_its_chain_from_any_state(kind: str) -> None:
    """The gradients of all that is kept from step to step, too."""
    slots = Slots(*CHAINS[kind], slots=5, width=3, reads=2, writes=1)
    old = slots.start(2, torch.zeros(1, dtype=torch.float64))
    given = [torch.randn(2, slots.numbers, dtype=torch.float64), torch.randn_like(old.memory_BNM), torch.rand_like(old.heads_BHN).div_(5)]
    given += [torch.rand_like(each).div_(5) for each in old.kept.values()]
    for each in given:
        each.requires_grad_()
    found = []
    for whole in (True, False):
        slots.fused = whole
        vectors, new = slots(given[0], old._replace(memory_BNM=given[1], heads_BHN=given[2], kept=dict(zip(old.kept, given[3:]))))
        every = [vectors, new.memory_BNM, new.heads_BHN, *(new.kept[name] for name in old.kept)]
        found.append((*every, *torch.autograd.grad(sum(((each + 1).square().sum() for each in every), torch.zeros(())), given)))
    torch.testing.assert_close(found[0], found[1], atol=1e-8, rtol=1e-6)


@pytest.mark.parametrize("controller", ["lstm", "feed-forward"])
def test_gradients_belong_to_the_user(controller: str) -> None:
    """They can be changed in place, and a second backward gives the same again."""
    controls, drive, slots = machine("computer", controller, reads=1)
    hidden, read = loop.run(controls, drive, slots, torch.randn(2, 4, 4, dtype=torch.float64))
    total = (hidden.sum() + read.sum()).square()
    total.backward(retain_graph=True)
    weights = [*controls.parameters(), *drive.parameters()]
    first = [weight.grad.clone() for weight in weights if weight.grad is not None]
    for weight in weights:
        assert weight.grad is not None
        weight.grad.mul_(0.0)
    total.backward()
    torch.testing.assert_close([weight.grad for weight in weights], first)
    hidden.mul_(2.0)  # and so do the outputs


def test_the_small_lstm_is_the_other_one() -> None:
    state, told = (torch.randn(2, 3), torch.randn(2, 3)), torch.randn(4, 2, 2, 12)
    found = []
    for run in (LSTM(4, state, told), LSTMGates(4, state, told)):
        outputs = [run.forward(t, told[t, 0], told[t, 1], state[0]).clone() for t in range(4)]
        gradients: list[Tensor] = []
        d_c = run.start()[1]
        for t in range(3, -1, -1):
            d_gates, _, _, (d_c,) = run.backward(t, state[0], (outputs[t], d_c))
            gradients += [d_gates.clone(), d_c.clone()]
        found.append((*outputs, *gradients))
    torch.testing.assert_close(found[0], found[1], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", ["turing", "computer"])
@pytest.mark.parametrize("size", [0.0, 1.0, 1e6])
def test_whole_sequences_of_twenty_seeds_stay_finite(kind: str, size: float) -> None:
    """Single precision, as in training; weights all 0, ordinary and absurd; more steps than slots, so that all of them are in use."""
    for seed in range(20):
        torch.manual_seed(seed)
        controls, drive, slots = machine(kind, "lstm" if seed % 2 else "feed-forward", reads=2, spread=size)
        found = loop.run(controls.float(), drive.float(), slots, max(size, 1.0) * torch.randn(2, 9, 4))
        gradients = torch.autograd.grad(sum((each.square().sum() for each in found), torch.zeros(())), [*controls.parameters(), *drive.parameters()])
        assert all(torch.isfinite(each).all() for each in (*found, *gradients))


def test_a_head_that_frees_all_it_read_has_a_gradient() -> None:
    """A factor of usage that is 0 must not be divided by."""
    factors = torch.tensor([0.0, 0.5, 0.25]).view(1, 1, 3, 1)
    assert fused_computer.others(factors, factors.prod(dim=2, keepdim=True)).flatten().tolist() == [0.125, 0.0, 0.0]
