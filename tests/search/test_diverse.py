"""Diverse beam search: what it equals at its ends, by hand, and against a textbook version."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from tests.search.models import Attending, Named, Table, sources
from xattend.errors import UserError
from xattend.search import Beam, DiverseBeam
from xattend.types import BOS, EOS, UNK, Hypothesis


def outputs(found: list[list[Hypothesis]]) -> list[list[tuple[list[int], float]]]:
    return [[(h.tokens, pytest.approx(h.score, abs=1e-4)) for h in group] for group in found]  # type: ignore[misc]


@pytest.mark.parametrize(("groups", "diversity", "size"), [(1, 0.7, 6), (3, 0.0, 2)])
def test_what_it_equals(groups: int, diversity: float, size: int) -> None:
    """One group is beam search; no diversity makes all groups the same beam search of size / groups."""
    decoder, memory = Attending(12, seed=2), sources([1 + row % 9 for row in range(20)])
    for penalty in ("average", "none"):
        same = DiverseBeam(size=6, nbest=6, groups=groups, diversity=diversity, penalty=penalty, max_length=12)
        plain = Beam(size=size, nbest=size, penalty=penalty, max_length=12)
        assert outputs(same.search(decoder, memory)) == outputs(plain.search(decoder, memory))


@pytest.mark.parametrize(("diversity", "second"), [(0.40, [4]), (0.41, [5])])
def test_the_cost_of_a_taken_word_by_hand(diversity: float, second: list[int]) -> None:
    # log .6 - log .4 = .405: from there on the second group prefers the word that the first did not take
    decoder = Named({(): {4: 0.6, 5: 0.4}, (4,): {EOS: 1.0}, (5,): {EOS: 1.0}}, 6)
    found = DiverseBeam(size=2, groups=2, nbest=2, diversity=diversity).search(decoder, sources([3]))[0]
    assert [h.tokens for h in found] == ([[4]] if second == [4] else [[4], [5]])  # the same output is listed once
    assert found[-1].logprob == pytest.approx(math.log(0.6 if second == [4] else 0.4), abs=1e-5)  # the cost is no part of it


def textbook(decoder: Table, size: int, groups: int, diversity: float, limit: int) -> list[list[int]]:
    """One sentence in Python lists, ranked by mean log-probability."""
    each = size // groups
    alive = [[([], 0.0, 0.0)] for _ in range(groups)]
    done: list[list[tuple[float, list[int]]]] = [[] for _ in range(groups)]
    for _ in range(limit + 1):
        taken: list[int] = []
        for group in range(groups):
            ahead = max((s / len(t) for t, s, _ in alive[group] if t), default=-torch.inf)
            if len(done[group]) >= each and ahead <= max(score for score, _ in done[group]):
                continue
            extended = []
            for tokens, logprob, ranked in alive[group]:
                before, last = ([BOS, BOS, *tokens])[-2:]
                for token, own in enumerate(torch.log_softmax(decoder.logits_VVV[before, last], dim=0).tolist()):
                    if token in (UNK, EOS) or token > EOS:
                        cost = diversity * taken.count(token)
                        extended.append((tokens, token, logprob + own, ranked + own - cost))
            extended.sort(key=lambda e: -e[3])
            done[group] += [(s / (len(t) + 1), t) for t, token, s, _ in extended[:each] if token == EOS]
            alive[group] = [([*t, token], s, r) for t, token, s, r in extended if token != EOS][:each]
            taken += [tokens[-1] for tokens, _, _ in alive[group]]
    best = [sorted(group, key=lambda e: -e[0])[:each] for group in done]
    once = {tuple(tokens): score for group in reversed(best) for score, tokens in group}
    return [list(tokens) for tokens, _ in sorted(once.items(), key=lambda item: -item[1])]


@pytest.mark.parametrize(("shape", "diversity"), list(itertools.product([(4, 2), (3, 3), (6, 3), (8, 2)], [0.3, 1.0])))
def test_equals_a_textbook_version(shape: tuple[int, int], diversity: float) -> None:
    size, groups = shape
    for seed in range(6):
        table = Table(5 if size == 8 else 9, seed, sharpness=1.0)  # of two words 4 beams cannot all be alive at first
        table.logits_VVV[..., EOS] += 1.0
        wanted = textbook(table, size, groups, diversity, 15)
        found = DiverseBeam(size=size, groups=groups, nbest=size, diversity=diversity, max_length=15).search(table, sources([3, 2]))
        assert [[h.tokens for h in group] for group in found] == [wanted, wanted]


def test_lists_differ_more() -> None:
    decoder, memory = Attending(12, seed=4), sources([1 + row % 9 for row in range(20)])

    def first_words(found: list[list[Hypothesis]]) -> float:
        return sum(len({tuple(h.tokens[:2]) for h in group}) / len(group) for group in found) / len(found)

    plain = Beam(size=6, nbest=6, max_length=12).search(decoder, memory)
    apart = DiverseBeam(size=6, groups=6, diversity=3.0, nbest=6, max_length=12).search(decoder, memory)
    assert first_words(apart) > first_words(plain) + 0.2


def test_the_best_does_not_depend_on_nbest() -> None:
    decoder, memory = Attending(12, seed=2), sources([1 + row % 9 for row in range(20)])
    one, six = (DiverseBeam(size=6, nbest=n, max_length=12).search(decoder, memory) for n in (1, 6))
    assert [group[0].tokens for group in one] == [group[0].tokens for group in six]
    for group in six:
        assert [h.score for h in group] == sorted([h.score for h in group], reverse=True)
        assert len({tuple(h.tokens) for h in group}) == len(group)


def test_wrong_settings() -> None:
    with pytest.raises(UserError, match="set size to 2"):
        DiverseBeam(size=1, groups=2)
    with pytest.raises(UserError, match="nbest 7 is more"):
        DiverseBeam(size=6, nbest=7)
