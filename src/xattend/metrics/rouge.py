"""ROUGE-L (Lin 2004) of captions: the longest common subsequence of words, as COCO's scorer takes it. 0 to 1.

    P = max over references of lcs / words of the output       R = max over references of lcs / words of the reference
    F = (1 + beta^2) P R / (R + beta^2 P),  beta = 1.2          the mean of F over outputs

The two maxima are taken apart, so they may come from different references. That is COCO's way, not Lin's.

>>> round(RougeL().compute(["police killed the gunman"], [["police kill the gunman"]]), 2)  # Lin's example: 3 of 4 words
0.75
"""

from __future__ import annotations

from rapidfuzz.distance import LCSseq

from xattend.metrics.captions import MeanOfRows
from xattend.registry import register

BETA = 1.2


@register("metric", "rouge-l")
class RougeL(MeanOfRows):
    """F-score of the longest common subsequence, recall a little more important; for captions."""

    def scores(self, outputs: list[list[str]], references: list[list[list[str]]]) -> list[float]:
        return [_score(written, accepted) for written, accepted in zip(outputs, references, strict=True)]


def _score(written: list[str], accepted: list[list[str]]) -> float:
    common = [LCSseq.similarity(written, wanted) for wanted in accepted]
    if not any(common):
        return 0.0
    precision = max(common) / len(written)
    recall = max(length / len(wanted) for length, wanted in zip(common, accepted, strict=True) if wanted)
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)
