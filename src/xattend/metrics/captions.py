"""What metrics of captions share: which words count, when they are computed, and the mean over pictures.

Captioning papers compare words in lower case without punctuation, against all references of a picture. So do bleu-1 to bleu-4
(bleu.py), rouge-l, cider-d and meteor-like. They are left out of an evaluation in which no output has several references
(`Metric.several`).

>>> words("A man's dog, well-fed, runs!")
['a', "man's", 'dog', 'well-fed', 'runs']
"""

from __future__ import annotations

import re

import numpy as np

from xattend.metrics.base import Counts, Metric

WORD = re.compile(r"\w+(?:['’-]\w+)*")


def words(text: str) -> list[str]:
    """Words in lower case; a hyphen or an apostrophe inside a word belongs to it."""
    return WORD.findall(text.lower())


class MeanOfRows(Metric):
    """A score for each output, and the mean of them. A subclass writes `scores`."""

    higher_is_better = True
    several = True

    def scores(self, outputs: list[list[str]], references: list[list[list[str]]]) -> list[float]:
        """One score an output; all are lists of words."""
        raise NotImplementedError

    def statistics(self, outputs: list[str], references: list[list[str]]) -> Counts:
        found = self.scores([words(text) for text in outputs], [[words(text) for text in accepted] for accepted in references])
        return np.array([(score, 1.0) for score in found], dtype=np.float64)

    def value(self, counts: Counts) -> float:
        return float(counts[0] / counts[1])
