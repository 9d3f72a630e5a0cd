"""The lower bound of hard attention: sums over every path against brute force, and the objective's own arithmetic."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tests.contracts import samples
from tests.contracts.test_decoders import decoder as other_decoder
from xattend import registry
from xattend.attention.hard import EXPECTED, drawn, follow
from xattend.decoders import Decoder
from xattend.errors import UserError
from xattend.objectives import LowerBound, log_marginal
from xattend.objectives.paths import all_one, exact, walk
from xattend.training.weights import from_bytes, put, to_bytes, weights_of
from xattend.types import BOS, EOS, PAD, Memory, Padded, Space

LENGTHS = (3, 2)


def decoder(name: str = "rnn", attention: dict[str, Any] | None = None, **given: Any) -> Decoder:
    own = {"sampler": "categorical", **(attention or {})}
    settings = {**samples.DECODER_SETTINGS.get(name, {}), "size": samples.QUERY, **given}
    part = registry.build(
        "decoder", name, Space(vocabulary=samples.VOCABULARY), samples.WIDTH, lambda query: samples.attention("hard", query, **own), **settings
    )
    assert isinstance(part, Decoder)
    return part.double().train()


def setting(**given: Any) -> tuple[Decoder, Memory, Padded]:
    torch.manual_seed(1)
    values = torch.tensor([[BOS, 5, 6, EOS], [BOS, 7, EOS, PAD]])
    return decoder(dropout=0.0, **given), samples.memory(LENGTHS, dtype=torch.float64), Padded(values, values != PAD)


def by_hand(part: Decoder, memory: Memory, target: Padded, row: int) -> tuple[float, float]:
    """log p(y | a) and L_s of one row: each path alone, over its real places and steps."""
    one, steps = memory.take(torch.tensor([row])), int(target.mask_BS[row].sum()) - 1
    likelihood = bound = 0.0
    for path in itertools.product(range(LENGTHS[row]), repeat=steps):
        state, words = follow(part.start(one), torch.tensor([path])), 0.0
        for t in range(steps):
            step = part.step(target.values[row, t : t + 1], state)
            state, words = step.state, words + step.logits_BV.log_softmax(dim=-1)[0, target.values[row, t + 1]].item()
        prior = math.exp(drawn(state.moving)[0].log_prob_B.item())
        likelihood, bound = likelihood + prior * math.exp(words), bound + prior * words
    return math.log(likelihood), bound


@pytest.mark.parametrize("given", [{}, {"attend": "between"}, {"attend": "after"}, {"name": "transformer", "layers": 1}])
def test_every_path_is_summed(given: dict[str, Any]) -> None:
    part, memory, target = setting(**given)
    found = exact(part, memory, target)
    torch.testing.assert_close(found.log_prior_BN.exp().sum(dim=1), torch.ones(2, dtype=torch.float64))
    for row in range(2):
        likelihood, bound = by_hand(part, memory, target, row)
        assert found.log_marginal_B[row].item() == pytest.approx(likelihood, rel=1e-9)
        assert found.bound_B[row].item() == pytest.approx(bound, rel=1e-9)
        assert bound < likelihood
    wider = Padded(F.pad(target.values, (0, 1)), F.pad(target.mask_BS, (0, 1)))
    torch.testing.assert_close(log_marginal(part, memory, wider), found.log_marginal_B)


def test_the_gap_is_a_divergence() -> None:
    found = exact(*setting())
    posterior_BN = (found.log_prior_BN + found.log_words_BN).log_softmax(dim=1)
    divergence_B = (found.log_prior_BN.exp() * (found.log_prior_BN - posterior_BN)).sum(dim=1)
    torch.testing.assert_close(found.log_marginal_B - found.bound_B, divergence_B)


def test_a_constant_reward_has_no_gradient() -> None:
    """Why a baseline changes no mean: sum_s p(s) d log p(s) = d sum_s p(s) = 0."""
    part, memory, target = setting()
    prior_BN = exact(part, memory, target).log_prior_BN
    weights = [weight for weight in part.parameters() if weight.requires_grad]
    gradients = torch.autograd.grad((prior_BN.exp().detach() * prior_BN).sum(), weights, allow_unused=True)
    assert max(float(g.abs().max()) for g in gradients if g is not None) < 1e-12


def test_too_many_paths_are_the_users_mistake() -> None:
    part, memory, target = setting()
    with pytest.raises(UserError, match="27 paths, more than 26"):
        exact(part, memory, target, most=26)
    with pytest.raises(UserError, match=r"decoder\.layers = 1"):
        exact(*setting(name="transformer"))
    with pytest.raises(UserError, match="kind = \"hard\""):
        log_marginal(other_decoder("rnn", {}, "additive"), samples.memory(), Padded(torch.tensor([[BOS, EOS]] * 4), torch.ones(4, 2).bool()))


@pytest.mark.parametrize("credit", ["path", "rest"])
def test_one_path_worked_by_hand(credit: Any) -> None:
    """- log p(y|s) - lambda_r sum_t (R_t - b_t) log p(s_t) - lambda_e H, and its gradient."""
    part, memory, target = setting()
    objective = LowerBound(samples=1, baseline="moving", credit=credit, reward_weight=0.3, entropy=0.2).double().train()
    objective.moving.fill_(-2.5)
    torch.manual_seed(7)
    loss = objective(part, memory, target)
    torch.manual_seed(7)
    read = walk(part, all_one(part.start(memory), -3), target)
    expected, value = 0.0, 0.0
    for row, steps in enumerate((3, 2)):
        words = [read.words_nT[row, t].item() for t in range(steps)]
        for t in range(steps):
            first = 0 if credit == "path" else t
            reward = sum(words[first:]) - (-2.5) * (steps - first)
            plain = -read.words_nT[row, t] - 0.2 * read.entropy_nT[row, t]
            expected, value = expected + plain - 0.3 * reward * read.places_nT[row, t], value + plain.item()
    assert loss.total.item() == pytest.approx(value)
    weights = list(part.parameters())
    for mine, theirs in zip(torch.autograd.grad(loss.total, weights), torch.autograd.grad(expected, weights), strict=True):
        torch.testing.assert_close(mine, theirs)
    assert loss.parts["bound"] == pytest.approx(read.words_nT.sum().item())
    assert loss.parts["nll"] == pytest.approx(-loss.parts["bound"])
    assert loss.parts["entropy"] == pytest.approx((read.entropy_nT * read.mask_nT).sum().item())
    assert (loss.tokens, loss.sentences) == (5, 2)


def test_smoothed_labels_teach_words_and_not_places() -> None:
    part, memory, target = setting()
    torch.manual_seed(7)
    read = walk(part, all_one(part.start(memory), -3), target, smoothing=0.1)
    state, labels_BT = all_one(part.start(memory), -3), target.values[:, 1:]
    torch.manual_seed(7)
    for t in range(labels_BT.shape[1]):
        step = part.step(target.values[:, t], state)
        state = step.state
        wanted_B = -torch.nn.functional.cross_entropy(step.logits_BV, labels_BT[:, t], label_smoothing=0.1, reduction="none")
        torch.testing.assert_close(read.learnt_nT[:, t], wanted_B * read.mask_nT[:, t])
    losses = {}
    for smoothing in (0.0, 0.1):
        torch.manual_seed(7)
        losses[smoothing] = LowerBound(samples=1, baseline="none", label_smoothing=smoothing).double().train()(part, memory, target)
    assert losses[0.1].total.item() == pytest.approx(-read.learnt_nT.sum().item())
    assert losses[0.1].parts["bound"] == losses[0.0].parts["bound"] == pytest.approx(read.words_nT.sum().item())
    difference = losses[0.1].total - losses[0.0].total  # places are credited with the same: nothing of the reward is left
    wanted = read.words_nT.sum() - read.learnt_nT.sum()
    weights = list(part.parameters())
    for mine, theirs in zip(torch.autograd.grad(difference, weights, allow_unused=True), torch.autograd.grad(wanted, weights, allow_unused=True), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_the_moving_baseline_moves_after_its_use_and_is_saved() -> None:
    part, memory, target = setting()
    objective = LowerBound(samples=2, baseline="moving", decay=0.8).train()
    seen = [objective(part, memory, target).parts["bound"] / 5 for _ in range(3)]
    assert float(objective.moving) == pytest.approx(0.8 * (0.8 * seen[0] + 0.2 * seen[1]) + 0.2 * seen[2], rel=1e-5)
    objective._move(math.nan)
    assert int(objective.batches) == 3
    again = LowerBound(samples=2, baseline="moving", decay=0.8)
    put(again, from_bytes(to_bytes(weights_of(objective)), "x"), "x")  # type: ignore[arg-type]
    assert torch.equal(again.moving, objective.moving)
    assert int(again.batches) == 3


def test_a_learned_baseline_learns_alone() -> None:
    part, memory, target = setting()
    objective = LowerBound(samples=8, baseline="learned").train()
    with pytest.raises(UserError, match="wire"):
        objective(part, memory, target)
    objective.wire(samples.WIDTH)
    objective.double()
    critic = list(objective.parameters())
    learner = torch.optim.Adam(critic, lr=0.1)
    for _ in range(80):
        learner.zero_grad()
        objective(part, memory, target).total.backward(inputs=critic)
        learner.step()
    assert objective.critic is not None
    exact_B = exact(part, memory, target).bound_B / torch.tensor([3, 2])
    torch.testing.assert_close(objective.critic(memory.summary_BD)[:, 0], exact_B, atol=0.1, rtol=0.1)


def test_several_paths_give_a_nearer_likelihood() -> None:
    part, memory, target = setting()
    with torch.no_grad():
        loss = LowerBound(samples=500).train()(part, memory, target)
        found = exact(part, memory, target)
    assert loss.parts["bound"] == pytest.approx(float(found.bound_B.sum()), abs=0.1)
    assert -loss.parts["nll"] == pytest.approx(float(found.log_marginal_B.sum()), abs=0.1)


def test_what_it_refuses() -> None:
    _, memory, target = setting()
    with pytest.raises(UserError, match="kind = \"hard\""):
        LowerBound().train()(other_decoder("rnn", {}, "additive").double(), memory, target)
    with pytest.raises(UserError, match="sampler = \"categorical\""):
        LowerBound().train()(decoder(attention={"sampler": "gumbel"}), memory, target)


@pytest.mark.parametrize("baseline", ["none", "moving", "self-critical", "leave-one-out"])
def test_gradients_reach_every_weight(baseline: Any) -> None:
    for given in ({"layers": 1}, {"name": "transformer"}):
        part, memory, target = setting(**given)
        LowerBound(baseline=baseline).train()(part, memory, target).total.backward()
        unreached = [key for key, weight in part.named_parameters() if weight.grad is None or not weight.grad.any()]
        assert [key for key in unreached if not key.endswith("key.bias")] == []


def test_soft_attention_is_a_path() -> None:
    part, memory, target = setting(attention={"at_test": "expected"})
    soft = walk(part, all_one(part.start(memory), EXPECTED), target).words_nT
    logits = part.eval()(memory, target.values[:, :-1])
    expected = F.cross_entropy(logits.flatten(0, 1), target.values[:, 1:].flatten(), ignore_index=PAD, reduction="sum")
    torch.testing.assert_close(-soft.sum(), expected)
