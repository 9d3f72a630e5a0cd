"""A robot that greets (Qureshi et al. 2017), in a simulated world: the recurrent Q-network with attention, and without.

Success is the share of visitors whose hand is shaken, over the test episodes; the reward counts handshakes in vain as well. Beside the
two networks stand random actions, and the script that knows the rules (drawing/encounter.py). Where an action looks is compared with
where the person is at that step, in every step in which there is one (the pointing game).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from xattend.data.tasks.greeter import Greeter, ending
from xattend.drawing.encounter import ACTIONS, STEPS
from xattend.metrics.pointing import points
from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary
from xattend.trial import Trial

KINDS = {"attention": "additive", "mean": "every-step"}


def success(sources: Sequence[str], texts: Sequence[str]) -> dict[str, float]:
    """Percent of visitors whose hand was shaken, and the mean reward of all episodes.

    >>> success(["greeter:2", "greeter:5"], ["wait look wait wave handshake handshake", "handshake"])  # the second is a passer
    {'percent_met': 100.0, 'reward': 0.4}
    """
    found = [ending(source, text) for source, text in zip(sources, texts, strict=True)]
    visitors = sum(one.visitor for one in found)
    return {
        "percent_met": 100.0 * sum(one.met for one in found) / max(1, visitors),
        "reward": round(statistics.mean(one.reward for one in found), 6),
    }


def at_random(sources: Sequence[str]) -> list[str]:
    """Any action at any step."""
    draw = Random("greeter")
    return [" ".join(draw.choices(ACTIONS, k=STEPS)) for _ in sources]


def pointing(trial: Trial) -> float:
    """Percent of the steps with somebody in view, of all test episodes, in which the person is looked at most."""
    from xattend.cli.evaluate import rows_of

    model, task, hits, steps = trial.model(), Greeter(), 0, 0
    rows = list(rows_of(trial.data.splits["test"]))
    for row, found in zip(rows, model.predict_rows(iter(rows), model.search(), attention=True), strict=True):
        assert found.trace is not None
        height, width = found.trace.grid
        one = points(found.attention, task.gold(row.source, found.text), (height, width))
        hits, steps = hits + one.hits, steps + one.words
    return 100.0 * hits / max(1, steps)


@register("reproduction", "interact")
class Interacting(Reproduction):
    """Percent of visitors met by the network with attention."""

    system, paper = "CNN, LSTM, additive attention over places, double Q-learning", "Qureshi et al. 2017"
    metric, floor = "visitors whose hand is shaken, percent", 90.0
    differs = (
        "a simulated person in pictures of 24 x 24 instead of people before a robot, one network of grey and nearness instead of two streams, "
        "no replay"
    )
    seeds = (1, 2, 3)

    def plans(self) -> list[Plan]:
        return [
            Plan(f"{name}-{seed}", "interact", (*(() if name == "attention" else (f"attention.kind={kind}",)), f"training.seed={seed}"))
            for name, kind in KINDS.items() for seed in self.seeds
        ]  # fmt: skip

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        each = {name: success(*one.trial.outputs("test")[:2]) for name, one in found.items()}
        sources, _, script = next(iter(found.values())).trial.outputs("test")
        mean = {
            kind: {key: statistics.mean(each[f"{kind}-{seed}"][key] for seed in self.seeds) for key in ("percent_met", "reward")}
            for kind in KINDS
        }
        others = {"random": success(sources, at_random(sources)), "script": success(sources, script)}
        looks = {f"attention-{seed}": self.looks(found[f"attention-{seed}"].trial) for seed in self.seeds}
        figures: dict[str, Any] = {
            "mean": {**mean, **others}, "by_training": each, "pointing_percent": looks, "pointing_mean": statistics.mean(looks.values()),
        }  # fmt: skip
        return Summary(mean["attention"]["percent_met"], figures)

    def looks(self, trial: Trial) -> float:
        """The pointing game of one training."""
        return pointing(trial)
