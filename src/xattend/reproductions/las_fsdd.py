"""Listen, Attend and Spell (Chan et al. 2016) on strings of recorded digits, and what each of its parts is worth."""

from __future__ import annotations

from collections.abc import Mapping

from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

TRIALS: dict[str, tuple[str, ...]] = {
    "full": (),
    "without pyramid": ("encoder.layers=3", "encoder.halve=0"),
    "without sampling": ("objective.main=cross-entropy",),
    "without ctc": ("objective.weight=0.0",),
}


@register("reproduction", "las-fsdd")
class LasFsdd(Reproduction):
    """Digit error of whole strings."""

    system, paper = "pyramidal BiLSTM, additive attention, LSTM, auxiliary CTC", "Chan et al. 2016"
    from_scores = True
    metric, higher_is_better, floor = "FSDD strings of 3 to 7 digits, digit error, percent", False, 10.0
    differs = "digit strings put together from recordings instead of voice search, time divided by 4 instead of 8, 128 units instead of 256, Adam, auxiliary CTC"

    def plans(self) -> list[Plan]:
        return [Plan(name.replace(" ", "-"), "las-fsdd", changes) for name, changes in TRIALS.items()]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        error = {name: 100 * one.test["cer"] for name, one in found.items()}
        whole = {name: 100 * (1 - one.test["exact"]) for name, one in found.items() if "exact" in one.test}
        paper = {"LAS": 16.2, "LAS + sampling": 14.1, "LAS + sampling + language model": 10.3}
        return Summary(error["full"], {"digit_error": error, "string_error": whole, "aim": 3.0, "paper_word_error": paper})
