"""Clockwork and delayed recurrences against plain loops, and their gradients against finite differences."""

from __future__ import annotations

import math

import pytest
import torch

from xattend.cells.clockwork import Clockwork, DelayRNN


def test_a_module_moves_when_its_clock_ticks() -> None:
    cell = Clockwork(2, 6, periods=[1, 2, 3])
    inputs, state = torch.randn(1, 7, 2), cell.start(1)
    for t in range(7):
        before, state = state[0], cell(inputs[:, t], state)
        moved = (state[0] != before).reshape(3, 2).any(dim=1)
        assert moved.tolist() == [True, t % 2 == 0, t % 3 == 0]


def test_the_equation_with_numbers() -> None:
    """Two units of periods 1 and 2: the fast one reads both, the slow one itself alone."""
    cell = Clockwork(1, 2, periods=[2, 1])
    with torch.no_grad():
        cell.input.weight.copy_(torch.tensor([[0.5], [-0.3]]))
        cell.recurrent.weight.copy_(torch.tensor([[0.7, 0.2], [9.0, -0.4]]))
        cell.input.bias.copy_(torch.tensor([0.1, 0.2]))
        cell.recurrent.bias.zero_()
    fast, slow = 0.0, 0.0
    state = cell.start(1)
    for t, x in enumerate([0.6, -0.8, 0.9]):
        new = math.tanh(0.5 * x + 0.7 * fast + 0.2 * slow + 0.1)
        slow = math.tanh(-0.3 * x - 0.4 * slow + 0.2) if t % 2 == 0 else slow
        fast = new
        state = cell(torch.tensor([[x]]), state)
        assert state[0][0].tolist() == pytest.approx([fast, slow], abs=1e-6)


def test_the_unrolled_gradient_is_that_of_steps() -> None:
    cell = Clockwork(2, 5, periods=[1, 2, 4]).double()
    inputs = torch.randn(3, 6, 2, dtype=torch.float64, requires_grad=True)
    first = (torch.randn(3, 5, dtype=torch.float64, requires_grad=True), torch.tensor([[0.0], [3.0], [1.0]], dtype=torch.float64).expand(3, 5))
    found = []
    for fused in (True, False):
        outputs = cell.unroll(inputs, first)[0] if fused else cell._loop(inputs, first, None)[0]
        wanted = [inputs, first[0], *cell.parameters()]
        found.append((outputs, *torch.autograd.grad(outputs.square().sum(), wanted)))
    torch.testing.assert_close(found[0], found[1])


def test_a_delay_is_a_second_recurrence() -> None:
    cell = DelayRNN(2, 3, delay=2)
    inputs = torch.randn(1, 5, 2)
    outputs, _ = cell.unroll(inputs, cell.start(1))
    h = [torch.zeros(1, 3), torch.zeros(1, 3)]
    for t in range(5):
        h.append(torch.tanh(cell.input(inputs[:, t]) + cell.recurrent(h[-1]) + cell.delayed(h[-2])))
        torch.testing.assert_close(outputs[:, t], h[-1])
