"""Exact match: the share of outputs that equal one of their references (after NFC normalisation).

>>> ExactMatch().compute(["a", "b"], [["a"], ["c", "d"]])
0.5
"""

from __future__ import annotations

import unicodedata

import numpy as np

from xattend.metrics.base import Counts, Metric
from xattend.registry import register


@register("metric", "exact")
class ExactMatch(Metric):
    """Right or wrong, the whole output at once."""

    higher_is_better = True

    def statistics(self, outputs: list[str], references: list[list[str]]) -> Counts:
        def same(output: str, accepted: list[str]) -> bool:
            return unicodedata.normalize("NFC", output) in {unicodedata.normalize("NFC", text) for text in accepted}

        return np.array([(same(*pair), 1) for pair in zip(outputs, references, strict=True)], dtype=np.float64)

    def value(self, counts: Counts) -> float:
        return float(counts[0] / counts[1])
