"""Scores against hand-worked numbers and direct calls of sacrebleu."""

from __future__ import annotations

import math

import pytest
import sacrebleu

from xattend import registry
from xattend.errors import UserError
from xattend.metrics import Metric, score_all
from xattend.metrics.likelihood import bits_per_character, perplexity

OUTPUTS = ["The cat sat on the mat.", "It is raining, isn't it?", "a dog runs fast", ""]
REFERENCES = [
    ["The cat sat on a mat.", "A cat was sitting on the mat."], ["It's raining, isn't it?"],
    ["a dog runs very fast", "the dog is fast", "a dog runs fast ."], ["something"],
]  # fmt: skip


def metric(name: str) -> Metric:
    return registry.build("metric", name)  # type: ignore[no-any-return]


def streams() -> list[list[str | None]]:
    return [[refs[n] if n < len(refs) else None for refs in REFERENCES] for n in range(3)]


def test_registered() -> None:
    directions = {"bleu": True, "bleu-tok": True, "chrf": True, "exact": True, "cer": False, "wer": False, "per": False}
    assert set(directions) <= set(registry.names("metric"))
    assert {name: metric(name).higher_is_better for name in directions} == directions
    assert metric("bleu-tok").name == "bleu-tok"


def test_bleu_equals_sacrebleu_with_a_varying_number_of_references() -> None:
    assert metric("bleu").compute(OUTPUTS, REFERENCES) == pytest.approx(sacrebleu.corpus_bleu(OUTPUTS, streams()).score)
    direct = sacrebleu.corpus_bleu(OUTPUTS, streams(), tokenize="none", smooth_method="none", force=True).score
    assert metric("bleu-tok").compute(OUTPUTS, REFERENCES) == pytest.approx(direct)
    assert metric("chrf").compute(OUTPUTS, REFERENCES) == pytest.approx(sacrebleu.corpus_chrf(OUTPUTS, streams()).score)
    assert 0 < direct < 100


def test_bleu_by_hand() -> None:
    # output of 7 words, reference of 8: 6/7 words, 4/6 pairs, 2/5 triples, 1/4 fours; brevity exp(1 - 8/7)
    value = metric("bleu-tok").compute(["a b c d x f g"], [["a b c d e f g h"]])
    by_hand = 100 * math.exp(1 - 8 / 7) * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25
    assert value == pytest.approx(by_hand)


def test_five_references_are_one_score_not_a_mean() -> None:
    # the words come from different references, the closest length is the third's
    assert metric("bleu-tok").compute(["a b c d"], [["a b c d e f", "x", "y z u v"]]) == pytest.approx(100.0)


def test_no_shared_word_is_zero() -> None:
    assert metric("bleu-tok").compute(["x"], [["y"]]) == 0.0


def test_cer_by_hand() -> None:
    # kitten -> sitting 3 edits of 7; "abc" is 1 edit from "abd" (3 letters) and 2 from "abcde"
    assert metric("cer").compute(["kitten", "abc"], [["sitting"], ["abcde", "abd"]]) == pytest.approx(4 / 10)
    assert metric("cer").compute(["aaaa"], [["b"]]) == 4.0  # more edits than letters: above 1
    assert metric("cer").compute(["é"], [["e\u0301"]]) == 0.0  # one code point or two, the same letter
    assert metric("cer").compute([""], [["ab"]]) == 1.0


def test_wer_and_per_by_hand() -> None:
    # "sat" for "sits" and a missing "now": 2 edits of 4; the second is right
    outputs, references = ["the cat sat", "yes"], [["the cat sits now"], ["yes"]]
    assert metric("wer").compute(outputs, references) == pytest.approx(2 / 5)
    assert metric("per").compute(["HH AH0 L OW1"], [["HH EH0 L OW1"]]) == 0.25
    assert metric("per").compute(outputs, references) == metric("wer").compute(outputs, references)


def test_exact_by_hand() -> None:
    assert metric("exact").compute(["a", "b ", "é"], [["b", "a"], ["b"], ["e\u0301"]]) == pytest.approx(2 / 3)


def test_score_all() -> None:
    scores = score_all(["a b"], [["a b"]])
    captions = {"bleu-1", "bleu-2", "bleu-3", "bleu-4", "cider-d", "meteor-like", "rouge-l"}
    assert set(scores) == set(registry.names("metric")) - captions, "those of captions are for several references"
    assert sorted(score_all(["a b", "c"], [["a b"], ["c", "d"]])) == registry.names("metric")
    assert (scores["cer"], scores["wer"], scores["exact"], scores["chrf"]) == (0.0, 0.0, 1.0, 100.0)


@pytest.mark.parametrize(
    ("outputs", "references", "said"),
    [(["a"], [], "1 outputs, but references for 0"), ([], [], "no outputs"), (["a", "b"], [["a"], []], "output 2 has no reference")],
)
def test_lists_that_do_not_fit(outputs: list[str], references: list[list[str]], said: str) -> None:
    for name in registry.names("metric"):
        with pytest.raises(UserError, match=said):
            metric(name).compute(outputs, references)


def test_empty_references() -> None:
    with pytest.raises(UserError, match="every reference is empty"):
        metric("wer").compute(["a"], [[""]])


def test_likelihood() -> None:
    assert perplexity(2 * math.log(4) + 2 * math.log(16), 4) == pytest.approx(8.0)
    assert perplexity(1e6, 1) == math.inf
    assert bits_per_character(math.log(8), 2) == pytest.approx(1.5)
    for function in (perplexity, bits_per_character):
        with pytest.raises(ValueError):
            function(1.0, 0)
