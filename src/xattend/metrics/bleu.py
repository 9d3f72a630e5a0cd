"""BLEU (Papineni et al. 2002), by sacrebleu, 0 to 100, in the forms that papers report.

    bleu      of plain text: sacrebleu's own tokenisation (13a), case kept, exponential smoothing. Used since 2018.
    bleu-tok  of text as it is, split at spaces, without smoothing: what multi-bleu.perl gives, as in papers of 2014-17.
    bleu-1 .. bleu-4   of captions: n-grams up to n, in lower case, without punctuation and smoothing. bleu-4 is bleu-tok of such text.

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
from xattend.metrics.captions import words
from xattend.registry import register


class _Sacrebleu(Metric):
    """Counts and formula are sacrebleu's; the sum between them is ours."""

    higher_is_better = True
    settings: ClassVar[dict[str, Any]]
    scorer: ClassVar[type[Any]]

    def form(self, text: str) -> str:
        """The text as it is compared."""
        return text

    def statistics(self, outputs: list[str], references: list[list[str]]) -> Counts:
        # sacrebleu wants one list a reference number, None where an output has fewer
        most = max(map(len, references))
        streams = [[self.form(accepted[n]) if n < len(accepted) else None for accepted in references] for n in range(most)]
        counts = self.scorer(**self.settings)._extract_corpus_statistics([self.form(text) for text in outputs], streams)
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


class _OfCaptions(BleuTokenised):
    several = True

    def form(self, text: str) -> str:
        return " ".join(words(text))


@register("metric", "bleu-1")
class Bleu1(_OfCaptions):
    """BLEU of captions, words alone."""

    settings: ClassVar[dict[str, Any]] = {**BleuTokenised.settings, "max_ngram_order": 1}


@register("metric", "bleu-2")
class Bleu2(_OfCaptions):
    """BLEU of captions, up to pairs."""

    settings: ClassVar[dict[str, Any]] = {**BleuTokenised.settings, "max_ngram_order": 2}


@register("metric", "bleu-3")
class Bleu3(_OfCaptions):
    """BLEU of captions, up to triples."""

    settings: ClassVar[dict[str, Any]] = {**BleuTokenised.settings, "max_ngram_order": 3}


@register("metric", "bleu-4")
class Bleu4(_OfCaptions):
    """BLEU of captions, up to fours."""


@register("metric", "chrf")
class Chrf(_Sacrebleu):
    """chrF2 (Popović 2015): F-score of character n-grams up to 6, recall twice as important, 0 to 100."""

    scorer = CHRF
    settings: ClassVar[dict[str, Any]] = {}
