"""RAM: its estimator against exact gradients, what no gradient may pass through, and that it learns where to look."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.systems import pictures
from xattend.errors import UserError
from xattend.search.beam import Beam
from xattend.search.greedy import Greedy
from xattend.systems import ram_fused
from xattend.systems.ram import RAM, log_density, reinforce
from xattend.types import Batch, Padded

SMALL: dict[str, Any] = {"kind": "ram", "glimpse": {"size": 4}, "looks": 3, "size": 32, "inner": 32}


def ram(**given: Any) -> RAM:
    model = pictures.system(system={**SMALL, **given})
    assert isinstance(model, RAM)
    return model


@pytest.mark.parametrize("baseline", [0.0, 0.6])
def test_reinforce_is_the_exact_gradient_of_a_choice_between_two_places(baseline: float) -> None:
    """Two looks at one of two places each; the reward depends on both. All four paths are summed."""
    torch.manual_seed(1)
    reward = torch.tensor([[1.0, 0.0], [0.3, 0.8]])
    weights = torch.tensor([[0.4, -0.3], [0.2, 0.5]], requires_grad=True)  # a row a look
    chance = weights.softmax(dim=1)
    (chance[0][:, None] * chance[1][None, :] * reward).sum().backward()
    exact, weights.grad = weights.grad.clone(), None  # type: ignore[union-attr]
    copies = 40_000
    places = torch.stack([torch.multinomial(row, copies, replacement=True) for row in chance.detach()])
    log_pi = weights.log_softmax(dim=1).gather(1, places)
    (reinforce(log_pi, reward[places[0], places[1]], torch.full((2, copies), baseline)).sum() / copies).backward()
    torch.testing.assert_close(-weights.grad, exact, atol=0.006, rtol=0)  # type: ignore[operator]


def test_reinforce_is_the_exact_gradient_of_a_gaussian_place() -> None:
    """Reward 1 right of the middle: P = Phi(mu / std), dP/dmu = phi(mu / std) / std."""
    torch.manual_seed(2)
    std, mean = 0.3, torch.tensor([0.1, 0.0], requires_grad=True)
    drawn = mean.detach() + std * torch.randn(100_000, 2)
    log_pi = log_density(drawn, mean.expand(len(drawn), 2), std)
    (reinforce(log_pi[None], (drawn[:, 0] > 0).float(), torch.full((1, len(drawn)), 0.5)).sum() / len(drawn)).backward()
    wanted = math.exp(-((0.1 / std) ** 2) / 2) / math.sqrt(2 * math.pi) / std
    assert mean.grad is not None
    assert (-mean.grad).tolist() == pytest.approx([wanted, 0.0], abs=0.02)


def gradients(model: RAM, rows: Batch) -> dict[str, torch.Tensor]:
    torch.manual_seed(7)
    model.zero_grad()
    model.train().loss(rows).total.backward()  # type: ignore[no-untyped-call]
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def test_rewards_teach_where_to_look_and_nothing_else() -> None:
    rows, model = pictures.batch(16, 1), ram()
    with_rewards = gradients(model, rows)
    model.reward_weight = 0.0
    without = gradients(model, rows)
    for name, gradient in without.items():
        if name.startswith("locator"):
            assert not bool(gradient.any()), "no gradient of the cross entropy passes through a place"
            assert bool(with_rewards[name].any())
        else:
            torch.testing.assert_close(gradient, with_rewards[name])


@pytest.mark.parametrize(
    "given", [{}, {"cell": "lstm"}, {"cell": "gru", "samples": 2}, {"glimpse": {"size": 3, "scales": 3}, "looks": 2}], ids=str
)
def test_the_fused_walk_is_the_plain_walk(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value and every gradient, from the same draws."""
    rows, model = pictures.batch(5, 1), ram(std=0.4, reward="likelihood", **given).train()
    torch.manual_seed(4)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    source, walks, grads = rows.source, [], []
    assert source is not None
    for allowed in (True, False):
        if not allowed:
            monkeypatch.setattr(ram_fused, "gates_of", lambda _: None)
            monkeypatch.setattr(ram_fused, "run", None)
        torch.manual_seed(7)
        walks.append(model.walk(source.values[:, 0], model.samples))
        grads.append(gradients(model, rows))
    torch.testing.assert_close(tuple(walks[0]), tuple(walks[1]), atol=1e-4, rtol=1e-4)
    assert set(grads[0]) == set(grads[1]) == {name for name, _ in model.named_parameters()}
    for name, gradient in grads[0].items():
        assert bool(gradient.any()), name
        largest = float(grads[1][name].abs().max())
        torch.testing.assert_close(gradient, grads[1][name], atol=1e-5 * largest, rtol=1e-4, msg=lambda told, name=name: f"{name}: {told}")


def test_training_walks_in_one_function_and_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the plain walk")

    rows = pictures.batch(4, 1)
    monkeypatch.setattr(RAM, "one_by_one", refuse)
    for cell in ("relu-rnn", "lstm"):
        ram(cell=cell).train().loss(rows)
    for given in ({"policy": "random"}, {"looks": 1}):
        with pytest.raises(AssertionError, match="the plain walk"):
            ram(**given).train().loss(rows)
    with pytest.raises(AssertionError, match="the plain walk"):
        ram().eval().score(rows)


def test_copies_are_looked_at_side_by_side() -> None:
    """The loss of M copies is the mean of M walks, and each copy looks elsewhere."""
    rows, model = pictures.batch(4, 1), ram(samples=3).train()
    torch.manual_seed(7)
    loss = model.loss(rows)
    assert rows.source is not None
    repeated = Padded(rows.source.values.repeat_interleave(3, dim=0), torch.ones(12, 1).bool())
    assert rows.target is not None
    targets = Padded(rows.target.values.repeat_interleave(3, dim=0), torch.ones(12, 3).bool())
    alone = ram().train()
    torch.manual_seed(7)
    same = alone.loss(Batch(repeated, targets, tuple(range(12))))
    assert float(loss.total.detach()) == pytest.approx(float(same.total.detach()) / 3, rel=1e-5)
    assert loss.sentences == 4
    looked = model.walk(rows.source.values[:, 0], 3)
    assert len({tuple(place) for place in looked.where_TN2[0].tolist()}) == 12


def test_a_place_is_scored_as_it_was_drawn_and_looked_at_inside() -> None:
    model = ram(std=3.0).train()
    torch.manual_seed(1)
    source = pictures.batch(32, 1).source
    assert source is not None
    looked = model.walk(source.values[:, 0], 1)
    assert float(looked.drawn_nN2.abs().max()) > 1
    assert float(looked.where_TN2.abs().max()) <= 1
    assert not looked.where_TN2.requires_grad


@pytest.mark.parametrize("given", [{}, {"policy": "random"}, {"at_test": "sample"}, {"cell": "lstm"}], ids=str)
def test_an_answer_does_not_depend_on_the_batch(given: dict[str, Any]) -> None:
    model, rows = ram(**given).eval(), pictures.batch(6, 2)
    together = model.predict(rows, Greedy(), attention=True)
    alone = model.predict(rows.part(slice(4, 5)), Greedy(), attention=True)[0]
    assert alone.logprob == pytest.approx(together[4].logprob, abs=1e-5)
    assert alone.trace is not None
    assert together[4].trace is not None
    torch.testing.assert_close(torch.tensor(alone.trace.boxes_TK4), torch.tensor(together[4].trace.boxes_TK4))


def test_policies() -> None:
    source = pictures.batch(8, 1).source
    assert source is not None
    centre = ram(policy="centre").train().walk(source.values[:, 0], 1)
    assert not bool(centre.where_TN2.any())
    random = ram(policy="random")
    assert random.locator is None
    assert len({tuple(place) for place in random.train().walk(source.values[:, 0], 1).where_TN2.flatten(0, 1).tolist()}) == 24


def test_the_lectures_reward_is_the_log_likelihood() -> None:
    """With a baseline of 0 the location network's gradient is proportional to the reward's mean sign: all log-likelihoods are below 0."""
    rows, model = pictures.batch(16, 1), ram(reward="likelihood")
    assert model.baseline is not None
    torch.nn.init.zeros_(model.baseline.weight)
    torch.nn.init.zeros_(model.baseline.bias)
    torch.manual_seed(7)
    parts = model.train().loss(rows).parts
    assert parts["surprise"] > parts["nll"] ** 2 / 16 - 1e-3  # the mean of squares is no less than the square of the mean


def test_it_learns_to_look_where_the_pattern_is() -> None:
    learned, random = ram(std=0.15, samples=4), ram(policy="random")
    pictures.learn(learned, 120, lr=0.01, rows=32)
    pictures.learn(random, 120, lr=0.01, rows=32)
    assert pictures.right(learned) > 0.93
    assert pictures.right(random) < 0.6
    trace = learned.predict(pictures.batch(50, 3), Greedy(), attention=True)[0].trace
    assert trace is not None
    assert trace.kind == "glimpse"
    assert trace.boxes_TK4 is not None
    left, top, right, bottom = trace.boxes_TK4[1, 0].tolist()  # its first choice
    assert abs((left + right) / 2 - 0.25) < 0.1
    assert abs((top + bottom) / 2 - 0.25) < 0.1


def test_an_n_best_list_of_labels() -> None:
    found = ram().eval().predict(pictures.batch(1, 1), Beam(size=4, nbest=4, length_penalty=0.0))[0]
    assert sorted(text for text, _ in found.nbest) == ["0", "1", "2", "3"]
    assert sum(math.exp(score) for _, score in found.nbest) == pytest.approx(1.0, abs=1e-4)


def test_mistakes_are_told() -> None:
    with pytest.raises(UserError, match="learnt by the gradient"):
        ram(glimpse="gaussian")
    rows = pictures.batch(2, 1)
    long = Padded(torch.full((2, 4), 5), torch.ones(2, 4).bool())
    with pytest.raises(UserError, match="one label"):
        ram().loss(Batch(rows.source, long, rows.rows))
