"""Beam search against enumeration of every output, against greedy, and against its formulas."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from tests.search.models import WORDS, Attending, Named, Table, every_output, sources
from xattend.errors import UserError
from xattend.search import Beam, Greedy
from xattend.types import EOS, Memory, State, Step

VOCABULARY, LIMIT = 6, 3  # 3 words (UNK is one) -> 1 + 3 + 9 + 27 outputs


def norm(length: int, penalty: str, alpha: float) -> float:
    return {"average": length**alpha, "gnmt": ((5 + length) / 6) ** alpha, "none": 1.0}[penalty]


@pytest.mark.parametrize("stop", ["size", "bound"])
@pytest.mark.parametrize(
    ("penalty", "alpha"), [("average", 0.0), ("average", 1.0), ("average", 0.6), ("gnmt", 0.6), ("none", 1.0)]
)
def test_a_beam_wide_enough_is_exhaustive(penalty: str, alpha: float, stop: str) -> None:
    for seed in range(4):
        table = Table(VOCABULARY, seed)
        scored = [(table.logprob(y) / norm(len(y) + 1, penalty, alpha), y) for y in every_output(VOCABULARY, LIMIT)]
        best = sorted(scored, reverse=True)[:10]
        beam = Beam(size=110, nbest=10, penalty=penalty, length_penalty=alpha, stop=stop, max_length=LIMIT)
        found = beam.search(table, sources([9, 2]))
        for group in found:
            assert [h.tokens for h in group] == [tokens for _, tokens in best]
            assert [h.score for h in group] == pytest.approx([score for score, _ in best], abs=1e-4)


def test_coverage_penalty_by_hand() -> None:
    # the table looks at source position t at step t: n tokens and EOS cover n + 1 of the 4 positions
    table, beta = Table(VOCABULARY, 1), 0.2
    scored = []
    for y in every_output(VOCABULARY, LIMIT):
        missed = max(4 - (len(y) + 1), 0)
        scored.append((table.logprob(y) / (len(y) + 1) + beta * missed * math.log(1e-6), y))
    best = sorted(scored, reverse=True)[:5]
    found = Beam(size=110, nbest=5, coverage_penalty=beta, max_length=LIMIT).search(table, sources([4, 9]))[0]
    assert [h.tokens for h in found] == [tokens for _, tokens in best]
    assert [h.score for h in found] == pytest.approx([score for score, _ in best], abs=1e-3)
    plain = Beam(size=110, nbest=5, max_length=LIMIT).search(table, sources([4, 9]))[0]
    assert [h.tokens for h in plain] != [h.tokens for h in found]


def test_coverage_is_that_of_the_weights_returned() -> None:
    beam = Beam(size=6, nbest=6, coverage_penalty=0.4, penalty="gnmt", length_penalty=0.6, max_length=8)
    for group in beam.search(Attending(12, seed=4), sources([5, 2, 8, 3]), attention=True):
        for hypothesis in group:
            assert hypothesis.weights_THS is not None
            covered = torch.from_numpy(hypothesis.weights_THS).mean(dim=1).sum(dim=0).clamp(1e-6, 1.0)
            length = len(hypothesis.tokens) + hypothesis.finished
            expected = hypothesis.logprob / norm(length, "gnmt", 0.6) + 0.4 * covered.log().sum().item()
            assert hypothesis.score == pytest.approx(expected, abs=1e-3)


def test_coverage_needs_weights_over_the_source() -> None:
    with pytest.raises(UserError, match="coverage_penalty"):
        Beam(coverage_penalty=1.0).search(Named({}, 6), sources([3]))


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_size_1_is_greedy(length_penalty: float) -> None:
    memory = sources([1 + row % 9 for row in range(40)])
    for seed in range(3):
        decoder = Attending(12, seed=seed)
        ones = Beam(size=1, length_penalty=length_penalty).search(decoder, memory)
        for (one,), (other,) in zip(ones, Greedy().search(decoder, memory)):
            assert one.tokens == other.tokens
            assert one.finished == other.finished
            assert one.logprob == pytest.approx(other.logprob, abs=1e-3)


@pytest.mark.parametrize("stop", ["size", "bound"])
def test_the_best_does_not_depend_on_nbest(stop: str) -> None:
    decoder, memory = Attending(12, seed=2), sources([1 + row % 9 for row in range(20)])
    for one, ten in zip(
        Beam(size=10, nbest=1, stop=stop, max_length=12).search(decoder, memory),
        Beam(size=10, nbest=10, stop=stop, max_length=12).search(decoder, memory),
    ):
        assert one[0].tokens == ten[0].tokens
        assert one[0].score == pytest.approx(ten[0].score, abs=1e-5)
        scores = [h.score for h in ten]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(h.tokens) for h in ten}) == len(ten)


def one_sentence(decoder: Table, size: int, limit: int, alpha: float) -> tuple[list[int], float]:
    """Beam search as a textbook has it: Python lists, one sentence, stop at `size` finished if none alive is ahead."""
    alive, done = [([], 0.0)], []
    for _ in range(limit + 1):
        extended = []
        for tokens, logprob in alive:
            before, last = ([2, 2, *tokens])[-2:]
            for token, own in enumerate(torch.log_softmax(decoder.logits_VVV[before, last], dim=0).tolist()):
                if token == 1 or token >= EOS:
                    extended.append((tokens, token, logprob + own))
        extended.sort(key=lambda e: -e[2])
        done += [(t, s / (len(t) + 1) ** alpha) for t, token, s in extended[:size] if token == EOS]
        alive = [([*t, token], s) for t, token, s in extended if token != EOS][:size]
        if len(done) >= size and alive[0][1] / len(alive[0][0]) ** alpha <= max(score for _, score in done):
            break
    return max(done, key=lambda d: d[1])


@pytest.mark.parametrize(("size", "alpha"), list(itertools.product([1, 2, 4], [0.0, 1.0])))
def test_equals_a_textbook_beam(size: int, alpha: float) -> None:
    for seed in range(6):
        table = Table(8, seed, sharpness=1.0)
        table.logits_VVV[..., EOS] += 1.0
        tokens, score = one_sentence(table, size, 15, alpha)
        found = Beam(size=size, length_penalty=alpha, max_length=15).search(table, sources([3]))[0][0]
        assert (found.tokens, found.score) == (tokens, pytest.approx(score, abs=1e-4))


def test_outputs_that_break_off_do_not_end_the_search() -> None:
    """As under label smoothing over few words: an end has a chance at every step, and two such ends fill a beam of two early."""
    right = [4, 5, 4, 5, 4]
    chances = {tuple(right[:n]): {right[n]: 0.9, EOS: 0.05} for n in range(5)} | {tuple(right): {EOS: 0.9}}
    for penalty in ("average", "gnmt", "none"):
        found = Beam(size=2, nbest=2, penalty=penalty, max_length=10).search(Named(chances, 6), sources([3]))[0]
        assert found[0].tokens == right
        assert all(h.finished for h in found)


def test_bound_goes_on_where_size_stops() -> None:
    # size 1: after "4" the end is likeliest (0.6), but 5 5 5 5 with its sure end has the better mean
    chances = {(): {4: 0.9}, (4,): {EOS: 0.5, 5: 0.45}}
    chances |= {(4, *[5] * n): {5: 0.999} for n in range(1, 5)} | {(4, *[5] * 5): {EOS: 0.999}}
    decoder, memory = Named(chances, 6), sources([3])
    assert Beam(size=1, max_length=6).search(decoder, memory)[0][0].tokens == [4]
    assert Beam(size=1, max_length=6, stop="bound").search(decoder, memory)[0][0].tokens == [4, 5, 5, 5, 5, 5]


def test_nbest_beyond_the_size() -> None:
    with pytest.raises(UserError, match="set size to at least 6"):
        Beam(size=5, nbest=6)


def test_first_step_makes_different_beams() -> None:
    seen = []

    class Watched(Table):
        def step(self, token_B: torch.Tensor, state: State) -> Step:
            seen.append(token_B.tolist())
            return super().step(token_B, state)

    Beam(size=3, max_length=4).search(Watched(10, 0), Memory.empty(1, torch.zeros(0)))
    assert len(set(seen[1])) == 3
    assert all(token >= WORDS or token == 1 for token in seen[1])
