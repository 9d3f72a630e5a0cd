"""Describing films (Yao et al. 2015, table 1): motion features and attention over time, each alone and both together.

    plain    frame features, their mean at every step                 (Venugopalan et al. 2015)
    3-D      features of 3-D convolutions beside them, the mean of both
    frames   frame features, attention over time
    both     frame and 3-D features, attention over time

The films are drawn (task passing-digits): three digits one after another, all going the same way. Which digit there is is seen in a frame. Where
it goes is not: a scene played backwards has the same frames. And which digit came first is lost in a mean.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

MEAN = "attention.kind=every-step"
FRAMES = ("encoder.kind=frames", "encoder.size=192", "encoder.widths=[16, 32, 64]", "encoder.pool=none")  # states as wide as those of both together
ROWS = {"plain": (*FRAMES, MEAN), "3-D": (MEAN,), "frames": FRAMES, "both": ()}
YOUTUBE = {"plain": 33.09, "3-D": 33.42, "frames": 27.89, "both": 27.55}  # perplexity on Youtube2Text
DVS = {"plain": 88.28, "3-D": 84.41, "frames": 66.63, "both": 65.44}  # and on the Montreal DVS films
ORDER = ("both", "frames", "3-D", "plain")  # best first


@register("reproduction", "video")
class Video(Reproduction):
    """Perplexity and exact captions of the four rows."""

    system, paper = "frames and 3-D convolutions, attention over time, LSTM decoder", "Yao et al. 2015"
    metric, higher_is_better = "test perplexity of both together", False
    differs = (
        "drawn films of three digits instead of Youtube2Text and DVS, whose perplexities are no measure for these; small networks "
        "trained on the films instead of GoogLeNet and a 3-D network trained apart on descriptors of motion; frames have positions; Adam"
    )
    seeds = (1, 2, 3)

    def plans(self) -> list[Plan]:
        return [Plan(f"{row}-{seed}", "video", (*given, f"training.seed={seed}")) for row, given in ROWS.items() for seed in self.seeds]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        def values(row: str, key: str, scale: float = 1.0) -> list[float]:
            return [scale * float(found[f"{row}-{seed}"].test[key]) for seed in self.seeds]

        perplexity = {row: statistics.mean(values(row, "perplexity")) for row in ROWS}
        exact = {row: statistics.mean(values(row, "exact", 100)) for row in ROWS}
        return Summary(perplexity["both"], {
            "perplexity": perplexity,
            "perplexity_standard_deviation": {row: statistics.stdev(values(row, "perplexity")) for row in ROWS},
            "exact_captions_percent": exact,
            "exact_standard_deviation": {row: statistics.stdev(values(row, "exact", 100)) for row in ROWS},
            "paper_perplexity_youtube2text": YOUTUBE, "paper_perplexity_dvs": DVS,
            "claims": {
                "both > frames > 3-D > plain in perplexity": [perplexity[row] for row in ORDER] == sorted(perplexity.values()),
                "both > frames > 3-D > plain in exact captions": [exact[row] for row in ORDER] == sorted(exact.values(), reverse=True),
            },
        })  # fmt: skip

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        bars = {row: (value, figures["exact_standard_deviation"][row]) for row, value in figures["exact_captions_percent"].items()}
        return {"table": Plot("Captions of drawn films", "", "exact captions, percent", bars=bars), **super().plots(found, figures)}
