"""Listen, Attend and Walk on SAIL (Mei, Bansal and Walter 2016, tables 1 and 2): each map is tested on by a model that learnt on the other
two.

A walk is right if it ends at the right place in the right direction, as in all work on single sentences. Models are chosen on a tenth of
the training rows. The paper has ten models of different seeds walk together, and so has the full
model here; what its parts are worth is the mean of models that walk alone. The paper begins a walk whose first direction is unknown in the direction of the right path, which makes a present of
the first turn (J. Andreas found this); `absolute` begins it at 0 degrees.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from xattend.data.fields.walk import Walk as WalkField
from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary
from xattend.trial import Trial

MAPS = ("grid", "jelly", "l")
WAYS: dict[str, tuple[str, ...]] = {
    "full": (), "high-level": ("encoder.skip=false",), "no-aligner": ("attention.kind=every-step", "encoder.skip=false"),
    "no-encoder": ("encoder.kind=embedding", "encoder.size=100", "encoder.dropout=0.3"),
    "absolute": ("data.format=sail-absolute",),
}  # fmt: skip
SEEDS = {"full": tuple(range(1, 11)), "no-aligner": (1, 2, 3), "no-encoder": (1, 2, 3), "high-level": (1,), "absolute": (1,)}
PAPER = {"full": 69.98, "high-level": 68.09, "no-aligner": 68.05, "no-encoder": 61.63, "full, chosen on test": 71.05}


def arrivals(field: WalkField, sources: Sequence[str], written: Sequence[str], wanted: Sequence[str]) -> float:
    """Percent of walks that end where they should, in the right direction."""
    world, right = field.world, 0
    for source, text, target in zip(sources, written, wanted, strict=True):
        pose = field.pose(source)
        right += world.walk(pose, text.split()) == world.walk(pose, target.split())
    return 100.0 * right / max(1, len(sources))


def accuracy(trials: Sequence[Trial]) -> float:
    """Of one training, or of several that walk together, on their test map."""
    from xattend.cli.evaluate import rows_of

    first = trials[0]
    assert isinstance(first.data.source, WalkField)
    if len(trials) == 1:
        return arrivals(first.data.source, *first.outputs("test"))
    model = first.model().together(other.model() for other in trials[1:])
    rows = list(rows_of(first.data.splits["test"]))
    written = [found.text for found in model.predict_rows(iter(rows), first.search(model))]
    return arrivals(first.data.source, [row.source for row in rows], written, [row.target or "" for row in rows])


def on(place: str) -> tuple[str, ...]:
    """The settings that test on one map and learn on the others."""
    others = "+".join(name for name in MAPS if name != place)
    return f"data.train=sail/SingleSentence.xml#{others}", f"data.test=sail/SingleSentence.xml#{place}"


@register("reproduction", "walk")
class Walk(Reproduction):
    """Single sentences, averaged over the three maps, with what each part is worth."""

    system, paper = "BiLSTM 100, multi-level aligner, LSTM 100 that sees where it is", "Mei et al. 2016"
    metric, published, floor = "single-sentence accuracy over three maps, ten models together, percent", 69.98, 66.0
    differs = "batches of 16 instead of single rows, more dropout, parts compared by models that walk alone"
    seeds = SEEDS["full"]

    def plans(self) -> list[Plan]:
        return [
            Plan(f"{way}-{place}-{seed}", "walk", (*on(place), *changes, f"training.seed={seed}"))
            for way, changes in WAYS.items() for place in MAPS for seed in SEEDS[way]
        ]  # fmt: skip

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        each = {name: self.accuracy([one.trial]) for name, one in found.items()}
        alone = {way: statistics.mean(each[f"{way}-{place}-{seed}"] for place in MAPS for seed in seeds) for way, seeds in SEEDS.items()}
        together = {place: self.accuracy([found[f"full-{place}-{seed}"].trial for seed in SEEDS["full"]]) for place in MAPS}
        claims = {
            "full at least without aligner": alone["full"] >= alone["no-aligner"],
            "without aligner at least without encoder": alone["no-aligner"] >= alone["no-encoder"],
        }
        figures = {"percent_right_alone": alone, "percent_right_together": together, "by_training": each, "paper": PAPER, "claims": claims}
        return Summary(statistics.mean(together.values()), figures)

    def accuracy(self, trials: Sequence[Trial]) -> float:
        return accuracy(trials)

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        bars = {name: (value, 0.0) for name, value in figures["percent_right_alone"].items()}
        return {"table": Plot("SAIL, single sentences, each model alone", "", "percent right", bars=bars), **super().plots(found, figures)}
