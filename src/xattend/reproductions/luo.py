"""Online hard alignments (Luo et al. 2016): the same model learnt from the exact sum over all alignments, and from drawn ones by policy
gradient.

The lectures call the curves of the second a nightmare. Both are judged by the exact marginal likelihood on validation rows, so that
the curves can be laid over each other. There is no figure of the paper to reach: its data is TIMIT.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary
from xattend.trial import Trial

WAYS = {
    "marginal": (), "policy": ("system.learn=policy-gradient",),
    "policy-no-baseline": ("system.learn=policy-gradient", "system.baseline=false"),
}  # fmt: skip


def curve(trial: Trial) -> list[tuple[float, float]]:
    """Passes over the data, and exact nats a token on validation rows."""
    return [(line["epoch"], line["validation_loss"]) for line in trial.log() if "validation_loss" in line]


@register("reproduction", "luo")
class Luo(Reproduction):
    """Token error of the exact sum, with the policy gradient's beside it."""

    system, paper = "LSTM that decides at every step whether to write, 96 wide", "Luo et al. 2016"
    metric, higher_is_better = "token error of the exact marginal, percent", False
    differs = "noisy runs of symbols instead of TIMIT; a state that does not read the decisions, which is what makes the exact sum possible"
    seeds = (1, 2, 3)

    def plans(self) -> list[Plan]:
        return [Plan(f"{way}-{seed}", "luo", (*changes, f"training.seed={seed}")) for way, changes in WAYS.items() for seed in self.seeds]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        every = {name: {"error_percent": 100 * one.test["per"], "nll": one.test["nll"]} for name, one in found.items()}
        mean = {
            way: {key: statistics.mean(every[f"{way}-{seed}"][key] for seed in self.seeds) for key in ("error_percent", "nll")}
            for way in WAYS
        }
        spread = {way: statistics.stdev(every[f"{way}-{seed}"]["nll"] for seed in self.seeds) for way in WAYS}
        return Summary(mean["marginal"]["error_percent"], {
            "mean": mean, "nll_standard_deviation": spread, "by_training": every,
            "claims": {"the sum is learnt better": mean["marginal"]["nll"] < mean["policy"]["nll"]},
        })  # fmt: skip

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        lines = {name: points for name, one in found.items() if "no-baseline" not in name and (points := curve(one.trial))}  # nine lines are a tangle
        drawn = Plot("Online alignments", "passes over the data", "nats a token, exact, validation", lines)
        return {"curves": drawn, **super().plots(found, figures)}
