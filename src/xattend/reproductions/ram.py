"""RAM on MNIST (Mnih et al. 2014, tables 1 and 2): by the number of looks, translated, and cluttered beside its controls.

Models are chosen by the error on 8 % of the training digits, and the test digits lie where they always lie. One walk a picture, each place at
its mean. Every training has a budget of updates, by which its rate of learning is planned; RAM and its random control have the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

MNIST = (
    "data.task=", "data.train=mnist/train-images-idx3-ubyte.gz", "data.test=mnist/t10k-images-idx3-ubyte.gz", "data.format=idx", "data.folder=mnist",
    "data.split={ validation = 0.08 }",
)  # fmt: skip
DENSE = ("system.kind=classify", "encoder.kind=dense", "encoder.widths=[64, 64]")
CONVOLUTIONAL = ("system.kind=classify", "encoder.kind=dense", "encoder.filters=8", "encoder.widths=[256]")
CLUTTERED = 70_000  # updates on cluttered digits
SLACK = 0.2  # percent, by which more looks may be worse than fewer


def budget(updates: int) -> tuple[str, ...]:
    """So many, however many passes that is."""
    return "training.epochs=", f"training.steps={updates}", "training.validate_every=2000"


def error(one: Outcome) -> float:
    """Percent of the test pictures that are named wrongly."""
    return 100 * (1 - float(one.test["exact"]))


class Errors(Reproduction):
    """Trainings of one recipe on MNIST, by name; `ours` is the test error of the first."""

    metric, higher_is_better, from_scores = "test error, percent", False, True
    recipe: ClassVar[str]
    rows: ClassVar[dict[str, tuple[tuple[str, ...], int]]]  # by name: what is set otherwise, and the updates
    printed: ClassVar[dict[str, Any]] = {}

    def plans(self) -> list[Plan]:
        return [Plan(name, self.recipe, (*MNIST, *changes, *budget(updates))) for name, (changes, updates) in self.rows.items()]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        errors = {name: error(one) for name, one in found.items()}
        figures = {"error_percent": errors, "paper": self.printed, "minutes": {name: one.seconds / 60 for name, one in found.items()}}
        claims = self.claims(errors)
        return Summary(next(iter(errors.values())), {**figures, **({"claims": claims} if claims else {})})

    def claims(self, errors: Mapping[str, float]) -> dict[str, bool]:
        """What the paper says of them beside each other, and whether it is so here."""
        return {}

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        bars = {name: (value, 0.0) for name, value in figures["error_percent"].items()}
        return {"table": Plot("MNIST", "", "test error, percent", bars=bars), **super().plots(found, figures)}


@register("reproduction", "ram-28")
class Plain(Errors):
    """Digits as they are, and two, four and six looks."""

    system, paper = "RAM, six looks of 8 x 8 pixels", "Mnih et al. 2014"
    published, floor = 1.29, 1.4
    differs = "Adam with a cosine and weight decay instead of SGD with momentum; a hidden layer in the location network; 65,000 updates of 128 digits, about 150 passes"
    recipe = "ram"
    rows: ClassVar = {"looks6": ((), 65_000), "looks4": (("system.looks=4",), 45_000), "looks2": (("system.looks=2",), 30_000)}
    printed: ClassVar = {"arXiv": {"looks2": 6.27, "looks4": 1.73, "looks6": 1.29}, "NIPS": {"looks2": 3.79, "looks4": 1.54, "looks6": 1.12}}

    def claims(self, errors: Mapping[str, float]) -> dict[str, bool]:
        return {"falling": errors["looks4"] <= errors["looks2"] + SLACK and errors["looks6"] <= errors["looks4"] + SLACK}


@register("reproduction", "ram-translated")
class Translated(Errors):
    """Digits somewhere in 60 x 60 pixels."""

    system, paper = "RAM, six looks of 12 x 12 at three scales", "Mnih et al. 2014"
    published, floor = 1.86, 2.2
    differs = "Adam with a cosine and weight decay instead of SGD with momentum; a hidden layer in the location network; 70,000 updates of 128 digits"
    recipe = "ram-translated"
    rows: ClassVar = {"ram": ((), 70_000)}
    printed: ClassVar = {"arXiv": {"ram": 1.86}, "NIPS": {"ram": 1.22, "FC 64": 6.42, "convolutional": 1.62}}


@register("reproduction", "ram-cluttered")
class Cluttered(Errors):
    """Digits among pieces of others in 60 x 60 pixels, beside looks at random and networks of about as many weights that see everything."""

    system, paper = "RAM, eight looks of 12 x 12 at three scales", "Mnih et al. 2014"
    published, floor = 5.23, 6.0
    differs = "Adam with a cosine and weight decay instead of SGD with momentum; a hidden layer in the location network; 70,000 updates of 128 digits, as many for random looks, 15,000 for the networks that see everything"
    recipe = "ram-cluttered"
    rows: ClassVar = {
        "ram": ((), CLUTTERED), "random": (("system.policy=random",), CLUTTERED), "centre": (("system.policy=centre",), 5_000),
        "convolutional": (CONVOLUTIONAL, 15_000), "dense": (DENSE, 15_000),
    }  # fmt: skip
    printed: ClassVar = {"arXiv": {"ram": 5.23, "convolutional": 7.83}, "NIPS": {"ram": 4.04, "random": 14.4, "convolutional": 8.09, "dense": 28.58}}

    def claims(self, errors: Mapping[str, float]) -> dict[str, bool]:
        return {
            "below the convolutional control": errors["ram"] < errors["convolutional"], "below the fully connected control": errors["ram"] < errors["dense"],
            "at most half of the random policy": errors["ram"] <= errors["random"] / 2,
        }  # fmt: skip
