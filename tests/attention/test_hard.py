"""Hard attention: where it looks, what it remembers of that, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.contracts import samples
from xattend import registry
from xattend.attention import Attention
from xattend.attention.hard import DRAW, EXPECTED, LIKELIEST, Drawn, Hard, drawn, follow
from xattend.decoders import Decoder
from xattend.errors import UserError
from xattend.types import Memory, Space

WEIGHTS = (0.5, 0.3, 0.2)


class Given(Attention):
    """Weights that are what they are: the logarithms of the memory's first column."""

    def score(self, query_BTQ: torch.Tensor, bound: Any, state: Any) -> torch.Tensor:
        return bound.keys_BSA[:, None, :, 0].log().expand(-1, query_BTQ.shape[1], -1)


def hard(rows: int = 1, **given: Any) -> tuple[Hard, Any]:
    """Over WEIGHTS, the value of place j being j in its second column."""
    part = Hard(4, 2, **given)
    part.content = Given(4, 2)
    states_BSD = torch.tensor([[[weight, float(place)] for place, weight in enumerate(WEIGHTS)]]).repeat(rows, 1, 1)
    return part, part.bind(Memory(states_BSD.requires_grad_(), torch.ones(rows, 3, dtype=torch.bool), torch.zeros(rows, 2)))


def told(state: Drawn, *path: int) -> Drawn:
    return state._replace(path_BT=torch.tensor([path]).expand(len(state.place_B), -1))


@pytest.mark.parametrize("sampler", ["categorical", "gumbel"])
def test_places_are_drawn_as_often_as_their_weights_say(sampler: str) -> None:
    torch.manual_seed(1)
    part, bound = hard(20_000, sampler=sampler, semi_sampling=0.0)
    with torch.no_grad():
        context, weights, state = part.attend(torch.zeros(20_000, 4), bound, part.start(bound))
    for place, weight in enumerate(WEIGHTS):
        share = (state.place_B == place).double().mean().item()
        assert share == pytest.approx(weight, abs=3.5 * math.sqrt(weight * (1 - weight) / 20_000))
    torch.testing.assert_close(context[:, 1], state.place_B.float())
    torch.testing.assert_close(weights[0, 0], torch.tensor(WEIGHTS))


def test_what_is_added_up() -> None:
    part, bound = hard()
    _, _, state = part.attend_all(torch.zeros(1, 4, 4), bound, told(part.start(bound), 2, LIKELIEST, EXPECTED, 1))
    entropy = -sum(weight * math.log(weight) for weight in WEIGHTS)
    assert state.log_prob_B.item() == pytest.approx(math.log(0.2) + math.log(0.5) + math.log(0.3))
    assert state.entropy_B.item() == pytest.approx(4 * entropy)
    assert (state.steps_B.item(), state.place_B.item()) == (4, 1)


def test_a_path_says_where_to_look_and_its_last_word_stays() -> None:
    part, bound = hard()
    context, _, _ = part.attend_all(torch.zeros(1, 5, 4), bound, told(part.start(bound), 2, 1, LIKELIEST, EXPECTED))
    assert context[0, :, 1].tolist() == pytest.approx([2.0, 1.0, 0.0, 0.7, 0.7])


def test_the_expectation_is_soft_attention() -> None:
    memory, query = samples.memory(), torch.randn(4, 3, samples.QUERY)
    part = samples.attention("hard", at_test="expected")
    assert isinstance(part, Hard)
    bound = part.bind(memory)
    mine, weights, _ = part.attend_all(query, bound, part.start(bound))
    soft, soft_weights, _ = part.content.attend_all(query, bound, None)
    torch.testing.assert_close(mine, soft)
    torch.testing.assert_close(weights, soft_weights)


def test_evaluation_draws_only_if_asked() -> None:
    part, bound = hard(200)
    before = torch.random.get_rng_state()
    context, _, state = part.eval().attend(torch.zeros(200, 4), bound, part.start(bound))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert (state.place_B == 0).all()
    assert (context[:, 1] == 0).all()
    part.at_test = "sample"
    _, _, state = part.attend(torch.zeros(200, 4), bound, part.start(bound))
    assert len(state.place_B.unique()) == 3


def test_semi_sampling_takes_the_expectation_now_and_then() -> None:
    torch.manual_seed(1)
    part, bound = hard(4000, sampler="categorical", semi_sampling=0.25)
    context, _, state = part.attend(torch.zeros(4000, 4), bound, part.start(bound))
    soft = state.place_B == EXPECTED
    assert soft.double().mean().item() == pytest.approx(0.25, abs=3 * math.sqrt(0.25 * 0.75 / 4000))
    assert context[soft, 1].tolist() == pytest.approx([0.7] * int(soft.sum()))
    assert (state.log_prob_B[soft] == 0).all()
    assert (state.log_prob_B[~soft] < 0).all()


def test_gumbels_gradient_is_that_of_its_softmax() -> None:
    part, bound = hard(sampler="gumbel", temperature=0.5)
    scores = torch.tensor([[0.1, -0.2, 0.4]], requires_grad=True)
    part.content.score = lambda query, bound, state: scores[:, None]  # type: ignore[method-assign]
    torch.manual_seed(5)
    context, _, _ = part.attend(torch.zeros(1, 4), bound, part.start(bound))
    (mine,) = torch.autograd.grad(context[0, 1], scores)
    torch.manual_seed(5)
    noise = -torch.empty(1, 1, 3).exponential_().log()[0]
    as_if = ((scores.log_softmax(dim=-1) + noise) / 0.5).softmax(dim=-1) @ torch.tensor([0.0, 1.0, 2.0])
    (expected,) = torch.autograd.grad(as_if.sum(), scores)
    torch.testing.assert_close(mine, expected)
    assert context[0, 1].item() == pytest.approx((scores + noise).argmax().item())


@pytest.mark.parametrize("given", [{"sampler": "categorical", "semi_sampling": 0.5}, {"sampler": "gumbel", "temperature": 0.3}])
def test_a_row_without_positions_gives_zeros_in_training_too(given: dict[str, Any]) -> None:
    part, memory = samples.attention("hard", **given).train(), samples.memory((5, 0, 2))
    query = torch.randn(3, samples.QUERY, requires_grad=True)
    bound = part.bind(memory)
    context, _, state = part.attend(query, bound, part.start(bound))
    assert (context[1] == 0).all()
    assert (state.log_prob_B[1], state.entropy_B[1]) == (0, 0)
    assert state.place_B[2] in (0, 1, EXPECTED)
    (context.sum() + state.log_prob_B.sum() + state.entropy_B.sum()).backward()
    assert torch.isfinite(query.grad).all()  # type: ignore[arg-type]


def test_coverage_counts_where_it_looked() -> None:
    part = samples.attention("hard", score="coverage", at_test="argmax")
    bound = part.bind(samples.memory((5,)))
    _, _, state = part.attend_all(torch.randn(1, 3, samples.QUERY), bound, part.start(bound)._replace(path_BT=torch.tensor([[4, 1, 4]])))
    assert state.inner.tolist() == [[0, 1, 0, 0, 2]]


@pytest.mark.parametrize("score", ["multi-head", "none", "every-step", "oracle", "hard"])
def test_what_gives_no_weight_a_position_cannot_be_drawn_from(score: str) -> None:
    with pytest.raises(UserError, match="cannot be drawn from"):
        Hard(8, 6, score=score)


def test_it_is_no_score_itself() -> None:
    with pytest.raises(UserError, match="score of a head"):
        registry.build("attention", "multi-head", 8, 6, score="hard")
    local = registry.build("attention", "local-m", 8, 6, score="hard")
    bound = local.bind(samples.memory((3,)))
    with pytest.raises(UserError, match="outer one"):
        local.attend(torch.zeros(1, 8), bound, local.start(bound))


def test_plain_draws_under_another_objective_are_refused() -> None:
    part, bound = hard(sampler="categorical")
    with pytest.raises(UserError, match="lower-bound"):
        part.attend(torch.zeros(1, 4), bound, part.start(bound))
    part.attend(torch.zeros(1, 4), bound, told(part.start(bound), DRAW))
    with torch.no_grad():
        part.attend(torch.zeros(1, 4), bound, part.start(bound))


def decoder(name: str, given: dict[str, Any]) -> Decoder:
    settings = {**samples.DECODER_SETTINGS.get(name, {}), "size": samples.QUERY, **given}
    part = registry.build(
        "decoder", name, Space(vocabulary=samples.VOCABULARY), samples.WIDTH, lambda query: samples.attention("hard", query, at_test="argmax"), **settings
    )
    assert isinstance(part, Decoder)
    return part.eval()


@pytest.mark.parametrize(("name", "given"), [("rnn", {"attend": "before"}), ("rnn", {"attend": "between"}), ("rnn", {"attend": "after"}),
                                             ("rnn", {"attend": "after", "input_feeding": True}), ("transformer", {})])  # fmt: skip
def test_every_decoder_looks_at_the_likeliest_place(name: str, given: dict[str, Any]) -> None:
    part, memory, tokens = decoder(name, given), samples.memory(), samples.target(4)
    logits_BTV, state = part(memory, tokens), part.start(memory)
    for t in range(4):
        step = part.step(tokens[:, t], state)
        state = step.state
        torch.testing.assert_close(step.logits_BV, logits_BTV[:, t], atol=1e-5, rtol=1e-5)
        looked_BH = torch.stack([one.place_B for one in drawn(state.moving)], dim=1)
        assert torch.equal(looked_BH, step.looked().argmax(dim=-1))
    moved = drawn(state.beams(2).reorder(torch.tensor([1, 0, 3, 2, 5, 4, 7, 6])).moving)
    assert all(one.place_B.shape == (8,) for one in moved)
    path = torch.tensor([[0, 0]]).expand(4, -1)
    followed = part.step(tokens[:, 0], follow(part.start(memory), path)).state
    assert all((one.place_B == 0).all() for one in drawn(followed.moving))
