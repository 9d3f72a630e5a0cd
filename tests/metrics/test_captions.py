"""Metrics of captions against numbers worked by hand, printed examples, and the definitions written out plainly."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from xattend import registry
from xattend.metrics import Metric
from xattend.metrics.bootstrap import paired_bootstrap
from xattend.metrics.meteor import chunks, stem

OUTPUTS = ["a dog runs on the grass", "two men ride a horse", "a cat"]
REFERENCES = [
    ["A dog runs on the lawn .", "The dog runs across a green field", "a brown dog runs on grass"],
    ["Two men on a horse .", "men riding one horse together on a sandy beach"],
    ["A small cat sits on the mat", "the cat"],
]


def metric(name: str) -> Metric:
    return registry.build("metric", name)  # type: ignore[no-any-return]


def test_bleu_of_several_references_by_hand() -> None:
    # words: "the the cat" has the x 2, clipped to the most that one reference has (2), and cat: 3/3; pairs: the-the in none, the-cat: 1/2.
    # lengths: of 2 and 5 the closest to 3 is 2, so there is no brevity penalty
    outputs, references = ["The the cat ."], [["The cat", "the dog and the bird"]]
    assert metric("bleu-1").compute(outputs, references) == pytest.approx(100.0)
    assert metric("bleu-2").compute(outputs, references) == pytest.approx(100 * math.sqrt(1 / 2))
    assert metric("bleu-3").compute(outputs, references) == 0.0  # no triple is right, and nothing is smoothed


def test_bleu_is_of_the_corpus_not_a_mean_of_rows() -> None:
    # 1 of 1 and 1 of 3 words are 2 of 4; lengths 4 against 4
    assert metric("bleu-1").compute(["a", "a b c"], [["a", "z"], ["a x y"]]) == pytest.approx(50.0)


def test_brevity_of_the_closest_reference() -> None:
    # 2 words against references of 3 and 9: exp(1 - 3/2). Of two that are equally near the shorter counts: no penalty
    assert metric("bleu-1").compute(["a b"], [["a b c", "a b c d e f g h i"]]) == pytest.approx(100 * math.exp(-0.5))
    assert metric("bleu-1").compute(["a b c"], [["a b c d", "b c"]]) == pytest.approx(100.0)


def test_bleu_4_is_the_multi_bleu_form_of_plain_words() -> None:
    plain = [[text.lower().replace(" .", "") for text in accepted] for accepted in REFERENCES]
    expected = metric("bleu-tok").compute(OUTPUTS, plain)
    assert expected > 0
    assert metric("bleu-4").compute(OUTPUTS, REFERENCES) == pytest.approx(expected)
    values = [metric(f"bleu-{n}").compute(OUTPUTS, REFERENCES) for n in (1, 2, 3, 4)]
    assert values == sorted(values, reverse=True)


def test_rouge_l_takes_precision_and_recall_from_different_references() -> None:
    # output of 4 words; lcs 4 with the first reference (8 words), 2 with the second (2 words): P = 4/4, R = 2/2
    assert metric("rouge-l").compute(["a b c d"], [["a x b x c x d x", "b d"]]) == pytest.approx(1.0)
    # one reference: P = 2/3, R = 2/4: 2.44 x 1/3 / (1/2 + 1.44 x 2/3)
    expected = 2.44 / 3 / (0.5 + 0.96)
    assert metric("rouge-l").compute(["the cat sat"], [["the black cat purrs"]]) == pytest.approx(expected)
    assert metric("rouge-l").compute(["", "x"], [["a"], ["", "b"]]) == 0.0


def plain_cider(outputs: list[str], references: list[list[str]]) -> float:
    """The definition, one n at a time, over the whole list of n-grams."""

    def count(text: str, n: int) -> Counter[str]:
        split = text.split()
        return Counter(" ".join(split[i : i + n]) for i in range(len(split) - n + 1))

    total = 0.0
    for n in (1, 2, 3, 4):
        seen = Counter(gram for accepted in references for gram in {gram for text in accepted for gram in count(text, n)})
        known = sorted({gram for text in [*outputs, *(t for accepted in references for t in accepted)] for gram in count(text, n)})

        def vector(text: str, n: int = n, seen: Counter[str] = seen, known: list[str] = known) -> list[float]:
            counted = count(text, n)
            return [counted[gram] * math.log(len(outputs) / max(1, seen[gram])) for gram in known]

        for output, accepted in zip(outputs, references, strict=True):
            ours = vector(output)
            for text in accepted:
                theirs = vector(text)
                product = sum(min(a, b) * b for a, b in zip(ours, theirs, strict=True))
                norms = math.sqrt(sum(a * a for a in ours) * sum(b * b for b in theirs))
                near = math.exp(-((len(output.split()) - len(text.split())) ** 2) / 72)
                total += 10 * near * product / norms / len(accepted) / 4 / len(outputs) if norms else 0.0
    return total


def test_cider_by_hand() -> None:
    # two pictures. "a" is everywhere (weight 0); dog, runs, cat and their pairs weigh log 2 = w.
    # picture 1: output "a dog dog", reference "a dog runs".  n = 1: (0, 2w, 0) and (0, w, w): min x ref = w w; norms 2w and w sqrt 2
    #            n = 2: a-dog w, dog-dog w against a-dog w, dog-runs w: w w / (2 w w);   n = 3: nothing in common;   n = 4: none
    # picture 2: output and reference "a cat": n = 1 and 2 are 1, n = 3 and 4 have nothing
    first, second = (1 / (2 * math.sqrt(2)) + 1 / 2) / 4, (1 + 1) / 4
    assert metric("cider-d").compute(["a dog dog", "a cat"], [["a dog runs"], ["a cat"]]) == pytest.approx(10 * (first + second) / 2)
    # three words more are worth exp(-9 / 72) of what is left: n = 1 alone has something in common, cosine 1 / sqrt 4
    value = metric("cider-d").compute(["dog x y z", "a"], [["dog"], ["cat"]])
    assert value == pytest.approx(10 * (1 / 2) / 4 * math.exp(-9 / 72) / 2)


def test_cider_is_its_definition() -> None:
    draw = random.Random(1)

    def caption() -> str:
        return " ".join(draw.choices("abcdefgh", k=draw.randint(1, 9)))

    outputs, references = [caption() for _ in range(12)], [[caption() for _ in range(draw.randint(1, 5))] for _ in range(12)]
    expected = plain_cider(outputs, references)
    assert expected > 0.1
    assert metric("cider-d").compute(outputs, references) == pytest.approx(expected)


def test_cider_of_one_picture_is_nothing() -> None:
    assert metric("cider-d").compute(["a dog"], [["a dog", "the dog"]]) == 0.0


def test_meteor_like_by_hand() -> None:
    same, scattered = ["the cat sat on the mat"], ["on the mat sat the cat"]
    assert metric("meteor-like").compute(same, [same]) == pytest.approx(1 - 0.5 / 6**3)
    # 6 matches in 3 runs
    assert metric("meteor-like").compute(scattered, [same]) == pytest.approx(1 - 0.5 / 2**3)
    # the second reference is the better one: 2 of 2 and 2 of 3 words in one run: F = 10 x 2/3 / (2/3 + 9)
    expected = 10 * (2 / 3) / (2 / 3 + 9) * (1 - 0.5 / 8)
    assert metric("meteor-like").compute(["dogs running"], [["a cat", "the dog runs"]]) == pytest.approx(expected)
    assert metric("meteor-like").compute(["x"], [["y"]]) == 0.0


@pytest.mark.parametrize(
    "forms",
    [
        "ride rides riding", "run runs running", "play plays played playing", "box boxes", "horse horses", "dress dresses", "man's man",
        "string strings",
    ],
)  # fmt: skip
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1


def test_different_words_keep_apart() -> None:
    several = ["dog", "cat", "man", "men", "red", "bed", "sing", "bring", "ring", "bus", "grass", "ball", "child", "sitting", "standing"]
    assert len({stem(word) for word in several}) == len(several)


def test_every_word_is_matched_once() -> None:
    assert chunks(["a", "a", "b"], ["a", "b", "a"]) == [2, 1]
    assert chunks(["a", "a", "a"], ["a"]) == [1]
    draw = random.Random(2)
    for _ in range(50):
        one, other = (draw.choices("abcd", k=draw.randint(1, 9)) for _ in range(2))
        assert sum(chunks(one, other)) == sum((Counter(one) & Counter(other)).values())


@pytest.mark.parametrize("name", ["bleu-1", "rouge-l", "cider-d", "meteor-like"])
def test_better_captions_are_better(name: str) -> None:
    worse = ["a man on a bicycle", "a dog", "two men"]
    assert metric(name).several
    found = paired_bootstrap(metric(name), OUTPUTS, worse, REFERENCES, samples=20)
    assert found.difference > 0
    assert found.first == pytest.approx(metric(name).compute(OUTPUTS, REFERENCES))
