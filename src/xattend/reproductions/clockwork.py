"""A waveform written down by heart (Koutnik et al. 2014): modules at several periods, beside an LSTM and a simple network of equal size.

The error is normalised: the mean squared error over the variance of the wave. As in the paper, networks have about 1,000 weights, start from
silence, and are trained on the wave that they must give; five waves, one training each.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import ClassVar

from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary
from xattend.trial import Trial

WAVES = (1, 2, 3, 4, 5)
PAPER = {"clockwork": 0.007, "lstm": 0.04, "rnn": 0.46}
CELLS: dict[str, tuple[str, ...]] = {
    "clockwork": (),
    "lstm": ("system.controller=lstm", "system.size=15", "optimiser.lr=0.01"),
    "rnn": ("system.controller=tanh-rnn", "system.size=31"),
}


def normalised_error(written: list[float], wanted: list[float]) -> float:
    """Mean squared error over variance: 1 is what always saying the mean gives.

    >>> normalised_error([0.0, 0.0], [1.0, -1.0]), normalised_error([1.0, -0.5], [1.0, -1.0])
    (1.0, 0.125)
    """
    errors = [(one - other) ** 2 for one, other in zip(written, wanted, strict=True)]
    return statistics.mean(errors) / statistics.pvariance(wanted)


def numbers(text: str) -> list[float]:
    """
    >>> numbers(". -0.25")
    [0.0, -0.25]
    """
    return [0.0 if step == "." else float(step) for step in text.split()]


@register("reproduction", "clockwork")
class Clockwork(Reproduction):
    """The clockwork network's error over the LSTM's, means over the waves."""

    system, paper = "clockwork RNN of about 1,000 weights", "Koutnik et al. 2014"
    metric, higher_is_better, published, floor = "error over the LSTM's", False, 0.007 / 0.04, 0.5
    differs = "sums of sines instead of music; Adam instead of SGD with momentum; one training a wave instead of 100"
    waves: ClassVar[tuple[int, ...]] = WAVES

    def plans(self) -> list[Plan]:
        return [Plan(f"{cell}-{wave}", "clockwork", (*changes, f"data.task.number={wave}")) for cell, changes in CELLS.items() for wave in self.waves]

    def error(self, trial: Trial) -> float:
        _, written, wanted = trial.outputs("test")
        return normalised_error(numbers(written[0]), numbers(wanted[0]))

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        each = {name: self.error(one.trial) for name, one in found.items()}
        mean = {cell: statistics.mean(each[f"{cell}-{wave}"] for wave in self.waves) for cell in CELLS}
        return Summary(mean["clockwork"] / mean["lstm"], {
            "normalised_error": mean, "paper": PAPER, "by_training": each, "claims": {"the paper's order": mean["clockwork"] < mean["lstm"] < mean["rnn"]},
        })  # fmt: skip
