"""Commands into actions (SCAN, Lake and Baroni 2018): easy when test commands are like training's, hard when they are longer or new."""

from __future__ import annotations

from collections.abc import Mapping

from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

SPLITS = {"simple": "simple", "length": "length", "jump": "addprim_jump"}
PAPER = {"simple": 99.8, "length": 13.8, "jump": 0.08}  # the overall best network; the best on length alone 20.8, on jump 1.2
FLOORS = {"simple": (99.0, 100.0), "length": (10.0, 22.0), "jump": (0.0, 5.0)}


@register("reproduction", "scan")
class Scan(Reproduction):
    """Accuracy on the simple split; the other two fail as they should."""

    system, paper = "2 x 200 LSTM without attention", "Lake and Baroni 2018"
    metric, published, floor = "simple split, percent right", 99.8, 99.0
    differs = "batches of 32 in 30 passes instead of 100,000 single rows, no scheduled sampling"

    def plans(self) -> list[Plan]:
        return [
            Plan(name, "scan", (f"data.train=scan/tasks_train_{split}.txt", f"data.test=scan/tasks_test_{split}.txt"))
            for name, split in SPLITS.items()
        ]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        right = {name: 100 * one.test["exact"] for name, one in found.items()}
        within = {name: low <= right[name] <= high for name, (low, high) in FLOORS.items()}
        return Summary(right["simple"], {"percent_right": right, "paper": PAPER, "wanted": FLOORS, "as_wanted": within})
