"""Hybrid and monotonic attention: numbers worked by hand, and walks by brute force."""

from __future__ import annotations

import pytest
import torch

from tests.contracts import samples
from xattend.attention.hybrid import Hybrid, median
from xattend.attention.monotonic import Monotonic, _expected
from xattend.errors import UserError


def test_the_score_is_additive_with_convolutions_of_the_last_weights() -> None:
    part = samples.randomised(Hybrid(samples.QUERY, samples.WIDTH, size=4, filters=2, reach=1)).eval()
    memory, query = samples.memory((5,)), torch.randn(1, samples.QUERY)
    bound, last = part.bind(memory), torch.tensor([[0.1, 0.7, 0.2, 0.0, 0.0]])
    _, weights, after = part.attend(query, bound, last)
    scores = []
    for j in range(5):
        near = torch.tensor([last[0, i] if 0 <= i < 5 else 0.0 for i in (j - 1, j, j + 1)])
        features = (part.convolution.weight[:, 0] * near).sum(dim=1)
        inside = part.query.weight @ query[0] + part.key.weight @ memory.states_BSD[0, j] + part.location.weight @ features
        scores.append(part.v.weight[0] @ torch.tanh(inside))
    torch.testing.assert_close(weights[0, 0], torch.stack(scores).softmax(dim=0))
    assert torch.equal(after, weights[:, 0])


def test_smoothing_sharpening_top_and_window() -> None:
    memory, query = samples.memory((6,)), torch.randn(1, samples.QUERY)
    last = torch.tensor([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]])

    def weights(**given: object) -> torch.Tensor:
        torch.manual_seed(0)
        part = samples.randomised(Hybrid(samples.QUERY, samples.WIDTH, reach=2, **given)).eval()  # type: ignore[arg-type]
        bound = part.bind(memory)
        if given.get("smooth"):
            energy = super(Hybrid, part).score(query[:, None], bound, last)[0, 0].sigmoid()
            torch.testing.assert_close(part.attend(query, bound, last)[1][0, 0], energy / energy.sum())
        found = part.attend(query, bound, last)[1]
        assert found is not None
        return found[0, 0]

    plain = weights()
    torch.testing.assert_close(weights(sharpen=2.0), (plain**2) / (plain**2).sum())
    assert (weights(top=2) > 0).sum() == 2
    assert weights(window=1).gt(0).tolist() == [False, False, True, True, True, False]
    assert weights(window=2, back=1).gt(0).tolist() == [False, False, True, True, True, True]
    with pytest.raises(UserError, match="at least as wide"):
        weights(back=1)
    weights(smooth=True)


def test_the_median_is_where_half_is_reached() -> None:
    assert median(torch.tensor([[0.4, 0.2, 0.4], [0.6, 0.2, 0.2], [0.0, 0.0, 1.0]])).tolist() == [1, 0, 2]


def test_the_expectation_is_that_of_all_walks() -> None:
    torch.manual_seed(0)
    energy, last = torch.randn(1, 5), torch.rand(1, 5)
    p = energy.sigmoid()[0]
    by_hand = [
        sum(last[0, k] * torch.prod(1 - p[k:j]) for k in range(j + 1)) * p[j] for j in range(5)
    ]  # fmt: skip
    torch.testing.assert_close(_expected(energy, last)[0], torch.stack(by_hand))


@pytest.mark.parametrize(("energies", "stops"), [([[-1, 1, 1, 1], [-1, 1, -1, 1], [-1, 1, -1, 1]], [1, 1, 1]), ([[-1, 1, -1, -1], [1, -1, -1, 1], [1, 1, 1, -1]], [1, 3, None])])
def test_a_walk_never_goes_back_and_ends(energies: list[list[int]], stops: list[int | None]) -> None:
    state = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    for energy, stop in zip(energies, stops, strict=True):
        state = Monotonic._walk(torch.tensor([energy]).float(), state, torch.ones(1, 4, dtype=torch.bool))
        assert state.tolist() == [[float(j == stop) for j in range(4)]]


def test_training_draws_and_evaluation_does_not() -> None:
    part, memory, query = Monotonic(samples.QUERY, samples.WIDTH), samples.memory((5,)), torch.randn(1, samples.QUERY)
    bound = part.bind(memory)
    drawn = [part.attend(query, bound, part.start(bound))[1] for _ in range(2)]
    assert not torch.equal(drawn[0], drawn[1])  # type: ignore[arg-type]
    part.eval()
    assert torch.equal(part.attend(query, bound, part.start(bound))[1], part.attend(query, bound, part.start(bound))[1])  # type: ignore[arg-type]
