"""Kneser-Ney by hand, against a plain reading of the formulas, and as one distribution; and that it counts what evaluate counts."""

from __future__ import annotations

import math
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from xattend.data.corpus import encode_rows, prepare
from xattend.data.readers.base import Row
from xattend.metrics.likelihood import perplexity
from xattend.model import Model
from xattend.ngram import FALLBACK, KneserNey
from xattend.recipe import parse
from xattend.systems import assemble
from xattend.types import BOS, EOS, PAD, UNK

A, B, C = 4, 5, 6


def sentences(rows: int, words: int, vocabulary: int, seed: int = 1) -> list[list[int]]:
    """Rows in which a word depends on the one before; frequent and rare words."""
    draw = np.random.default_rng(seed)
    made = []
    for length in draw.integers(1, 2 * words, rows).tolist():
        row = [BOS]
        for jump in draw.geometric(0.2, length).tolist():
            row.append(4 + (3 * row[-1] + jump) % (vocabulary - 4))
        made.append([*row, EOS])
    return made


def test_a_bigram_by_hand() -> None:
    """<s> a b </s> and <s> a a </s>, discounts 0.5, 1, 1.5; <unk>, </s>, a and b can be written.

    Single tokens by how many different ones stood before: a 2 (<s>, a), b 1 (a), </s> 2 (b, a); 5 in all. Taken away:
    1 + 0.5 + 1 = 2.5, half of all, so each of the four has 0.5 / 4 besides: a 1/5 + 1/8, b 0.5/5 + 1/8, <unk> 1/8.
    After a came b, a, </s>, once each: 0.5/3 each, and 1.5/3 by the single tokens. After <s> came a twice: 1/2, and 1/2 so.
    """
    model = KneserNey([[BOS, A, B, EOS], [BOS, A, A, EOS]], vocabulary=6, order=2)
    assert model.discounts == [FALLBACK, FALLBACK]
    assert len(model.notes) == 2
    single = {UNK: 0.125, EOS: 0.325, A: 0.325, B: 0.225}
    after_a = model.distribution([BOS, A])
    assert {token: after_a[token] for token in single} == pytest.approx({
        UNK: 0.5 * 0.125, EOS: 0.5 / 3 + 0.5 * 0.325, A: 0.5 / 3 + 0.5 * 0.325, B: 0.5 / 3 + 0.5 * 0.225,
    })  # fmt: skip
    assert model.distribution([BOS])[A] == pytest.approx(1 / 2 + 0.325 / 2)
    assert model.distribution([BOS, UNK])[B] == pytest.approx(0.225)  # <unk> was never seen: single tokens alone
    logs = [math.log(1 / 2 + 0.325 / 2), math.log(0.5 / 3 + 0.5 * 0.225), math.log(0.5 + 0.5 * 0.325)]
    assert model.logprobs([[BOS, A, B, EOS]])[0].tolist() == pytest.approx(logs)
    assert perplexity(*model.nll([[BOS, A, B, EOS]])) == pytest.approx(math.exp(-sum(logs) / 3))


def test_estimated_discounts_by_hand() -> None:
    """Order 1: four tokens once, two twice, one three times, one (</s>) four times: Y = 4 / (4 + 4) = 1/2."""
    rows = [[BOS, 4, 5, 6, EOS], [BOS, 7, 8, 8, EOS], [BOS, 9, 9, EOS], [BOS, 10, 10, 10, EOS]]
    model = KneserNey(rows, vocabulary=12, order=1)
    assert model.discounts == [(1 - 2 * 0.5 * 2 / 4, 2 - 3 * 0.5 * 1 / 2, 3 - 4 * 0.5 * 1 / 1)] == [(0.5, 1.25, 1.0)]
    assert model.notes == []
    spare = (4 * 0.5 + 2 * 1.25 + 2 * 1.0) / 15 / 10  # 4 + 2 x 2 + 3 + 4 tokens; 10 can be written
    found = model.distribution([BOS, 4])
    expected = {4: 0.5 / 15 + spare, 8: 0.75 / 15 + spare, 10: 2 / 15 + spare, EOS: 3 / 15 + spare, UNK: spare, 11: spare, BOS: 0.0}
    assert {token: found[token] for token in expected} == pytest.approx(expected)


class Plain:
    """The formulas, one n-gram at a time."""

    def __init__(self, rows: list[list[int]], vocabulary: int, order: int) -> None:
        self.vocabulary, self.order = vocabulary, order
        self.raw: Counter[tuple[int, ...]] = Counter()
        for row in rows:
            for length in range(1, order + 1):
                self.raw.update(tuple(row[i : i + length]) for i in range(len(row) - length + 1))
        self.counts = {gram: self.count(gram) for gram in self.raw if gram != (BOS,)}
        self.discounts = [self.estimate(length) for length in range(1, order + 1)]

    def count(self, gram: tuple[int, ...]) -> int:
        if len(gram) == self.order or gram[0] == BOS:
            return self.raw[gram]
        return sum(other[1:] == gram for other in self.raw)

    def estimate(self, length: int) -> tuple[float, ...]:
        n = Counter(count for gram, count in self.counts.items() if len(gram) == length)
        if not (n[1] and n[2] and n[3]):
            return FALLBACK
        y = n[1] / (n[1] + 2 * n[2])
        found = tuple(k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3))
        return found if all(0 < d <= k for k, d in enumerate(found, 1)) else FALLBACK

    def p(self, token: int, before: tuple[int, ...]) -> float:
        before = before[len(before) - self.order + 1 :] if len(before) >= self.order else before
        followed = {gram[-1]: count for gram, count in self.counts.items() if gram[:-1] == before}
        shorter = self.p(token, before[1:]) if before else 1 / (self.vocabulary - 2)
        if not followed:
            return shorter
        taken = {other: self.discounts[len(before)][min(count, 3) - 1] for other, count in followed.items()}
        total = sum(followed.values())
        return (followed.get(token, 0) - taken.get(token, 0)) / total + sum(taken.values()) / total * shorter


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_it_is_the_formulas(order: int) -> None:
    rows, held_out = sentences(25, 4, 12), sentences(4, 4, 14, seed=2)  # 12 and 13 are never seen
    model, plain = KneserNey(rows, vocabulary=14, order=order), Plain(rows, 14, order)
    assert model.discounts == plain.discounts
    assert order == 1 or any(discounts != FALLBACK for discounts in model.discounts)
    for row, logs in zip(held_out, model.logprobs(held_out), strict=True):
        assert len(logs) == len(row) - 1
        by_hand = [plain.p(token, tuple(row[:place])) for place, token in enumerate(row) if place]
        assert np.exp(logs).tolist() == pytest.approx(by_hand)
        assert [model.distribution(row[:place])[token] for place, token in enumerate(row) if place] == pytest.approx(by_hand)


def test_estimated_discounts_are_used_at_every_order() -> None:
    rows = sentences(3000, 6, 200)
    model = KneserNey(rows, vocabulary=200, order=4)
    assert [d == FALLBACK for d in model.discounts[1:]] == [False] * 3
    assert all(0 < d[0] < d[1] for d in model.discounts[1:])


@pytest.mark.parametrize("order", [1, 2, 5])
def test_all_continuations_sum_to_one(order: int) -> None:
    model = KneserNey(sentences(300, 5, 30), vocabulary=40, order=order)
    for before in ([BOS], [BOS, 7, 12], [BOS, 39, 8], [BOS, UNK], sentences(5, 5, 30)[4][:-1]):
        p_V = model.distribution(before)
        assert p_V.sum() == pytest.approx(1.0)
        assert p_V[PAD] == p_V[BOS] == 0
        assert (np.delete(p_V, [PAD, BOS]) > 0).all()


def test_rows_shorter_than_the_order_and_rows_that_are_none() -> None:
    model = KneserNey([[BOS, EOS]], vocabulary=5, order=5)
    assert model.nll([[BOS, EOS], [BOS, A, A, A, A, EOS]])[1] == 6
    assert model.logprobs([]) == []
    for rows in ([], [[A, EOS]], [[BOS, A]], [[BOS, 5, EOS]], [[BOS, BOS, EOS]], [[BOS, PAD, EOS]]):
        with pytest.raises(ValueError):
            KneserNey(rows, vocabulary=5, order=2)


def test_more_context_helps_where_there_is_something_to_learn() -> None:
    rows = sentences(2000, 6, 60)
    spread = [perplexity(*KneserNey(rows[:1800], vocabulary=60, order=order).nll(rows[1800:])) for order in (1, 2)]
    assert spread[1] < 0.6 * spread[0]


def test_it_counts_the_tokens_that_evaluate_counts(tmp_path: Path) -> None:
    """The same tokens in the same order as a neural model's log-probabilities, unknown ones and the end mark included."""
    (tmp_path / "rows.tsv").write_text("hello\thi you .\nwho\ti am me .\nwhy\tbecause .\nhow\ti am .\n")
    text = '[data]\ntrain = "rows.tsv"\ntarget = { unit = "word", min_count = 2 }\n[encoder]\nsize = 4\n[decoder]\nsize = 4\n'
    recipe = parse(text, "mine.toml").resolve()
    data = prepare(recipe, tmp_path / "cache", root=tmp_path)
    neural = Model(recipe, data.source, data.target, assemble(recipe, data.source, data.target))
    model = KneserNey(data.splits["train"].ids["target"], vocabulary=data.target.space.symbols(), order=3)
    rows = [Row("hm", "i am nobody .", "f", 1), Row("ha", ".", "f", 2)]
    batch = encode_rows(data.fields, rows)
    assert batch.target is not None
    held_out = [ids[mask].tolist() for ids, mask in zip(batch.target.values, batch.target.mask_BS, strict=True)]
    assert held_out[0].count(UNK) == 1
    scores = list(neural.score_rows(rows))
    assert [len(logs) for logs in model.logprobs(held_out)] == [len(score.token_logprobs) for score in scores] == [5, 2]
    assert model.nll(held_out)[1] == sum(len(score.tokens) for score in scores)
    assert math.exp(model.logprobs(held_out)[1][0]) == pytest.approx(model.distribution([BOS])[data.target.encode(".")[0]])


def test_forty_thousand_lines_in_time() -> None:
    rows = sentences(40_000, 12, 8000)
    began = time.process_time()
    assert KneserNey(rows, vocabulary=8000, order=5).nll(rows[:4000])[1] > 40_000
    assert time.process_time() - began < 30
