"""Exact search against enumeration, and the lecture's example where greedy search goes wrong."""

from __future__ import annotations

import pytest

from tests.search.models import Named, Table, every_output, sources
from xattend.search import Beam, Exact, ExactHypothesis, Greedy
from xattend.types import EOS

HE, NOSE, KNOWS, SOMETHING, DON, GO = range(4, 10)
# "nose" is a little likelier than "knows", but nothing follows it well; "he knows something" is the likeliest output
SPEECH = Named(
    {
        (): {HE: 0.9},
        (HE,): {NOSE: 0.5, KNOWS: 0.4},
        (HE, NOSE): {SOMETHING: 0.2, DON: 0.2, GO: 0.2, EOS: 0.1},
        (HE, KNOWS): {SOMETHING: 0.9},
        (HE, KNOWS, SOMETHING): {EOS: 0.95},
        (HE, NOSE, SOMETHING): {EOS: 0.9},
    },
    vocabulary=10,
)


def test_he_knows_something() -> None:
    memory = sources([3])
    greedy = Greedy().search(SPEECH, memory)[0][0]
    assert greedy.tokens[:2] == [HE, NOSE]
    best = Exact().search(SPEECH, memory)[0][0]
    assert isinstance(best, ExactHypothesis)
    assert (best.tokens, best.finished, best.complete) == ([HE, KNOWS, SOMETHING], True, True)
    assert 2.718281828**best.logprob == pytest.approx(0.9 * 0.4 * 0.9 * 0.95, rel=1e-4)
    assert best.logprob > greedy.logprob
    assert Beam(size=2).search(SPEECH, memory)[0][0].tokens == best.tokens


@pytest.mark.parametrize("nbest", [1, 4])
def test_equals_enumeration(nbest: int) -> None:
    for seed in range(8):
        table = Table(6, seed)
        ranked = sorted(((table.logprob(y), y) for y in every_output(6, 4)), reverse=True)[:nbest]
        found = Exact(budget=500, nbest=nbest, max_length=4).search(table, sources([2]))[0]
        assert [h.tokens for h in found] == [tokens for _, tokens in ranked]
        assert [h.logprob for h in found] == pytest.approx([logprob for logprob, _ in ranked], abs=1e-4)
        assert all(isinstance(h, ExactHypothesis) and h.complete for h in found)


def test_needs_fewer_steps_than_there_are_outputs() -> None:
    table = Table(6, 0)
    assert len(every_output(6, 4)) == 121
    found = Exact(budget=40, max_length=4).search(table, sources([2]))[0][0]
    assert isinstance(found, ExactHypothesis)
    assert found.complete


def test_a_spent_budget_is_said() -> None:
    memory = sources([3])
    cut = Exact(budget=2).search(SPEECH, memory)[0][0]  # read: nothing, "he"; ends were found, but no proof
    assert isinstance(cut, ExactHypothesis)
    assert (cut.finished, cut.complete) == (True, False)
    assert cut.tokens in ([], [HE])
    endless = Named({(4,) * n: {4: 0.999, EOS: 0.0} for n in range(30)}, 6)
    partial = Exact(budget=5).search(endless, memory)[0][0]
    assert isinstance(partial, ExactHypothesis)
    assert (partial.tokens, partial.finished, partial.complete) == ([4] * 4, False, False)
