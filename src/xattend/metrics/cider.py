"""CIDEr-D (Vedantam, Zitnick and Parikh 2015): how much a caption says what people agree on, rare words above common ones. 0 to 10.

    g_k(s) = count of n-gram k in s x log(P / pictures among whose references k is)      P pictures; n = 1 .. 4
    CIDEr-D_n(c, S) = 10 / |S| sum over references s of exp(-(l(c) - l(s))^2 / 2 sigma^2) min(g(c), g(s)) . g(s) / (|g(c)| |g(s)|)
    CIDEr-D = mean over n, then over pictures;  sigma = 6, l = words

An n-gram that every picture's references have counts nothing; with a single picture that is all of them, and the value is 0. Words
are not stemmed, as in COCO's scorer, whose 0.943 is 0.943 here (the factor of 10 is in both) and 94.3 in tables that print hundredths.

>>> round(CiderD().compute(["a dog runs", "a cat"], [["a dog runs"], ["a cat"]]), 2)  # no caption has 4 words, one has no triple
6.25
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from xattend.metrics.captions import MeanOfRows
from xattend.registry import register

LONGEST, SIGMA = 4, 6.0
Gram = tuple[str, ...]


class Vector(NamedTuple):
    """A caption: for each n its n-grams with their weights and their norm, and how many words it has."""

    weights: list[dict[Gram, float]]
    norms: list[float]
    length: int


@register("metric", "cider-d")
class CiderD(MeanOfRows):
    """Agreement with several references, weighted by how telling words are; for captions."""

    def scores(self, outputs: list[list[str]], references: list[list[list[str]]]) -> list[float]:
        pictures = Counter(gram for accepted in references for gram in {gram for wanted in accepted for gram in grams(wanted)})
        rarity = {gram: math.log(len(references) / count) for gram, count in pictures.items()}
        unseen = math.log(len(references))

        def vector(words: list[str]) -> Vector:
            weights: list[dict[Gram, float]] = [{} for _ in range(LONGEST)]
            for gram, count in Counter(grams(words)).items():
                weights[len(gram) - 1][gram] = count * rarity.get(gram, unseen)
            return Vector(weights, [math.sqrt(sum(weight**2 for weight in one.values())) for one in weights], len(words))

        return [
            10 * sum(likeness(written, vector(wanted)) for wanted in accepted) / len(accepted)
            for written, accepted in zip(map(vector, outputs), references, strict=True)
        ]


def grams(words: list[str]) -> Iterable[Gram]:
    """All runs of 1 to 4 words."""
    return (tuple(words[start : start + n]) for n in range(1, LONGEST + 1) for start in range(len(words) - n + 1))


def likeness(written: Vector, wanted: Vector) -> float:
    """The mean over n of the clipped cosines, less for different lengths."""
    total = 0.0
    for ours, theirs, norm, other in zip(written.weights, wanted.weights, written.norms, wanted.norms, strict=True):
        if norm and other:
            total += sum(min(weight, theirs[gram]) * theirs[gram] for gram, weight in ours.items() if gram in theirs) / (norm * other)
    return total / LONGEST * math.exp(-((written.length - wanted.length) ** 2) / (2 * SIGMA**2))
