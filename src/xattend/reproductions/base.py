"""A reproduction: a paper's claim, the trainings that test it, and how its figure is made from their scores.

Models are chosen on validation rows, inside each training; test rows are decoded once, when a training has ended.

    @register("reproduction", "mine")
    class Mine(OneRecipe):
        recipe, seeds, key = "translate", (1, 2, 3), "bleu-tok"
        paper, system, metric, published, floor = "Somebody 2020", "attention GRU", "test BLEU", 30.0, 29.0
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from xattend.report.plot import Plot
from xattend.trial import Trial


class Plan(NamedTuple):
    """One training of a reproduction: what to call it, a shipped recipe, what is set otherwise, and the earlier plan whose weights it begins with."""

    name: str
    recipe: str
    overrides: tuple[str, ...] = ()
    start: str | None = None


@dataclass(frozen=True)
class Outcome:
    """A plan carried out: the trained trial, its scores on validation and test rows, the seconds of its training, and the metric that its model was
    chosen by against passes over the data."""

    trial: Trial
    validation: dict[str, Any]
    test: dict[str, Any]
    seconds: float
    curve: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Summary:
    """The headline figure, and the rest by name."""

    ours: float
    figures: dict[str, Any] = field(default_factory=dict)


class Reproduction:
    """A subclass gives the facts below, `plans` and `summary`."""

    system: ClassVar[str]
    paper: ClassVar[str]
    metric: ClassVar[str]  # what `ours` and `published` are
    higher_is_better: ClassVar[bool] = True
    published: ClassVar[float | None] = None
    floor: ClassVar[float | None] = None
    differs: ClassVar[str] = ""  # from the paper
    seeds: ClassVar[tuple[int, ...]] = (1,)
    variants: ClassVar[bool] = False  # whether rows with one source are one question with several right answers
    from_scores: ClassVar[bool] = False  # whether `summary` needs scores alone: then a long table can be filled in bit by bit (unfinished.py)
    registered_name: ClassVar[str]

    def plans(self) -> list[Plan]:
        raise NotImplementedError

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        """From every plan's outcome, by its name."""
        raise NotImplementedError

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        """Pictures by file name, without its ending: those of a subclass, and what every reproduction has, its learning curves."""
        return {"learning": learning_curves(found)}

    def reached(self, ours: float) -> bool | None:
        """Whether the floor is; None if there is none."""
        if self.floor is None:
            return None
        return ours >= self.floor if self.higher_is_better else ours <= self.floor


def learning_curves(found: Mapping[str, Outcome]) -> Plot:
    """The metric that trainings were chosen by, on validation rows, against passes over the data: of those that go by the first one's."""
    metric = next(iter(found.values())).trial.recipe.training.metric
    curves = {label: one.curve for label, one in found.items() if one.curve and one.trial.recipe.training.metric == metric}
    return Plot("Validation", "passes over the data", metric, curves)


def learning_curve(trial: Trial) -> list[tuple[float, float]]:
    """That of one training, from what it wrote down."""
    metric = f"validation_{trial.recipe.training.metric}"
    return [(line["epoch"], line[metric]) for line in trial.log() if metric in line]


class OneRecipe(Reproduction):
    """A shipped recipe, trained once a seed; the figure is the mean of one test metric."""

    recipe: ClassVar[str]
    key: ClassVar[str]  # of the metrics
    scale: ClassVar[float] = 1.0  # 100 turns a share into percent

    def plans(self) -> list[Plan]:
        return [Plan(f"seed{seed}", self.recipe, (f"training.seed={seed}",)) for seed in self.seeds]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        values = [self.scale * one.test[self.key] for one in found.values()]
        spread = {"standard_deviation": statistics.stdev(values)} if len(values) > 1 else {}
        return Summary(statistics.mean(values), {"by_training": dict(zip(found, values, strict=True)), **spread})
