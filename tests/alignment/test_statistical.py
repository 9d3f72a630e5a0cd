"""The whole aligner on a made-up language whose true alignment is known."""

from __future__ import annotations

import random

import numpy as np
import pytest

from xattend.alignment import ibm1
from xattend.alignment.cooccurrence import Cooccurrence
from xattend.alignment.links import Gold, Links, alignment_error_rate, hard_alignment
from xattend.alignment.statistical import STEPS, align
from xattend.alignment.symmetrise import symmetrise

Pairs = list[tuple[list[str], list[str]]]


def language(rows: int) -> tuple[Pairs, list[Gold]]:
    """Every word has a translation (two of ten are written as two words); neighbours change places now and then, and little words
    that come from nothing stand in between. Words are Zipf-distributed and repeat, so that position matters."""
    draw = random.Random(1)
    words = [f"w{i}" for i in range(40)]
    weights = [1 / (i + 1) for i in range(40)]
    pairs, gold = [], []
    for _ in range(rows):
        source = draw.choices(words, weights, k=draw.randint(3, 9))
        order = list(range(len(source)))
        for i in range(len(order) - 1):
            if draw.random() < 0.15:
                order[i], order[i + 1] = order[i + 1], order[i]
        target, links = [], set()
        for place in order:
            if draw.random() < 0.1:
                target.append(draw.choice(["o", "u"]))
            for end in ("", "-n")[: 2 if int(source[place][1:]) % 5 == 0 else 1]:
                links.add((place, len(target)))
                target.append(source[place].upper() + end)
        pairs.append((source, target))
        gold.append(Gold(frozenset(links), frozenset(links)))
    return pairs, gold


def by_model_1(pairs: Pairs) -> list[Links]:
    corpus = Cooccurrence([source for source, _ in pairs], [target for _, target in pairs])
    table_P = ibm1.even(corpus)
    for _ in range(5):
        table_P, _ = ibm1.step(corpus, table_P)
    found: list[Links] = [set() for _ in pairs]
    for block in corpus.blocks:
        for row, scores_TS in zip(block.rows_B.tolist(), table_P[block.pairs_BTS]):
            found[row] = {(s - 1, t) for s, t in hard_alignment(scores_TS) if s}
    return found


def test_a_made_up_language() -> None:
    pairs, gold = language(300)
    ticks: list[int] = []
    ways = align(pairs, tick=ticks.append)
    assert sum(ticks) == STEPS
    joined = alignment_error_rate([symmetrise(way.forward, way.backward, "grow-diag-final-and") for way in ways], gold)
    one_way = alignment_error_rate([way.forward for way in ways], gold)
    assert joined.error_rate < one_way.error_rate < 0.12  # .085 and .101
    assert one_way.error_rate < alignment_error_rate(by_model_1(pairs), gold).error_rate / 2  # .243: the same word twice is a riddle to it
    assert alignment_error_rate([way.forward & way.backward for way in ways], gold).precision > 0.96
    for way in ways:
        assert len({target for _, target in way.forward}) == len(way.forward)
        assert len({source for source, _ in way.backward}) == len(way.backward)
        assert (way.weights_TS.sum(axis=1) < 1 + 1e-5).all()
        assert way.as_gold().sure <= way.as_gold().possible
    again = align(pairs)
    assert [way[:2] for way in again] == [way[:2] for way in ways]
    assert all(np.array_equal(one.weights_TS, other.weights_TS) for one, other in zip(again, ways))


def test_more_rows_to_learn_from() -> None:
    pairs, gold = language(300)
    alone, helped = align(pairs[:10]), align(pairs, rows=10)
    assert len(alone) == len(helped) == 10
    assert [way[:2] for way in helped] == [way[:2] for way in align(pairs)[:10]]
    rates = [alignment_error_rate([way.forward for way in ways], gold[:10]).error_rate for ways in (alone, helped)]
    assert rates[1] < rates[0]


def test_empty_sentences() -> None:
    ways = align([([], ["x"]), (["a"], ["x"]), (["a"], []), ([], [])])
    assert [way.forward for way in ways] == [set(), {(0, 0)}, set(), set()]
    assert [way.weights_TS.shape for way in ways] == [(1, 0), (1, 1), (0, 1), (0, 0)]
    assert align([]) == []


@pytest.mark.parametrize("variant", ["HAUS", "Haus"])
def test_case_and_unicode_form_make_no_other_word(variant: str) -> None:
    rows = [(["das", "haus"], ["the", "house"]), (["das", "buch"], ["the", "book"]), (["ein", "cafe\u0301"], ["a", "coffee"])]
    same = [([variant if word == "haus" else word.replace("e\u0301", "\u00e9") for word in source], target) for source, target in rows]
    assert [way[:2] for way in align(rows * 2)] == [way[:2] for way in align(rows + same)]
