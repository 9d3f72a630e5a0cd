"""Dialogue turn by turn or word by word (Serban et al. 2016), where the answer needs what was said more than two turns before.

The flat encoder reads all turns as one text, with two layers, so that it has as many weights as the hierarchical one's two recurrences. On the films' dialogues
of the paper the two are about equal without pretraining (36.6 against 35.6): its point shows where a fact must travel far.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

FLAT = (
    "data.source.kind=text", "data.source.unit=word", "encoder.kind=rnn", "encoder.size=128", "encoder.embedding=64", "encoder.layers=2",
)  # fmt: skip
READERS: dict[str, tuple[str, ...]] = {"hred": (), "flat": FLAT}


@register("reproduction", "hred")
class Hred(Reproduction):
    """The mean test perplexity of three hierarchical trainings over that of three flat ones."""

    system, paper = "GRU over words, GRU over turns, GRU decoder", "Serban et al. 2016"
    metric, floor, higher_is_better = "perplexity of the last turn, hierarchical over flat", 1.0, False
    seeds = (1, 2, 3)
    differs = "made-up dialogues of seven turns, whose answer needs the first, instead of films' triples; 128 units"

    def plans(self) -> list[Plan]:
        return [Plan(f"{name}-{seed}", "hred", (*changes, f"training.seed={seed}")) for name, changes in READERS.items() for seed in self.seeds]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        each = {name: one.test["perplexity"] for name, one in found.items()}
        right = {name: 100 * one.test["exact"] for name, one in found.items()}
        mean = {reader: statistics.mean(each[f"{reader}-{seed}"] for seed in self.seeds) for reader in READERS}
        lower = sum(each[f"hred-{seed}"] < each[f"flat-{seed}"] for seed in self.seeds)
        return Summary(mean["hred"] / mean["flat"], {"mean_perplexity": mean, "claims": {"lower with every seed": lower == len(self.seeds)}, "perplexity": each, "percent_right": right})
