"""Score functions beside each other (Luong et al. 2015, table 4), on French pronunciation, where a training takes minutes."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

KINDS = ("location", "dot", "bilinear", "concat", "additive", "local-m", "local-p")
PAPER = {"location": 18.1, "dot": 18.6, "bilinear": 17.3, "local-m": 18.6, "local-p": 19.0}  # BLEU, before unknown words are replaced


@register("reproduction", "scores")
class Scores(Reproduction):
    """Word error of each score function, over seeds."""

    system, paper = "attention LSTM, letters to phonemes", "Luong et al. 2015"
    metric, higher_is_better = "word error of the best score function, percent", False
    differs = "letters to phonemes instead of translation, 18 passes; the paper's column is BLEU"
    seeds = (1, 2, 3)

    def plans(self) -> list[Plan]:
        short = ("training.epochs=18.0", "training.precision=bfloat16")
        return [
            Plan(f"{kind}-{seed}", "pronounce", (f"attention.kind={kind}", f"training.seed={seed}", *short)) for kind in KINDS for seed in self.seeds
        ]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        errors = {kind: [100 * (1 - found[f"{kind}-{seed}"].test["exact"]) for seed in self.seeds] for kind in KINDS}
        mean = {kind: statistics.mean(values) for kind, values in errors.items()}
        spread = {kind: statistics.stdev(values) for kind, values in errors.items()}
        return Summary(min(mean.values()), {"word_error": mean, "standard_deviation": spread, "paper_bleu": PAPER})

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        bars = {name: (value, figures["standard_deviation"][name]) for name, value in figures["word_error"].items()}
        return {"table": Plot("Score functions, French pronunciation", "", "word error, percent", bars=bars), **super().plots(found, figures)}
