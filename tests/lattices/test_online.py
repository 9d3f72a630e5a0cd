"""The sum over all ways to write a target on the way, beside every single one of them."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch.nn import functional as F

from xattend.lattices.online import Lattice, draw, marginal, posterior


def lattice(rows: int = 1, steps: int = 5, tokens: int = 2) -> Lattice:
    decide = torch.randn(rows, steps, tokens + 1, dtype=torch.float64)
    token = torch.randn(rows, steps, tokens, 6, dtype=torch.float64).log_softmax(dim=-1)[..., 0]
    return Lattice(F.logsigmoid(-decide), F.logsigmoid(decide), token, torch.full((rows,), steps), torch.full((rows,), tokens))


def paths(one: Lattice, row: int = 0) -> dict[tuple[int, ...], float]:
    """The log-probability of each way, by the steps at which it writes."""
    steps, tokens, found = int(one.steps_B[row]), int(one.tokens_B[row]), {}
    for when in itertools.combinations(range(steps), tokens):
        total, written = 0.0, 0
        for step in range(steps):
            if step in when:
                total += float(one.write_BSW[row, step, written] + one.token_BSU[row, step, written])
                written += 1
            else:
                total += float(one.stay_BSW[row, step, written])
        found[when] = total
    return found


@pytest.mark.parametrize(("steps", "tokens"), [(1, 1), (4, 1), (5, 3), (6, 2), (4, 4)])
def test_the_sum_is_that_of_every_way(steps: int, tokens: int) -> None:
    one = lattice(1, steps, tokens)
    wanted = math.log(sum(math.exp(log) for log in paths(one).values()))
    assert float(marginal(one)[0]) == pytest.approx(wanted, abs=1e-9)


def test_rows_of_different_lengths() -> None:
    one = lattice(2, 5, 3)._replace(steps_B=torch.tensor([5, 3]), tokens_B=torch.tensor([3, 1]))
    wanted = [math.log(sum(math.exp(log) for log in paths(one, row).values())) for row in range(2)]
    torch.testing.assert_close(marginal(one)[0], torch.tensor(wanted, dtype=torch.float64))


def test_what_is_written_first_adds_up() -> None:
    """Nothing, or a first token: with two tokens to choose from, the three sum to one."""
    decide, logs = torch.randn(1, 3, 2, dtype=torch.float64), torch.randn(1, 3, 1, 2, dtype=torch.float64).log_softmax(dim=-1)
    total = 0.0
    for token in range(2):
        one = Lattice(F.logsigmoid(-decide), F.logsigmoid(decide), logs[..., token], torch.tensor([3]), torch.tensor([1]))
        total += float(marginal(one)[1][0, 1].exp())
    nothing = float(F.logsigmoid(-decide[0, :, 0]).sum().exp())
    assert total + nothing == pytest.approx(1.0)


def test_the_posterior_is_the_share_of_ways() -> None:
    one = lattice(1, 5, 2)
    every = paths(one)
    whole = sum(math.exp(log) for log in every.values())
    for token in range(2):
        for step in range(5):
            wanted = sum(math.exp(log) for when, log in every.items() if when[token] == step) / whole
            assert float(posterior(one)[0, token, step]) == pytest.approx(wanted, abs=1e-9)


def test_drawn_rewards_are_a_bound_and_their_gradient_is_right() -> None:
    """Over many drawn paths: E[R] by enumeration, below log p(y), and R's probability weights back to p(y)."""
    torch.manual_seed(1)
    one = lattice(1, 4, 2)
    many = Lattice(*(part.expand(40_000, *part.shape[1:]) for part in one))
    path = draw(many)
    assert (path.wrote_BS.sum(dim=1) == 2).all(), "every path writes the whole target"
    rewards = path.reward_BS.sum(dim=1)
    # R - by importance: the mean of exp R is p(y) exactly, and the mean of R lies below its logarithm
    assert float(rewards.exp().mean()) == pytest.approx(float(marginal(one)[0].exp()), rel=0.03)
    assert float(rewards.mean()) < float(marginal(one)[0])
    # the log-probability of a path is what was drawn and what it was made to do
    for row in range(5):
        when = tuple(path.wrote_BS[row].nonzero()[:, 0].tolist())
        assert float(path.policy_BS[row].sum() + rewards[row]) == pytest.approx(paths(one)[when])
