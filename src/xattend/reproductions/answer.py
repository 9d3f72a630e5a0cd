"""Questions about a picture, answered by looking (Kazemi and Elqursh 2017, Xu and Saenko 2016), on scenes that are drawn.

A question about one thing needs one look at that thing; a relational one, how things lie to each other. Three trainings: one look, two
looks, and none, where the decoder is given the question and the mean of the picture's places. Where an answer should look is known for
each question that is about a thing (`Questions.gold`).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xattend.data.tasks.questions import relational
from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary
from xattend.trial import Trial

TRIALS: dict[str, tuple[str, ...]] = {
    "hops1": ("decoder.hops=1",),
    "hops2": ("decoder.hops=2",),
    "none": ("attention.kind=every-step", "encoder.summary=both", "decoder.hops=1"),
}
FLOORS = {"pointing_percent": 90.0, "gain_of_attention": 10.0}


def accuracy(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Percent right, of all questions and of each sort.

    >>> accuracy(["p|is the red thing small", "p|what shape is left of the red thing"], ["yes", "cross"], ["yes", "square"])
    {'all': 50.0, 'one thing': 100.0, 'relational': 0.0}
    """
    right: dict[str, list[float]] = {"all": [], "one thing": []}
    for source, output, reference in zip(sources, outputs, references, strict=True):
        for name in ("all", sort(source)):
            right.setdefault(name, []).append(100.0 * (output == reference))
    return {name: statistics.mean(scores) for name, scores in right.items()}


def sort(source: str) -> str:
    """What a question is about: one thing, how things lie to each other, or how many there are, for which the whole picture must be seen.

    >>> sort("p|how many circles are there"), sort("p|how many other things have the shape of the red thing")
    ('counting', 'relational')
    """
    if relational(source):
        return "relational"
    return "counting" if source.rpartition("|")[2].startswith("how many ") else "one thing"


def pointing(trial: Trial, keep: Callable[[str], bool]) -> float | None:
    """Percent of the test answers to some questions that look at the thing they speak of."""
    from xattend.cli import scores
    from xattend.cli.evaluate import rows_of

    found = scores.pointing(trial.model(), (row for row in rows_of(trial.data.splits["test"]) if keep(row.source)))
    return None if found is None else 100 * found


@register("reproduction", "answer")
class Answer(Reproduction):
    """Questions about one thing, by the number of looks that is best on validation rows."""

    system, paper = "CNN, GRU over the question, scaled dot attention in hops", "Kazemi and Elqursh 2017"
    metric, floor = "questions about one thing, percent right", 95.0
    differs = "drawn scenes of 2 to 6 shapes instead of photos, a small CNN trained with the rest instead of ResNet-152, answers of one word of 17"

    def plans(self) -> list[Plan]:
        return [Plan(name, "answer", changes) for name, changes in TRIALS.items()]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        right = {name: accuracy(*one.trial.outputs("test")) for name, one in found.items()}
        best = max(("hops1", "hops2"), key=lambda name: found[name].validation["exact"])
        looks = {name: self.looks(found[name].trial) for name in ("hops1", "hops2")}
        figures: dict[str, Any] = {
            "percent_right": right, "best": best, "pointing_percent": looks,
            "gain_of_attention": right[best]["all"] - right["none"]["all"], "floors": FLOORS,
        }  # fmt: skip
        reached = {"pointing_percent": looks[best]["one thing"] or 0.0, "gain_of_attention": figures["gain_of_attention"]}
        figures["floors_reached"] = {name: reached[name] >= least for name, least in FLOORS.items()}
        return Summary(right[best]["one thing"], figures)

    def looks(self, trial: Trial) -> dict[str, float | None]:
        """The pointing game on questions about one thing and on relational ones; of two looks the last counts."""
        return {"one thing": pointing(trial, lambda source: sort(source) == "one thing"), "relational": pointing(trial, relational)}
