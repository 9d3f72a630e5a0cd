"""Cells against torch's own and against numbers worked by hand."""

from __future__ import annotations

import math
import weakref

import pytest
import torch
from torch import nn

from xattend.cells import GRU, LSTM, Cell, GRUResetBefore, SigmaGRU, SigmaLSTM, SigmaRNN, TanhRNN


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def copy_weights(cell: Cell, theirs: nn.RNNBase) -> None:
    with torch.no_grad():
        cell.input.weight.copy_(theirs.weight_ih_l0)
        cell.recurrent.weight.copy_(theirs.weight_hh_l0)
        cell.input.bias.copy_(theirs.bias_ih_l0)
        cell.recurrent.bias.copy_(theirs.bias_hh_l0)


@pytest.mark.parametrize(("ours", "theirs"), [(TanhRNN, nn.RNN), (GRU, nn.GRU), (LSTM, nn.LSTM)])
def test_the_cells_torch_has_are_torchs(ours: type[Cell], theirs: type[nn.RNNBase]) -> None:
    module = theirs(3, 4, batch_first=True)
    cell = ours(3, 4)
    copy_weights(cell, module)
    inputs = torch.randn(2, 6, 3)
    expected, _ = module(inputs)
    state = cell.start(2)
    for t in range(6):
        state = cell(inputs[:, t], state)
        torch.testing.assert_close(state[0], expected[:, t])
    torch.testing.assert_close(cell.unroll(inputs, cell.start(2))[0], expected)


@pytest.mark.parametrize(("batch", "steps"), [(3, 5), (1, 1)])
def test_all_steps_of_a_gru_have_the_loops_gradients(batch: int, steps: int) -> None:
    cell = GRU(3, 4).double()
    for parameter in cell.parameters():
        torch.nn.init.normal_(parameter)
    inputs, first = torch.randn(batch, steps, 3, dtype=torch.double, requires_grad=True), torch.randn(batch, 4, dtype=torch.double, requires_grad=True)
    given = [inputs, first, *cell.parameters()]
    found = []
    for unroll in (cell.unroll, cell._loop):
        outputs, last = unroll(inputs, (first,), None)
        found.append([outputs, *torch.autograd.grad(outputs.sin().sum() + last[0].square().sum(), given)])
    for ours, loops in zip(*found, strict=True):
        torch.testing.assert_close(ours, loops)
    with torch.no_grad():
        torch.testing.assert_close(cell.unroll(inputs, (first,))[0], found[0][0].detach())  # torch's kernel, where no gradient is asked for


def test_what_all_steps_of_a_gru_keep_is_freed() -> None:
    outputs, _ = GRU(3, 4).unroll(torch.randn(2, 5, 3), (torch.zeros(2, 4),))
    outputs.sum().backward()
    there = weakref.ref(outputs)
    del outputs, _
    assert there() is None


def test_outputs_that_were_changed_in_place_are_found_out() -> None:
    outputs, _ = GRU(3, 4).unroll(torch.randn(2, 5, 3), (torch.zeros(2, 4),))
    total = outputs.sum()
    outputs.detach().mul_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def one_unit(kind: type[Cell], inputs: list[float], recurrent: list[float], biases: list[float]) -> Cell:
    """A cell with one input and one unit, every weight set."""
    cell = kind(1, 1)
    with torch.no_grad():
        cell.input.weight.copy_(torch.tensor(inputs)[:, None])
        cell.recurrent.weight.copy_(torch.tensor(recurrent)[:, None])
        cell.input.bias.copy_(torch.tensor(biases))
        cell.recurrent.bias.zero_()
    return cell


def step(cell: Cell, x: float, *state: float) -> list[float]:
    return [part.item() for part in cell(torch.tensor([[x]]), tuple(torch.tensor([[s]]) for s in state))]


def test_the_lectures_rnn() -> None:
    cell = one_unit(SigmaRNN, [2.0], [-1.0], [0.5])
    assert step(cell, 0.3, 0.8) == pytest.approx([sigmoid(2 * 0.3 - 0.8 + 0.5)])


def test_gru_resets_before_or_after_the_product() -> None:
    weights = [0.5, -0.4, 1.2], [0.7, 0.2, -0.9], [0.1, 0.3, -0.2]
    x, h = 0.6, 0.9
    r = sigmoid(0.5 * x + 0.7 * h + 0.1)
    z = sigmoid(-0.4 * x + 0.2 * h + 0.3)
    before = math.tanh(1.2 * x - 0.2 - 0.9 * (r * h))
    assert step(one_unit(GRUResetBefore, *weights), x, h) == pytest.approx([z * h + (1 - z) * before], abs=1e-6)
    cell = one_unit(GRU, *weights)
    with torch.no_grad():
        cell.recurrent.bias.copy_(torch.tensor([0.0, 0.0, 0.4]))  # inside the reset: here the two orders part ways
    after = math.tanh(1.2 * x - 0.2 + r * (-0.9 * h + 0.4))
    assert step(cell, x, h) == pytest.approx([z * h + (1 - z) * after], abs=1e-6)
    sigma = sigmoid(1.2 * x - 0.2 - 0.9 * (r * h))
    assert step(one_unit(SigmaGRU, *weights), x, h) == pytest.approx([z * h + (1 - z) * sigma], abs=1e-6)


def test_reset_before_and_after_differ_with_more_than_one_unit() -> None:
    before, after = GRUResetBefore(3, 4), GRU(3, 4)
    after.load_state_dict(before.state_dict())
    inputs, state = torch.randn(2, 3), (torch.randn(2, 4),)
    assert not torch.allclose(before(inputs, state)[0], after(inputs, state)[0], atol=1e-3)


def test_the_lectures_lstm() -> None:
    cell = one_unit(SigmaLSTM, [0.5, -0.3, 0.8, 1.1], [0.2, 0.4, -0.6, 0.9], [0.1, -0.1, 0.2, 0.3])
    x, h, c = 0.7, 0.5, -0.4
    i, f, o = sigmoid(0.5 * x + 0.2 * h + 0.1), sigmoid(-0.3 * x + 0.4 * h - 0.1), sigmoid(1.1 * x + 0.9 * h + 0.3)
    new = f * c + i * sigmoid(0.8 * x - 0.6 * h + 0.2)
    assert step(cell, x, h, c) == pytest.approx([o * sigmoid(new), new], abs=1e-6)


def test_layer_norm_normalises_each_half_of_the_gates() -> None:
    cell = TanhRNN(3, 4, layer_norm=True)
    x, h = torch.randn(2, 3), torch.randn(2, 4)
    expected = torch.tanh(
        nn.functional.layer_norm(cell.input(x), (4,)) + nn.functional.layer_norm(cell.recurrent(h), (4,))
    )
    torch.testing.assert_close(cell(x, (h,))[0], expected)


def test_recurrence_starts_orthogonal_and_the_forget_gate_open() -> None:
    cell = LSTM(3, 5)
    for gate in cell.recurrent.weight.detach().chunk(4):
        torch.testing.assert_close(gate @ gate.T, torch.eye(5), atol=1e-5, rtol=0)
    assert (cell.input.bias[5:10] == 1).all()
