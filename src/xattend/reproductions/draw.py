"""DRAW on MNIST (Gregor et al. 2015, tables 1 and 2): the bound of its pictures, and the classifier that looks through soft windows.

Pixels are drawn black or white by their grey, anew in every pass; those of the test digits always are the same. (The fixed black and white digits
of Larochelle and Murray 2011, which the paper used, differ from these by a nat or two.) Models are chosen on 8 % of the training digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary
from xattend.reproductions.ram import CLUTTERED, MNIST, Errors, budget
from xattend.trial import Trial

DRAW_UPDATES, VAE_UPDATES = 25_000, 20_000


def parts(trial: Trial) -> dict[str, float]:
    """The bound on test pictures, in nats: what the picture costs, and what its code costs."""
    import torch

    from xattend.data.batching import in_order

    model, split = trial.model(), trial.data.splits["test"]
    found: dict[str, float] = {"picture": 0.0, "code": 0.0}
    with torch.inference_mode():
        for rows in in_order(split, 1 << 16, 256):
            for name, value in model.system.loss(split.batch(rows.tolist())).parts.items():
                found[name] += value / len(split)
    return {**found, "bound": sum(found.values())}


@register("reproduction", "draw")
class Drawing(Reproduction):
    """DRAW with attention, beside a plain variational autoencoder."""

    system, paper = "DRAW with attention, 10 steps", "Gregor et al. 2015"
    metric, higher_is_better = "bound on the negative log-likelihood of a test picture, nats", False
    published, floor = 80.97, 95.0
    differs = "10 steps instead of 64, windows of 8 and 12 filters instead of 2 and 5, pixels drawn anew instead of a fixed set; 25,000 updates of 128 digits"

    def plans(self) -> list[Plan]:
        return [
            Plan("draw", "draw", (*MNIST, *budget(DRAW_UPDATES))),
            Plan("vae", "draw", (*MNIST, "system.kind=vae", *budget(VAE_UPDATES))),
        ]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        nats = {name: self.parts(one.trial) for name, one in found.items()}
        return Summary(
            nats["draw"]["bound"],
            {"nats": nats, "paper": {"draw": 80.97, "without attention": 87.40}, "claims": {"below the control": nats["draw"]["bound"] < nats["vae"]["bound"]}},
        )

    def parts(self, trial: Trial) -> dict[str, float]:
        return parts(trial)

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        bars = {name: (value["bound"], 0.0) for name, value in figures["nats"].items()}
        return {"table": Plot("MNIST", "", "nats a test picture", bars=bars), **super().plots(found, figures)}


@register("reproduction", "draw-classify")
class SoftWindows(Errors):
    """The soft-window classifier beside RAM, on the same cluttered digits, for about as many minutes."""

    system, paper = "LSTM 256 that looks eight times through 12 x 12 Gaussian filters", "Gregor et al. 2015"
    published = 3.36
    differs = "pictures of 60 pixels with 4 pieces instead of 100 with 8 (the paper's figures); 70,000 updates for both"
    recipe = "draw-classify"
    rows: ClassVar = {"soft": ((), CLUTTERED)}
    printed: ClassVar = {"soft, 100 x 100": 3.36, "ram, 100 x 100": 8.11}

    def plans(self) -> list[Plan]:
        return [*super().plans(), Plan("ram", "ram-cluttered", (*MNIST, *budget(CLUTTERED)))]

    def claims(self, errors: Mapping[str, float]) -> dict[str, bool]:
        return {"below RAM": errors["soft"] < errors["ram"]}
