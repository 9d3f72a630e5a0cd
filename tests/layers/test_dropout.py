"""Dropout: its rate, its mean, every byte of a draw alike, and that a seed fixes it."""

from __future__ import annotations

import math

import pytest
import torch

from xattend.layers.dropout import Dropout


@pytest.mark.parametrize("probability", [0.1, 0.2, 0.5])
def test_rate_and_scale(probability: float) -> None:
    layer = Dropout(probability)
    assert layer.probability == pytest.approx(probability, abs=1 / 512)
    y = layer(torch.ones(1000, 1000))
    kept = (y != 0).double().mean().item()
    assert kept == pytest.approx(1 - layer.probability, abs=4 * math.sqrt(probability * (1 - probability) / 1e6))
    assert y.max().item() == pytest.approx(1 / (1 - layer.probability))


def test_each_of_the_eight_bytes_of_a_draw_has_the_same_rate() -> None:
    dropped = (Dropout(0.2)(torch.ones(200_000, 8)) == 0).double().mean(dim=0)
    assert (dropped - 51 / 256).abs().max().item() < 5 * math.sqrt(0.16 / 200_000)
    together = (Dropout(0.5)(torch.ones(200_000, 8)) == 0).double()
    assert torch.corrcoef(together.T).fill_diagonal_(0).abs().max().item() < 5 / math.sqrt(200_000)


def test_a_seed_fixes_it_and_evaluation_is_untouched() -> None:
    layer, x = Dropout(0.3), torch.randn(5, 7)
    torch.manual_seed(1)
    one = layer(x)
    torch.manual_seed(1)
    assert torch.equal(one, layer(x))
    assert not torch.equal(one, layer(x))
    assert layer.eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_gradient_is_that_of_the_same_mask() -> None:
    x = torch.ones(40, requires_grad=True)
    y = Dropout(0.5)(x)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, y.detach())


def test_relu_and_dropout_in_one_are_the_two_after_each_other() -> None:
    layer = Dropout(0.3)
    weight, x = torch.randn(6, 50, requires_grad=True), torch.randn(4, 6)
    for training in (True, False):
        layer.train(training)
        torch.manual_seed(1)
        plain = layer(torch.relu(x @ weight))
        (expected,) = torch.autograd.grad((plain**2).sum(), weight)
        torch.manual_seed(1)
        in_one = layer.after_relu(x @ weight)
        (found,) = torch.autograd.grad((in_one**2).sum(), weight)
        torch.testing.assert_close(in_one, plain)
        torch.testing.assert_close(found, expected)
