"""A metric of captions in the manner of METEOR (Banerjee and Lavie 2005), our own: never to be compared with a METEOR that a paper prints.

    P = matches / words of the output      R = matches / words of the reference      F = 10 P R / (R + 9 P)
    value = F (1 - (chunks / matches)^3 / 2)      chunks: runs of words that stand in the same order in both. 0 to 1

Sums are over the corpus; of several references the best for each output counts. What is ours: words match if they are the same after
a few English endings are cut off (`stem`), where METEOR 1.5 knows Porter's stems, synonyms and paraphrases and has tuned weights; and
chunks are found greedily, longest run first.

>>> round(MeteorLike().compute(["the cat was sat on the mat"], [["the cat sat on the mat"]]), 4)
0.9654
>>> [stem(word) for word in ("riding", "rides", "running", "runs", "boxes", "string")]
['rid', 'rid', 'run', 'run', 'box', 'string']
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from xattend.metrics.base import Counts, Metric
from xattend.metrics.captions import words
from xattend.registry import register

ENDINGS = ("'s", "’s", "ing", "ed", "ly", "es", "s")


def stem(word: str) -> str:
    """A word without a common English ending: not its root, but mostly the same for the forms of one word."""
    for ending in ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and any(letter in "aeiouy" for letter in rest) and not (ending == "s" and rest.endswith("s")):
            word = rest
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def chunks(written: list[str], wanted: list[str]) -> list[int]:
    """The lengths of the runs that both have: each word is used once, longer runs first.

    >>> chunks("on the mat sat the cat".split(), "the cat sat on the mat".split())
    [3, 2, 1]
    """
    places = defaultdict(list)
    for place, word in enumerate(wanted):
        places[word].append(place)
    free = {(i, j) for i, word in enumerate(written) for j in places[word]}
    found = []
    while free:
        length, _, (i, j) = max((_run(free, pair), (-pair[0], -pair[1]), pair) for pair in free)
        found.append(length)
        ours, theirs = range(i, i + length), range(j, j + length)
        free = {(a, b) for a, b in free if a not in ours and b not in theirs}
    return found


def _run(free: set[tuple[int, int]], pair: tuple[int, int]) -> int:
    length = 1
    while (pair[0] + length, pair[1] + length) in free:
        length += 1
    return length


@register("metric", "meteor-like")
class MeteorLike(Metric):
    """Matches of words or their stems, less for scattered ones; for captions. Not METEOR."""

    higher_is_better = True
    several = True

    def statistics(self, outputs: list[str], references: list[list[str]]) -> Counts:
        def stems(text: str) -> list[str]:
            return [stem(word) for word in words(text)]

        def counted(written: list[str], wanted: list[str]) -> Counts:
            runs = chunks(written, wanted)
            return np.array([sum(runs), len(written), len(wanted), len(runs)], dtype=np.float64)

        rows = [[counted(stems(output), stems(text)) for text in accepted] for output, accepted in zip(outputs, references, strict=True)]
        return np.stack([max(row, key=self.value) for row in rows])

    def value(self, counts: Counts) -> float:
        matches, written, wanted, runs = (float(count) for count in counts)
        if not matches:
            return 0.0
        precision, recall = matches / written, matches / wanted
        return 10 * precision * recall / (recall + 9 * precision) * (1 - (runs / matches) ** 3 / 2)
