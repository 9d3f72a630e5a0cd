"""Luong's ladder (Luong et al. 2015, table 1): each rung adds one thing, and none loses.

base 11.3, + reverse 12.6, + dropout 14.0, + global attention (location) 16.8, + input feeding 18.1, + local-p attention 19.0 BLEU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

QUICK = (
    "optimiser.kind=adam", "optimiser.lr=0.002", "schedule.kind=cosine", "schedule.warmup=100", "training.normalise=tokens",
    "encoder.layers=1", "decoder.layers=1", "training.sentences=64", "training.epochs=8.0", "training.clip=1.0", "data.rows=10000", "training.precision=bfloat16",
)  # fmt: skip
PAPER = {"base": 11.3, "reverse": 12.6, "dropout": 14.0, "location": 16.8, "feed": 18.1, "local-p": 19.0}
NOT = {
    "reverse": "encoder.reverse=false", "dropout": ("encoder.dropout=0.0", "decoder.dropout=0.0"),
    "feed": "decoder.input_feeding=false",
}  # fmt: skip


def rung(name: str) -> tuple[str, ...]:
    """The recipe luong2015, which has everything, without what comes above this rung."""
    above = list(PAPER)[list(PAPER).index(name) + 1 :]
    swap = {"local-p": (), "feed": ("attention.kind=location",), "location": ("attention.kind=location",)}.get(name, ("attention.kind=none",))
    less = [NOT[other] for other in above if other in NOT]
    return (*swap, *(word for words in less for word in ((words,) if isinstance(words, str) else words)), *QUICK)


@register("reproduction", "luong-ladder")
class LuongLadder(Reproduction):
    """BLEU from the bottom of the ladder to its top."""

    system, paper = "LSTM with location and local attention", "Luong et al. 2015"
    metric, published = "BLEU gained from base to local-p with input feeding", 7.7
    differs = "1 layer of 256 instead of 4 of 1000, Multi30k instead of WMT'14; 8 passes of Adam with a cosine over 10,000 sentences, one seed"

    def plans(self) -> list[Plan]:
        return [Plan(name, "luong2015", rung(name)) for name in PAPER]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        bleu = {name: one.test["bleu-tok"] for name, one in found.items()}
        perplexities = {name: one.test["perplexity"] for name, one in found.items()}
        return Summary(bleu["local-p"] - bleu["base"], {"bleu": bleu, "perplexity": perplexities, "paper": PAPER})

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        bars = {name: (value, 0.0) for name, value in figures["bleu"].items()}
        return {"table": Plot("Luong's ladder", "", "test BLEU", bars=bars), **super().plots(found, figures)}
