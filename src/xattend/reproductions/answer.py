"""Questions about a picture, answered by looking (Kazemi and Elqursh 2017, Xu and Saenko 2016), on scenes that are drawn.

A question about one thing needs one look at that thing; a relational one, how things lie to each other. Two trainings: one look, and none,
where the decoder is given the question and the mean of the picture's places. Where an answer should look is known for each question that is
about a thing (`Questions.gold`).
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
    "look": (),
    "none": ("attention.kind=every-step", "encoder.summary=both"),
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
    """Questions about one thing, with a look at the picture and without."""

    system, paper = "CNN, GRU over the question, scaled dot attention", "Kazemi and Elqursh 2017"
    metric, floor = "questions about one thing, percent right", 95.0
    differs = "drawn scenes of 2 to 6 shapes instead of photos, a small CNN trained with the rest instead of ResNet-152, places that show the ground alone left out, answers of one word of 17"

    def plans(self) -> list[Plan]:
        return [Plan(name, "answer", changes) for name, changes in TRIALS.items()]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        right = {name: accuracy(*one.trial.outputs("test")) for name, one in found.items()}
        looks = self.looks(found["look"].trial)
        figures: dict[str, Any] = {
            "percent_right": right, "pointing": looks, "pointing_percent": looks["one thing"],
            "gain_of_attention": right["look"]["all"] - right["none"]["all"], "floors": FLOORS,
        }  # fmt: skip
        figures["floors_reached"] = {name: (figures[name] or 0.0) >= least for name, least in FLOORS.items()}
        return Summary(right["look"]["one thing"], figures)

    def looks(self, trial: Trial) -> dict[str, float | None]:
        """The pointing game on questions about one thing and on relational ones."""
        return {"one thing": pointing(trial, lambda source: sort(source) == "one thing"), "relational": pointing(trial, relational)}
