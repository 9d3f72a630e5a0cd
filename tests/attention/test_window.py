"""Graves's window, by hand."""

from __future__ import annotations

import math

import torch

from xattend.attention.window import Window
from xattend.types import Memory


def memory(length: int = 4) -> Memory:
    return Memory(torch.eye(length)[None], torch.ones(1, length, dtype=torch.bool), torch.zeros(1, length))


def window(bias: list[float], **given: object) -> Window:
    part = Window(2, 4, components=len(bias) // 3, **given)  # type: ignore[arg-type]
    torch.nn.init.zeros_(part.place.weight)
    part.place.bias.data = torch.tensor(bias)
    return part


def test_two_gaussians_by_hand() -> None:
    # alpha 2 and 1, beta 1/2 and 1, steps of 1 and 2 from kappa = -1
    part = window([math.log(2), 0.0, math.log(0.5), 0.0, 0.0, math.log(2)], pace=1.0)
    bound = part.bind(memory())
    context, weights, kappa = part.attend(torch.zeros(1, 2), bound, part.start(bound))
    assert weights is not None
    wanted = [2 * math.exp(-0.5 * (0 - u) ** 2) + math.exp(-((1 - u) ** 2)) for u in range(4)]
    torch.testing.assert_close(weights[0, 0], torch.tensor(wanted))
    torch.testing.assert_close(context[0], torch.tensor(wanted))  # one-hot states
    torch.testing.assert_close(kappa, torch.tensor([[0.0, 1.0]]))
    assert weights.sum() > 2, "the weights are not normalised"


def test_monotone_never_goes_back_and_free_may() -> None:
    back = [0.0, 0.0, -1.5]
    places = {}
    for monotone in (True, False):
        part = window(back, monotone=monotone, pace=1.0)
        bound = part.bind(memory())
        state = part.start(bound)
        for _ in range(3):
            _, _, state = part.attend(torch.zeros(1, 2), bound, state)
        places[monotone] = float(state.detach())
    torch.testing.assert_close(places[True], -1 + 3 * math.exp(-1.5))
    torch.testing.assert_close(places[False], -1 - 4.5)


def test_the_pace_is_kept_before_anything_is_learnt() -> None:
    part = Window(2, 4, pace=0.25)
    torch.nn.init.zeros_(part.place.weight)
    bound = part.bind(memory())
    _, weights, _ = part.attend_all(torch.zeros(1, 9, 2), bound, part.start(bound))
    assert weights is not None
    assert weights[0, :, 0].argmax(dim=1)[[0, 4, 8]].tolist() == [0, 1, 2]
