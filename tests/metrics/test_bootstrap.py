"""Paired bootstrap: what is known about it beforehand."""

from __future__ import annotations

import random

import pytest
import sacrebleu

from xattend import registry
from xattend.metrics.bootstrap import paired_bootstrap


def corpus(size: int, noise: float, seed: int) -> list[str]:
    """Sentences of which a share of words is replaced."""
    words, generator = random.Random(0), random.Random(seed)
    rows = [[words.choice("abcdefgh") for _ in range(10)] for _ in range(size)]
    return [" ".join("x" if generator.random() < noise else word for word in row) for row in rows]


REFERENCES = [[text] for text in corpus(120, 0.0, 0)]


@pytest.mark.parametrize("name", ["bleu", "chrf", "cer", "exact"])
def test_a_clear_difference_and_its_sign(name: str) -> None:
    metric = registry.build("metric", name)
    good, bad = corpus(120, 0.05, 1), corpus(120, 0.3, 2)
    found = paired_bootstrap(metric, good, bad, REFERENCES, samples=200)
    assert found.first == pytest.approx(metric.compute(good, REFERENCES))
    assert found.difference == pytest.approx(metric.compute(good, REFERENCES) - metric.compute(bad, REFERENCES))
    assert (found.difference > 0) == metric.higher_is_better
    assert found.low < found.difference < found.high
    assert found.low * found.high > 0  # zero lies outside
    assert found.p_value == pytest.approx(1 / 201)
    other = paired_bootstrap(metric, bad, good, REFERENCES, samples=200)
    assert (other.difference, other.low) == pytest.approx((-found.difference, -found.high))


def test_equal_systems_do_not_differ() -> None:
    same = paired_bootstrap(registry.build("metric", "bleu"), *[corpus(120, 0.2, 1)] * 2, REFERENCES, samples=100)
    assert (same.difference, same.p_value) == (0.0, 1.0)
    alike = paired_bootstrap(registry.build("metric", "bleu"), corpus(120, 0.2, 1), corpus(120, 0.2, 2), REFERENCES)
    assert alike.p_value > 0.05
    assert alike.low < 0 < alike.high


def test_seeded() -> None:
    def run(seed: int) -> object:
        metric = registry.build("metric", "wer")
        return paired_bootstrap(metric, corpus(120, 0.2, 1), corpus(120, 0.25, 2), REFERENCES, samples=50, seed=seed)

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_interval_of_a_share_is_the_binomial_one() -> None:
    # exact match of 40 % against none: the standard error is sqrt(.4 x .6 / 400) = .0245
    outputs = ["a"] * 160 + ["b"] * 240
    found = paired_bootstrap(registry.build("metric", "exact"), outputs, ["b"] * 400, [["a"]] * 400)
    assert (found.low, found.high) == pytest.approx((0.4 - 1.96 * 0.0245, 0.4 + 1.96 * 0.0245), abs=0.008)


def test_resampled_bleu_is_bleu_of_the_resampled_texts() -> None:
    metric, outputs = registry.build("metric", "bleu"), corpus(120, 0.2, 1)
    drawn = [random.Random(3).randrange(120) for _ in range(120)]
    counts = metric.statistics(outputs, REFERENCES)[drawn].sum(axis=0)
    direct = sacrebleu.corpus_bleu([outputs[i] for i in drawn], [[REFERENCES[i][0] for i in drawn]]).score
    assert metric.value(counts) == pytest.approx(direct)
