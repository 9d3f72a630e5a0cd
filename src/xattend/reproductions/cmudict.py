"""CMUdict without stress on CNTK's split: word error, a word with several pronunciations being right if one of them is written."""

from __future__ import annotations

from collections.abc import Mapping

from xattend.registry import register
from xattend.reproductions.base import OneRecipe, Outcome, Summary


@register("reproduction", "cmudict")
class Cmudict(OneRecipe):
    """Word error in percent. Published figures are of other splits, which differ by up to ten points."""

    recipe, key = "cmudict", "exact"
    system, paper = "attention LSTM, letters to phonemes", "Toshniwal and Livescu 2016 (another split, five models together: 20.24)"
    metric, higher_is_better, floor = "word error, percent", False, 29.0
    variants = True
    differs = "CNTK's split of CMUdict 0.7b, on which no attention model is published"

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        (one,) = found.values()
        return Summary(100 * (1 - one.test["exact"]), {"phoneme_error": 100 * one.test["per"]})
