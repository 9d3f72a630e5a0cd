"""No n tokens twice, and no phrase that is ruled out: against enumeration and against a textbook search."""

from __future__ import annotations

import itertools

import pytest
import torch

from tests.search.models import Attending, Named, Table, every_output, sources
from tests.search.test_contract import SPECIAL
from xattend import registry
from xattend.errors import UserError
from xattend.search import Beam, Exact, Greedy, Sample
from xattend.search.limits import Limits
from xattend.search.repeats import holds
from xattend.types import BOS, EOS, UNK

KINDS = [kind for kind in registry.names("search") if kind not in SPECIAL]
VOCABULARY = 6


def repeats(tokens: list[int], n: int) -> bool:
    runs = [tuple(tokens[place : place + n]) for place in range(len(tokens) - n + 1)]
    return len(set(runs)) < len(runs)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_wide_beams_and_exact_search_find_the_best_without_repeats(n: int) -> None:
    limit = 5
    for seed in range(3):
        table = Table(VOCABULARY, seed)
        ranked = sorted(((table.logprob(y), y) for y in every_output(VOCABULARY, limit) if not repeats(y, n)), reverse=True)
        wanted = [tokens for _, tokens in ranked[:4]]
        wide = Beam(size=400, nbest=4, penalty="none", max_length=limit, no_repeat=n).search(table, sources([4]))[0]
        exact = Exact(budget=2000, nbest=4, max_length=limit, no_repeat=n).search(table, sources([4]))[0]
        assert [h.tokens for h in wide] == [h.tokens for h in exact] == wanted
        assert [h.logprob for h in wide] == pytest.approx([logprob for logprob, _ in ranked[:4]], abs=1e-4)


def textbook(decoder: Table, size: int, limit: int, n: int) -> list[int]:
    """Beam search of one sentence in Python lists; what would repeat is left out."""
    alive, done = [([], 0.0)], []
    for _ in range(limit + 1):
        extended = []
        for tokens, logprob in alive:
            before, last = ([BOS, BOS, *tokens])[-2:]
            for token, own in enumerate(torch.log_softmax(decoder.logits_VVV[before, last], dim=0).tolist()):
                if token == EOS or ((token == UNK or token > EOS) and not repeats([*tokens, token], n)):
                    extended.append((tokens, token, logprob + own))
        extended.sort(key=lambda e: -e[2])
        done += [(t, s / (len(t) + 1)) for t, token, s in extended[:size] if token == EOS]
        alive = [([*t, token], s) for t, token, s in extended if token != EOS][:size]
        if len(done) >= size and (not alive or alive[0][1] / len(alive[0][0]) <= max(score for _, score in done)):
            break
    return max(done, key=lambda d: d[1])[0]


@pytest.mark.parametrize(("size", "n"), list(itertools.product([1, 3, 4], [1, 2])))
def test_beams_carry_their_own_tokens_along(size: int, n: int) -> None:
    for seed in range(6):
        table = Table(8, seed, sharpness=1.0)
        wanted = textbook(table, size, 12, n)
        assert Beam(size=size, max_length=12, no_repeat=n).search(table, sources([3, 1]))[0][0].tokens == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_every_search_obeys(kind: str) -> None:
    decoder, memory = Attending(12, seed=1), sources([1 + row % 9 for row in range(8)])
    more = {"min_length": 8, "max_length": 12} | ({"budget": 30} if kind == "exact" else {})
    free = registry.build("search", kind, **more).search(decoder, memory)
    kept = registry.build("search", kind, no_repeat=2, **more).search(decoder, memory)
    if kind != "exact":  # with its small budget it does not get far
        assert any(repeats(group[0].tokens, 2) for group in free)
    assert not any(repeats(hypothesis.tokens, 2) for group in kept for hypothesis in group)


def test_draws_do_not_repeat() -> None:
    draws = Sample(nbest=200, max_length=6, no_repeat=2).search(Table(VOCABULARY, sharpness=0.5), sources([3]))[0]
    assert not any(repeats(h.tokens, 2) for h in draws)
    assert any(repeats(h.tokens, 1) for h in draws)


@pytest.mark.parametrize("kind", KINDS)
def test_a_prefix_may_repeat_and_counts_as_written(kind: str) -> None:
    decoder = Named({(4, 4, 4): {4: 0.9, 5: 0.05}, (4, 4, 4, 5): {EOS: 0.9}}, VOCABULARY)
    search = registry.build("search", kind, no_repeat=2, max_length=4, **({"temperature": 0.1} if kind == "sample" else {}))
    best = search.search(decoder, sources([2]), prefix=[[4, 4, 4]])[0][0]
    assert best.tokens[:3] == [4, 4, 4]
    assert best.tokens[3:] in ([5], [UNK], [])  # a fourth 4 would write "4 4" again


@pytest.mark.parametrize("kind", KINDS)
def test_where_nothing_else_is_left_the_end_is(kind: str) -> None:
    decoder = Attending(VOCABULARY)
    search = registry.build("search", kind, no_repeat=1, min_length=4, allow_unk=False, max_length=9)
    for group in search.search(decoder, sources([2, 3, 1])):
        assert sorted(group[0].tokens) == [4, 5]  # both words once; then even an end before min_length
        assert group[0].finished
        assert len(group[0].token_logprobs) == 3


def test_off_costs_nothing() -> None:
    assert Limits().plan(sources([2]), None).nothing_written(5) is None
    assert Limits(no_repeat=3).plan(sources([2]), None).nothing_written(5) is not None
    with pytest.raises(UserError):
        registry.build("search", "beam", no_repeat=-1)


@pytest.mark.parametrize("never", [[(4,)], [(4, 5)], [(5, 5), (1, 4)], [(4, 5, 4), (1,)]])
def test_ruled_out_phrases_against_enumeration(never: list[tuple[int, ...]]) -> None:
    for seed in range(3):
        table = Table(VOCABULARY, seed)
        left = [y for y in every_output(VOCABULARY, 4) if not any(holds(tuple(y), phrase) for phrase in never)]
        wanted = sorted(left, key=table.logprob, reverse=True)[:4]
        wide = Beam(size=200, nbest=4, penalty="none", max_length=4).forbidding(never)
        exact = Exact(budget=500, nbest=4, max_length=4).forbidding(never)
        for search in (wide, exact):
            assert [h.tokens for h in search.search(table, sources([4]))[0]] == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_every_search_can_rule_phrases_out(kind: str) -> None:
    decoder, memory = Attending(12, seed=1), sources([3, 5, 2])
    search = registry.build("search", kind, max_length=8, **({"budget": 60} if kind == "exact" else {}))
    free = search.search(decoder, memory)[0][0].tokens
    phrase = (free[0],)
    kept = search.forbidding([phrase]).search(decoder, memory)
    assert not any(holds(tuple(group[0].tokens), phrase) for group in kept)
    assert search.search(decoder, memory)[0][0].tokens == free  # the search itself has not changed


def test_greedy_looks_back_at_its_own_tokens() -> None:
    # rows leave the batch at different steps; those that stay must keep their own tokens
    decoder, memory = Attending(12, seed=2), sources([1 + row % 9 for row in range(30)])
    together = Greedy(max_length=15, no_repeat=2).search(decoder, memory)
    assert len({len(group[0].tokens) for group in together}) > 2
    for row in range(0, 30, 4):
        alone = Greedy(max_length=15, no_repeat=2).search(decoder, memory.take(torch.tensor([row])))
        assert alone[0][0].tokens == together[row][0].tokens
