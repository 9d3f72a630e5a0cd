"""Words in pictures, read with attention over both axes (Show, Attend and Read, Li et al. 2019), on words that are drawn.

The paper's claim: attention over a picture's rows and columns reads curved words that attention over columns alone cannot. Two readers are trained on
the same words, half of them along an arc, and then again for three passes at a lower rate. The one with two axes goes on with capitals and IIIT5K's
training pictures, and at last mostly with those, and is tested on IIIT5K.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

READERS: dict[str, tuple[str, ...]] = {
    "neighbourhood": (),
    "one-axis": ("encoder.rows=pool", "attention.kind=additive", "attention.size=64"),
}
AGAIN = ("training.epochs=3.0", "optimiser.lr=0.0004")
PHOTOS = ("training.epochs=3.0", "optimiser.lr=0.0007")
MOSTLY = ("data.more.rows=4000", "data.more.short=0", "training.epochs=12.0", "optimiser.lr=0.0004")  # photos are then a third of the rows
FLOORS = {"two_axes_minus_one_on_curved": 5.0}
PAPER = {"iiit5k": 95.0}


def accuracy(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Percent of words right, of all and of either shape.

    >>> accuracy(["words:ab plain 48x160 straight 1", "words:cd plain 48x160 curved 2"], ["ab", "c"], ["ab", "cd"])
    {'all': 50.0, 'straight': 100.0, 'curved': 0.0}
    """
    right = [100.0 * (output == reference) for output, reference in zip(outputs, references, strict=True)]
    shapes = [source.split()[-2] for source in sources]
    by_shape = {shape: [score for score, of in zip(right, shapes) if of == shape] for shape in ("straight", "curved")}
    return {"all": statistics.mean(right), **{shape: statistics.mean(scores) for shape, scores in by_shape.items()}}


@register("reproduction", "read")
class Read(Reproduction):
    """Drawn words, read on two axes and on one; and IIIT5K."""

    system, paper = "CNN, 2-D attention with neighbours, LSTM", "Li et al. 2019"
    metric, floor = "drawn words, percent right", 85.0
    differs = "5 convolutions instead of 31 layers, CTC beside the loss, one LSTM of 128 units instead of two of 512, drawn words; for IIIT5K 2,000 photos and 50,000 drawn words"

    def plans(self) -> list[Plan]:
        first = [Plan(name, "read", changes) for name, changes in READERS.items()]
        again = [Plan(f"{name}-again", "read", (*changes, *AGAIN), name) for name, changes in READERS.items()]
        return [*first, *again, Plan("photos", "iiit5k", PHOTOS, "neighbourhood-again"), Plan("photos-again", "iiit5k", MOSTLY, "photos")]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        right = {name: accuracy(*found[f"{name}-again"].trial.outputs("test")) for name in READERS}
        figures: dict[str, Any] = {
            "percent_right": right,
            "two_axes_minus_one_on_curved": right["neighbourhood"]["curved"] - right["one-axis"]["curved"],
            "iiit5k_percent_right": 100 * found["photos-again"].test["exact"], "paper": PAPER, "floors": FLOORS,
        }  # fmt: skip
        figures["floors_reached"] = {name: figures[name] >= least for name, least in FLOORS.items()}
        return Summary(right["neighbourhood"]["all"], figures)
