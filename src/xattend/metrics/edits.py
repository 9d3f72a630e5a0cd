"""Error rates: the fewest insertions, deletions and substitutions that mend the outputs, a unit of the references.

    rate = sum of edits / sum of reference lengths        (a share: 0.1 is 10 %; it can exceed 1)

With several references the one with the fewest edits counts, the first of equals. Characters are Unicode code points
after NFC normalisation, so that an accent typed as one or as two code points is no error; they are not graphemes.

>>> CharacterErrorRate().compute(["kitten"], [["sitting"]])  # 3 edits / 7 letters
0.42857142857142855
>>> WordErrorRate().compute(["the cat sat"], [["the cat sat down"]])
0.25
"""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein

from xattend.errors import UserError
from xattend.metrics.base import Counts, Metric
from xattend.registry import register


class _ErrorRate(Metric):
    higher_is_better = False

    def units(self, text: str) -> Sequence[Hashable]:
        """What is counted."""
        raise NotImplementedError

    def statistics(self, outputs: list[str], references: list[list[str]]) -> Counts:
        rows = []
        for output, accepted in zip(outputs, references, strict=True):
            written, wanted = self.units(output), [self.units(reference) for reference in accepted]
            edits = [Levenshtein.distance(written, reference) for reference in wanted]
            best = edits.index(min(edits))
            rows.append((edits[best], len(wanted[best])))
        return np.array(rows, dtype=np.float64)

    def value(self, counts: Counts) -> float:
        edits, length = counts
        if length == 0:
            raise UserError("every reference is empty: an error rate has nothing to divide by")
        return float(edits / length)


@register("metric", "cer")
class CharacterErrorRate(_ErrorRate):
    """Edits a character (code point of NFC)."""

    def units(self, text: str) -> Sequence[Hashable]:
        return unicodedata.normalize("NFC", text)


@register("metric", "wer")
class WordErrorRate(_ErrorRate):
    """Edits a word; words are what spaces separate."""

    def units(self, text: str) -> Sequence[Hashable]:
        return unicodedata.normalize("NFC", text).split()


@register("metric", "per")
class PhonemeErrorRate(WordErrorRate):
    """Edits a symbol of a space-separated transcription: the same count as WER under the name phoneticians use."""
