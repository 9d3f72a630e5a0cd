"""Draws follow the model: frequencies, truncation and seeds."""

from __future__ import annotations

import collections
import math

import pytest
import torch

from tests.search.models import Attending, Named, Table, every_output, sources
from xattend.search import Sample
from xattend.search.sample import keep_likeliest
from xattend.types import EOS


def chi_square(counts: dict[tuple[int, ...], int], chances: dict[tuple[int, ...], float], draws: int) -> tuple[float, int]:
    """Pearson's statistic over outcomes expected at least 5 times, and its degrees of freedom."""
    common = [outcome for outcome, chance in chances.items() if chance * draws >= 5]
    rest = 1 - sum(chances[outcome] for outcome in common)
    seen = sum(counts.get(outcome, 0) for outcome in common)
    total = sum((counts.get(o, 0) - draws * chances[o]) ** 2 / (draws * chances[o]) for o in common)
    if rest * draws >= 5:
        total += (draws - seen - draws * rest) ** 2 / (draws * rest)
    return total, len(common)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_frequencies_match_the_model(temperature: float) -> None:
    table, draws = Table(6, 3, sharpness=1.0), 4000
    table.logits_VVV[:, :, [0, 2]] = -1e4  # so that nothing is lost to padding, and every share is the model's own
    group = Sample(nbest=draws, temperature=temperature, max_length=2, seed=7).search(table, sources([4]))[0]
    counts = collections.Counter((*h.tokens, *[EOS] * h.finished) for h in group)
    chances = {}
    for tokens in every_output(6, 2):
        before, last, chance = 2, 2, 1.0
        for token in tokens:
            chance *= torch.softmax(table.logits_VVV[before, last] / temperature, dim=0)[token].item()
            before, last = last, token
        end = torch.softmax(table.logits_VVV[before, last] / temperature, dim=0)[EOS].item()
        chances[*tokens, EOS] = chance * end
        if len(tokens) == 2:
            chances[tuple(tokens)] = chance * (1 - end)  # cut at the limit
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-5)
    statistic, freedom = chi_square(counts, chances, draws)
    assert freedom > 8
    assert statistic < freedom + 4 * math.sqrt(2 * freedom)


def test_truncation_is_exact() -> None:
    logprobs = torch.tensor([[0.05, 0.4, 0.15, 0.3, 0.1]]).log()

    def kept(top_k: int | None, top_p: float) -> list[int]:
        return keep_likeliest(logprobs, top_k=top_k, top_p=top_p)[0].isfinite().nonzero().squeeze(1).tolist()

    assert kept(None, 1.0) == [0, 1, 2, 3, 4]
    assert kept(2, 1.0) == [1, 3]
    assert kept(99, 1.0) == [0, 1, 2, 3, 4]
    assert kept(None, 0.39) == [1]
    assert kept(None, 0.41) == [1, 3]
    assert kept(None, 0.71) == [1, 2, 3]
    assert kept(3, 0.8) == [1, 3]  # of what top-k left (0.85) 0.4 + 0.3 are 82 %


@pytest.mark.parametrize(("settings", "allowed"), [({"top_k": 2}, {4, 6}), ({"top_p": 0.6}, {4, 6}), ({"top_p": 0.3}, {6})])
def test_only_likely_tokens_are_drawn(settings: dict[str, float], allowed: set[int]) -> None:
    decoder = Named({(): {4: 0.3, 5: 0.2, 6: 0.4}}, 8)
    group = Sample(nbest=300, max_length=1, **settings).search(decoder, sources([2]))[0]  # type: ignore[arg-type]
    assert {h.tokens[0] for h in group if h.tokens} == allowed


def test_seeds_and_order() -> None:
    decoder, memory = Attending(12), sources([5, 3])
    first, again = Sample(nbest=4, seed=1).search(decoder, memory), Sample(nbest=4, seed=1).search(decoder, memory)
    assert [[h.tokens for h in group] for group in first] == [[h.tokens for h in group] for group in again]
    other = Sample(nbest=4, seed=2).search(decoder, memory)
    assert [h.tokens for h in first[0]] != [h.tokens for h in other[0]]
    for group in first:
        assert len({tuple(h.tokens) for h in group}) > 1
        assert [h.score for h in group] == sorted([h.score for h in group], reverse=True)
    fewer = Sample(nbest=2, seed=1).search(decoder, memory)[0]  # draw k is the same however many are asked for
    assert {tuple(h.tokens) for h in fewer} <= {tuple(h.tokens) for h in first[0]}
