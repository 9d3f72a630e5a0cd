"""BLEU (Papineni et al. 2002), by sacrebleu, 0 to 100, in the two forms that papers report.

    bleu      of plain text: sacrebleu's own tokenisation (13a), case kept, exponential smoothing. Used since 2018.
    bleu-tok  of text as it is, split at spaces, without smoothing: what multi-bleu.perl gives, as in papers of 2014-17.

Several references: n-grams may come from any of them, and the closest length counts.

>>> round(Bleu().compute(["the cat sat on the mat ."], [["the cat sat on the mat."]]), 1)
100.0
>>> round(BleuTokenised().compute(["the cat sat on the mat ."], [["the cat sat on the mat."]]), 2)
61.48
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from xattend.metrics.base import Counts, Metric
from xattend.registry import register


class _Sacrebleu(Metric):
    """Counts and formula are sacrebleu's; the sum between them is ours."""

    higher_is_better = True
    settings: ClassVar[dict[str, Any]]
    scorer: ClassVar[type[Any]]

    def statistics(self, outputs: list[str], references: list[list[str]]) -> Counts:
        # sacrebleu wants one list a reference number, None where an output has fewer
        most = max(map(len, references))
        streams = [[accepted[n] if n < len(accepted) else None for accepted in references] for n in range(most)]
        counts = self.scorer(**self.settings)._extract_corpus_statistics(outputs, streams)
        return np.array(counts, dtype=np.float64)

    def value(self, counts: Counts) -> float:
        score = self.scorer(**self.settings)._compute_score_from_stats([int(count) for count in counts])
        return float(score.score)


@register("metric", "bleu")
class Bleu(_Sacrebleu):
    """BLEU of plain text (13a)."""

    scorer = BLEU
    settings: ClassVar[dict[str, Any]] = {"tokenize": "13a", "force": True}


@register("metric", "bleu-tok")
class BleuTokenised(_Sacrebleu):
    """BLEU of tokens as they are, the multi-bleu form."""

    scorer = BLEU
    settings: ClassVar[dict[str, Any]] = {"tokenize": "none", "smooth_method": "none", "force": True}


@register("metric", "chrf")
class Chrf(_Sacrebleu):
    """chrF2 (Popović 2015): F-score of character n-grams up to 6, recall twice as important, 0 to 100."""

    scorer = CHRF
    settings: ClassVar[dict[str, Any]] = {}
