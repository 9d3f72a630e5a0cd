"""Machines with a memory (Graves et al. 2014; 2016): what they learn on short sequences holds for longer ones, and for more slots.

Test rows of other lengths, or for more slots, are drawn from a seed of their own when the trainings have ended. A cost is in bits a sequence:
the negative log-likelihood of its answer, to base 2. The machines' validation rows are of the lengths trained on.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Any, ClassVar

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary
from xattend.trial import Trial

ROWS, SHAPE, SEED = 400, 4, 77  # rows drawn for a figure, so many of each shape
NO_MEMORY = ("system.read=[]", "system.write=[]")
SHORT = ("training.steps=4000", "training.seed=1")  # of a network without a memory, which has long stopped learning by then


def seeded(name: str, recipe: str, seeds: tuple[int, ...]) -> list[Plan]:
    return [Plan(f"{name}-{seed}", recipe, (f"training.seed={seed}",)) for seed in seeds]


def best_of(found: Mapping[str, Outcome], prefix: str) -> str:
    """Of the trainings whose name begins so, that with the lowest loss on validation rows, which are like those trained on."""
    def loss(name: str) -> float:
        return min((line["validation_loss"] for line in found[name].trial.log() if "validation_loss" in line), default=math.inf)

    return min((name for name in found if name.startswith(prefix)), key=loss)


def cost(trial: Trial, *, slots: int | None = None, **settings: Any) -> dict[str, float]:
    """Bits a sequence, and percent of bits wrong, on rows of the trial's task with other settings, and with other slots if these are given."""
    import torch

    from xattend import registry
    from xattend.data.tasks.bits import Drawn
    from xattend.model import Model
    from xattend.systems.machine import Machine, batches

    model = Model.load(trial.path, [] if slots is None else [f"system.slots={slots}"])
    given = dict(trial.recipe.data.task or {})  # type: ignore[arg-type]
    task, system = registry.build("task", str(given.pop("kind")), **{**given, **settings}), model.system
    assert isinstance(task, Drawn)
    assert isinstance(system, Machine)
    nll, wrong, bits = 0.0, 0.0, 0
    with torch.inference_mode():
        for batch in batches(task, ROWS, seed=SEED, size=SHAPE):
            loss = system.loss(batch)
            nll, wrong, bits = nll + loss.parts["nll"], wrong + loss.parts["wrong_bits"], bits + loss.tokens * system.target.channels
    return {"bits": nll / math.log(2) / ROWS, "percent_wrong": 100 * wrong / bits}


class Machines(Reproduction):
    """A subclass says what is measured of each training (`measured`), by the training's name."""

    higher_is_better: ClassVar[bool] = False

    def measured(self, trial: Trial) -> dict[str, float]:
        raise NotImplementedError

    def all_measured(self, found: Mapping[str, Outcome]) -> dict[str, dict[str, float]]:
        return {name: self.measured(one.trial) for name, one in found.items()}


@register("reproduction", "ntm-copy")
class NtmCopy(Machines):
    """Median over five seeds of the bits at length 40, after lengths up to 20: three of five below the floor are a median below it."""

    system, paper = "neural Turing machine, LSTM controller of 100, 128 slots of 20", "Graves et al. 2014"
    metric, published, floor = "bits a sequence at length 40 (median)", 0.0, 1.0
    differs = "Adam at .004 with a cosine on batches of 16 instead of RMSProp at .0001 on single sequences; heads start at the first slot; the paper draws curves, ~0"
    seeds = (1, 2, 3, 4, 5)
    lengths: ClassVar[tuple[int, ...]] = (10, 20, 40, 60, 80, 100, 120)

    def plans(self) -> list[Plan]:
        machines = [Plan(f"ntm-{seed}", "ntm", (f"training.seed={seed}",)) for seed in self.seeds]
        return [*machines, Plan("lstm-1", "ntm", (*NO_MEMORY, "system.size=119", *SHORT))]

    def measured(self, trial: Trial) -> dict[str, float]:
        short = {"up to 20": cost(trial)["bits"]}
        return short | {str(length): cost(trial, min_length=length, max_length=length)["bits"] for length in self.lengths}

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        each = self.all_measured(found)
        machines = [each[f"ntm-{seed}"] for seed in self.seeds]
        below = sum(one["up to 20"] < 0.01 and one["40"] < 1.0 for one in machines)
        wanted = {"below .01 up to 20 and below 1 at 40, 3 of 5": below >= 3, "lstm above 10 at 40": each["lstm-1"]["40"] > 10}
        return Summary(statistics.median(one["40"] for one in machines), {"bits": each, "seeds_below": below, "claims": wanted})

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        lines = {name: [(float(n), max(1e-4, bits[str(n)])) for n in self.lengths] for name, bits in figures["bits"].items()}
        return {"lengths": Plot("Copying beyond what was trained", "words", "bits a sequence", lines, log_y=True), **super().plots(found, figures)}


@register("reproduction", "ntm-repeat")
class NtmRepeat(Machines):
    """Bits of a repeat copy on lengths and repeats like those trained on; twice as many, and more slots, in the figures."""

    system, paper = "neural Turing machine, LSTM controller of 100", "Graves et al. 2014"
    metric, floor = "bits a sequence, up to 10 words up to 10 times", 1.0
    differs = f"{NtmCopy.differs}; 32 slots instead of 128"
    slots = 128
    seeds = (1, 2)

    def plans(self) -> list[Plan]:
        return [*seeded("ntm", "ntm-repeat", self.seeds), Plan("lstm-1", "ntm-repeat", (*NO_MEMORY, "system.size=119", *SHORT))]

    def measured(self, trial: Trial) -> dict[str, float]:
        return {
            "as trained": cost(trial)["bits"], f"{self.slots} slots": cost(trial, slots=self.slots)["bits"],
            "20 words": cost(trial, min_length=20, max_length=20, min_repeats=10)["bits"],
            "20 times": cost(trial, min_length=10, min_repeats=20, max_repeats=20)["bits"],
        }  # fmt: skip

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        each, best = self.all_measured(found), best_of(found, "ntm-")
        return Summary(each[best]["as trained"], {"bits": each, "chosen": best})


@register("reproduction", "ntm-recall")
class NtmRecall(Machines):
    """Bits of an associative recall among 12 items, after training on up to 6."""

    system, paper = "neural Turing machine, LSTM controller of 100", "Graves et al. 2014"
    metric, floor = "bits a sequence of 12 items", 1.0
    differs = "Adam with a cosine on batches of 16; one read head instead of four, LSTM controller instead of feed-forward; trained with 40 slots, measured with 128; the paper draws curves"
    slots = 128
    seeds = (1, 2, 3)
    items: ClassVar[tuple[int, ...]] = (6, 8, 10, 12, 15, 20)

    def plans(self) -> list[Plan]:
        return [*seeded("ntm", "ntm-recall", self.seeds), Plan("lstm-1", "ntm-recall", (*NO_MEMORY, "system.size=119", *SHORT))]

    def measured(self, trial: Trial) -> dict[str, float]:
        return {str(items): cost(trial, slots=self.slots, min_items=items, max_items=items)["bits"] for items in self.items}

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        each, best = self.all_measured(found), best_of(found, "ntm-")
        return Summary(each[best]["12"], {"bits": each, "chosen": best})

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        lines = {name: [(float(n), max(1e-4, bits[str(n)])) for n in self.items] for name, bits in figures["bits"].items()}
        return {"items": Plot("Recall among more items than trained", "items", "bits a sequence", lines, log_y=True), **super().plots(found, figures)}


@register("reproduction", "dnc")
class Dnc(Machines):
    """Percent of bits wrong: the worse of copying series that do not fit 10 slots unless they are used again, and the same with 50 slots."""

    system, paper = "differentiable neural computer, 10 slots", "Graves et al. 2016"
    metric, published, floor = "percent of bits wrong, series with 10 slots and with 50 untrained", None, 1.0
    seeds = (1, 2, 3)
    differs = "Adam with a cosine, batches of 32, a write vector through tanh; series of up to 4 sequences of 4 words in training, of 6 in the test"

    def plans(self) -> list[Plan]:
        return seeded("dnc", "dnc", self.seeds)

    def measured(self, trial: Trial) -> dict[str, float]:
        series = {"min_length": 4, "max_length": 4, "min_series": 6, "max_series": 6}  # 24 words
        return {
            "10 slots": cost(trial, **series)["percent_wrong"], "50 slots": cost(trial, slots=50, **series)["percent_wrong"],
            "as trained": cost(trial)["percent_wrong"],
        }  # fmt: skip

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        each, best = self.all_measured(found), best_of(found, "dnc-")
        return Summary(max(each[best]["10 slots"], each[best]["50 slots"]), {"percent_wrong": each, "words_of_a_series": 24, "chosen": best})
