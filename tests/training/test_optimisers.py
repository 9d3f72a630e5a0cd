"""Optimisers: each is registered, goes downhill, and equals its paper's formula where that is short."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from xattend import registry
from xattend.errors import UserError
from xattend.registry import build
from xattend.training.checkpoint import optimiser_state, restore_optimiser


def test_what_there_is() -> None:
    assert {"adam", "adamw", "sgd", "adadelta", "rmsprop"} <= set(registry.names("optimiser"))


@pytest.mark.parametrize("name", registry.names("optimiser"))
def test_goes_downhill(name: str) -> None:
    weight = nn.Parameter(torch.tensor([3.0, -2.0]))
    optimiser = build("optimiser", name, [weight])
    start = weight.detach().pow(2).sum().item()
    for _ in range(20):
        optimiser.zero_grad()
        weight.pow(2).sum().backward()
        optimiser.step()
    assert weight.detach().pow(2).sum().item() < start


@pytest.mark.parametrize("name", registry.names("optimiser"))
def test_state_is_restored_bit_for_bit(name: str) -> None:
    def steps(weight: nn.Parameter, optimiser: torch.optim.Optimizer, count: int) -> None:
        for _ in range(count):
            optimiser.zero_grad()
            (weight.sin() * weight).sum().backward()
            optimiser.step()

    torch.manual_seed(1)
    weight = nn.Parameter(torch.randn(37))
    optimiser = build("optimiser", name, [weight])
    steps(weight, optimiser, 5)
    other = nn.Parameter(weight.detach().clone())
    again = build("optimiser", name, [other])
    restore_optimiser(again, *optimiser_state(optimiser))
    steps(weight, optimiser, 5)
    steps(other, again, 5)
    assert torch.equal(weight, other)


def test_adam_by_hand() -> None:
    weight = nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimiser = build("optimiser", "adam", [weight], lr=0.1, beta1=0.5, beta2=0.5, eps=1e-9)
    for gradient in (1.0, 2.0):
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        optimiser.step()
    # m: 0.5, 1.25; unbiased 1, 1.25 / 0.75.  v: 0.5, 2.25; unbiased 1, 2.25 / 0.75
    assert weight.item() == pytest.approx(1 - 0.1 - 0.1 * (1.25 / 0.75) / (2.25 / 0.75) ** 0.5, abs=1e-7)


def test_sgd_momentum_by_hand() -> None:
    weight = nn.Parameter(torch.tensor([0.0]))
    optimiser = build("optimiser", "sgd", [weight], lr=1.0, momentum=0.5)
    for _ in range(3):
        weight.grad = torch.tensor([1.0])
        optimiser.step()
    assert weight.item() == pytest.approx(-(1 + 1.5 + 1.75))


def test_a_setting_that_would_do_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="momentum"):
        build("optimiser", "sgd", [nn.Parameter(torch.zeros(1))], nesterov=True)
