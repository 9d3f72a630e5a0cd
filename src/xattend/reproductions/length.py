"""Attention holds on in long sentences where a fixed context does not (Bahdanau et al. 2015, table 1 and figure 2).

The paper trains RNNencdec and RNNsearch on sentences of up to 30 and up to 50 words. Captions are shorter, so the caps are too. Two
claims: RNNsearch trained on the short ones beats RNNencdec trained on the long ones, and its BLEU falls less with the length of the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

CAPS = {"short": 13, "long": 50}  # words of a training sentence
SYSTEMS = {"encdec": ("attention.kind=every-step",), "search": ()}
STEPS = 2000
BUCKETS = (8, 11, 14, 17, 40)  # words of a source sentence, at most


def by_length(sources: list[str], outputs: list[str], references: list[str]) -> list[dict[str, float]]:
    """Corpus BLEU of the rows in each bucket that has any, with their mean source length."""
    from xattend.metrics.bleu import BleuTokenised

    lengths = np.array([len(source.split()) for source in sources])
    found, least = [], 0
    for most in BUCKETS:
        rows = np.flatnonzero((lengths > least) & (lengths <= most))
        if len(rows):
            bleu = BleuTokenised().compute([outputs[row] for row in rows], [[references[row]] for row in rows])
            found.append({"words": float(lengths[rows].mean()), "rows": len(rows), "bleu": bleu})
        least = most
    return found


def slope(points: list[dict[str, float]]) -> float:
    """BLEU a word, by least squares weighted with the rows of each bucket."""
    x, y, weight = (np.array([point[key] for point in points]) for key in ("words", "bleu", "rows"))
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    return float((weight * x * y).sum() / (weight * x * x).sum())


@register("reproduction", "length")
class Length(Reproduction):
    """How much steeper BLEU falls with length without attention."""

    system, paper = "RNNencdec and RNNsearch", "Bahdanau et al. 2015"
    metric, floor = "slope of BLEU against source length, RNNencdec over RNNsearch (long cap)", 3.0
    differs = "256 units instead of 1000, caps of 13 and 50 words instead of 30 and 50, Multi30k English-German, Adam instead of Adadelta"

    def plans(self) -> list[Plan]:
        quick = ("optimiser.kind=adam", "optimiser.lr=0.001", "schedule.kind=cosine", "schedule.warmup=200", "training.normalise=tokens",
                 "encoder.dropout=0.2", "decoder.dropout=0.2", "encoder.cell=gru", "decoder.cell=gru")  # fmt: skip
        return [
            Plan(f"{system}-{cap}", "bahdanau2015", (*swap, *quick, f"data.source.max_length={words}", f"training.steps={STEPS}"))
            for system, swap in SYSTEMS.items() for cap, words in CAPS.items()
        ]  # fmt: skip

    def curves(self, found: Mapping[str, Outcome]) -> dict[str, list[dict[str, float]]]:
        return {label: by_length(*one.trial.outputs("test")) for label, one in found.items()}

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        curves = self.curves(found)
        slopes = {label: slope(points) for label, points in curves.items()}
        bleu = {label: one.test["bleu-tok"] for label, one in found.items()}
        # a slope of RNNsearch that is flat or rising has no ratio: it is counted as a tenth of a BLEU a word at least
        ratio = slopes["encdec-long"] / min(slopes["search-long"], -0.1)
        figures: dict[str, Any] = {
            "bleu": bleu, "search_short_minus_encdec_long": bleu["search-short"] - bleu["encdec-long"], "slopes": slopes, "by_length": curves,
            "paper": {"encdec-short": 13.93, "search-short": 21.50, "encdec-long": 17.82, "search-long": 26.75},
        }  # fmt: skip
        return Summary(ratio, figures)

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        lines = {label: [(point["words"], point["bleu"]) for point in points] for label, points in figures["by_length"].items()}
        return {"bleu": Plot("BLEU against length", "words of the source", "BLEU", lines), **super().plots(found, figures)}
