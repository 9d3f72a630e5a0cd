"""An ensemble is searched like one model: its chances are the members' means."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.search.models import Attending, Named, sources
from tests.search.test_contract import SPECIAL
from tests.systems import small
from xattend import registry
from xattend.errors import UserError
from xattend.search import Beam, Constrained, Ensemble, Greedy
from xattend.search.ensemble import Together
from xattend.types import EOS, Memory


@pytest.mark.parametrize("kind", [kind for kind in registry.names("search") if kind not in SPECIAL])
def test_an_ensemble_of_one_is_the_model(kind: str) -> None:
    decoder, memory = Attending(12), sources([3, 5, 2])
    ensemble, search = Ensemble([decoder]), registry.build("search", kind, max_length=6)
    for (one, *_), (other, *_) in zip(
        search.search(ensemble, ensemble.pack([memory]), attention=True), search.search(decoder, memory, attention=True)
    ):
        assert one.tokens == other.tokens
        assert one.logprob == pytest.approx(other.logprob, abs=1e-4)
        np.testing.assert_allclose(one.weights_THS, other.weights_THS.mean(axis=1, keepdims=True), atol=1e-5)


def test_two_by_hand() -> None:
    # means: after nothing 5 has (0.2 + 0.7) / 2 = 0.45, 4 has 0.4; in logs sqrt(.6 x .2) = .346 < sqrt(.2 x .7) = .374
    first, second = Named({(): {4: 0.6, 5: 0.2}, (5,): {EOS: 0.8}}, 6), Named({(): {4: 0.2, 5: 0.7}, (5,): {EOS: 0.6}}, 6)
    memory = sources([2])
    both = Ensemble([first, second])
    best = Greedy().search(both, both.pack([memory, memory]))[0][0]
    assert best.tokens == [5]
    assert np.exp(best.token_logprobs) == pytest.approx([0.45, 0.7], abs=1e-5)
    logs = Ensemble([first, second], combine="log-probabilities")
    step = logs.step(torch.tensor([2]), logs.start(logs.pack([memory, memory])))
    chance = torch.softmax(step.logits_BV[0], dim=0)
    geometric = np.sqrt([0.6 * 0.2, 0.2 * 0.7] + [0.05 * 0.025] * 4)
    assert chance[4].item() == pytest.approx(geometric[0] / geometric.sum(), abs=1e-5)
    assert chance[5].item() == pytest.approx(geometric[1] / geometric.sum(), abs=1e-5)


def test_members_read_their_own_memories_in_any_batch() -> None:
    one, two = Attending(12, seed=1), Attending(12, seed=2)
    a, b = sources([3, 6, 2, 5]), sources([3, 6, 2, 5], seed=50)
    ensemble = Ensemble([one, two])
    together = Beam(nbest=3, max_length=8).search(ensemble, ensemble.pack([a, b]), attention=True)
    for row in range(4):
        pick = torch.tensor([row])
        single = Beam(nbest=3, max_length=8).search(ensemble, ensemble.pack([a.take(pick), b.take(pick)]), attention=True)
        assert [h.tokens for h in single[0]] == [h.tokens for h in together[row]]
    swapped = Beam(nbest=3, max_length=8).search(ensemble, ensemble.pack([b, a]))
    assert [g[0].tokens for g in swapped] != [g[0].tokens for g in together]


def test_weights_of_members_with_another_source_axis_are_left_out() -> None:
    one, two = Attending(12, seed=1), Attending(12, seed=2)
    a, b = sources([4]), sources([7])
    ensemble = Ensemble([one, two])
    state = ensemble.start(ensemble.pack([a, b]))
    weights = ensemble.step(torch.tensor([2]), state).weights_BHS
    own = one.step(torch.tensor([2]), one.start(a)).weights_BHS
    torch.testing.assert_close(weights, own.mean(dim=1, keepdim=True))
    same = ensemble.step(torch.tensor([2]), ensemble.start(ensemble.pack([a, a]))).weights_BHS
    other = two.step(torch.tensor([2]), two.start(a)).weights_BHS
    torch.testing.assert_close(same, (own.mean(dim=1, keepdim=True) + other.mean(dim=1, keepdim=True)) / 2)


def test_a_members_grid_reaches_it() -> None:
    seen = []

    class Looking(Attending):
        def start(self, memory: Memory):  # type: ignore[no-untyped-def]
            seen.append(memory.grid)
            return super().start(memory)

    a = sources([6, 6])
    picture = Memory(a.states_BSD, a.mask_BS, a.summary_BD, (2, 3))
    ensemble = Ensemble([Looking(12), Looking(12)])
    Greedy(max_length=2).search(ensemble, ensemble.pack([a, picture]))
    assert seen == [(6,), (2, 3)]


def test_systems_hand_their_decoders_over() -> None:
    one, two, three = (Attending(12, seed=seed) for seed in (1, 2, 3))
    a, b, c = (sources([3, 6, 2], seed=seed) for seed in (5, 50, 90))
    ensemble = Ensemble([one, two, three])
    wanted = Beam(nbest=3, max_length=8).search(ensemble, ensemble.pack([a, b, c]), attention=True)
    given = []

    def predicts(decoder: Attending, memory: Memory):  # type: ignore[no-untyped-def]
        return lambda search: given.append(search.search(decoder, memory, attention=True))

    joint = Together(Beam(nbest=3, max_length=8), [predicts(two, b), predicts(three, c)])
    found = joint.search(one, a, attention=True)
    assert given == [found, found]  # every system gets the same
    assert joint.found is found
    assert [[h.tokens for h in group] for group in found] == [[h.tokens for h in group] for group in wanted]
    alone = Together(Greedy()).search(one, a, attention=True)  # without others nothing is averaged, heads are kept
    assert alone[0][0].weights_THS.shape[1] == 2
    assert alone[0][0].tokens == Greedy().search(one, a)[0][0].tokens


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
def test_members_that_share_or_cache_their_source(kind: str) -> None:
    """Real decoders keep one row of source a sentence, or a cache that beams never move: two equal members are one model."""
    part = {"kind": kind, "size": 16} | ({"inner": 16, "heads": 2, "layers": 1} if kind == "transformer" else {"embedding": 8})
    system = small.system(decoder=part).eval()
    batch = small.batch(6, torch.Generator().manual_seed(1))
    for search in (Beam(size=3, max_length=6), Greedy(max_length=6), Constrained(size=3, max_length=9).requiring([[(4, 5)]] * 6)):
        single = system.predict(batch, search)
        double = system.predict(batch, Together(search, [lambda joint: system.predict(batch, joint)]))
        assert [one.tokens for one in double] == [one.tokens for one in single]
        assert [one.logprob for one in double] == pytest.approx([one.logprob for one in single], abs=1e-4)


def test_what_does_not_fit_is_said() -> None:
    memory = sources([2])
    with pytest.raises(UserError, match="at least one"):
        Ensemble([])
    pair = Ensemble([Attending(12), Attending(13)])
    with pytest.raises(UserError, match="1 memories for an ensemble of 2"):
        pair.pack([memory])
    with pytest.raises(UserError, match=r"\[12, 13\]"):
        Greedy().search(pair, pair.pack([memory, memory]))
    with pytest.raises(UserError, match="numbers of rows"):
        pair.pack([memory, sources([2, 2])])
