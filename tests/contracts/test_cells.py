"""What every registered cell must do."""

from __future__ import annotations

import pytest
import torch

from tests.contracts.samples import mask, randomised
from xattend import registry
from xattend.cells import Cell, Stack

each_cell = pytest.mark.parametrize("name", registry.names("cell"))
both_norms = pytest.mark.parametrize("layer_norm", [False, True])


def cell(name: str, layer_norm: bool = False) -> Cell:
    part = randomised(registry.build("cell", name, 3, 4, layer_norm=layer_norm))
    assert isinstance(part, Cell)
    return part


def start(part: Cell, batch: int) -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(batch, 4) for _ in range(part.parts))


@each_cell
@both_norms
def test_unroll_equals_steps(name: str, layer_norm: bool) -> None:
    part, inputs = cell(name, layer_norm), torch.randn(4, 5, 3)
    state = first = start(part, 4)
    outputs, last = part.unroll(inputs, first)
    for t in range(5):
        state = part(inputs[:, t], state)
        torch.testing.assert_close(outputs[:, t], state[0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(last, state, atol=1e-5, rtol=1e-5)


@each_cell
@both_norms
def test_padding_neither_moves_the_state_nor_a_real_output(name: str, layer_norm: bool) -> None:
    part, inputs, lengths = cell(name, layer_norm), torch.randn(4, 5, 3), (5, 3, 1, 4)
    first = start(part, 4)
    outputs, last = part.unroll(inputs, first, mask(lengths))
    for row, length in enumerate(lengths):
        alone, alone_last = part.unroll(inputs[row : row + 1, :length], tuple(p[row : row + 1] for p in first))
        torch.testing.assert_close(outputs[row : row + 1, :length], alone, atol=1e-5, rtol=1e-5)
        for together, single in zip(last, alone_last, strict=True):
            torch.testing.assert_close(together[row : row + 1], single, atol=1e-5, rtol=1e-5)


@each_cell
def test_an_empty_row_keeps_its_state(name: str) -> None:
    part, first = cell(name), start(cell(name), 2)
    _, last = part.unroll(torch.randn(2, 3, 3), first, mask((3, 0), 3))
    for after, before in zip(last, first, strict=True):
        torch.testing.assert_close(after[1], before[1])


@each_cell
@both_norms
def test_gradients_reach_every_weight(name: str, layer_norm: bool) -> None:
    part = cell(name, layer_norm)
    outputs, _ = part.unroll(torch.randn(4, 5, 3), start(part, 4))
    (outputs**2).sum().backward()
    assert [key for key, weight in part.named_parameters() if weight.grad is None or not weight.grad.any()] == []


@each_cell
def test_stack_of_two(name: str) -> None:
    stack = Stack(name, 3, 4, layers=2, residual=True).eval()
    inputs, state = torch.randn(2, 5, 3), stack.start(2)
    outputs, last = stack.unroll(inputs, state)
    for t in range(5):
        output, state = stack(inputs[:, t], state)
        torch.testing.assert_close(outputs[:, t], output, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(last, state, atol=1e-5, rtol=1e-5)
