"""Attention holds on in long sentences where a fixed context does not (Bahdanau et al. 2015, table 1 and figure 2).

The paper trains RNNencdec and RNNsearch on sentences of up to 30 and up to 50 words. Captions are shorter, so the caps are too. Two
claims: RNNsearch trained on the short ones beats RNNencdec trained on the long ones, and its BLEU falls less with the length of the source.

The second is measured twice. Short captions are also the formulaic ones, so that on them any system's BLEU falls with length, whatever it reads with.
Lists of up to 50 symbols to be written backwards are equally hard at every length but for the length itself: `ours` is of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

CAPS = {"short": 13, "long": 50}  # words of a training sentence
SYSTEMS = {"encdec": ("attention.kind=every-step",), "search": ()}
STEPS = 2000
BUCKETS = (8, 11, 14, 17, 40)  # words of a source sentence, at most
LISTS = (10, 20, 30, 40, 50)  # symbols of a list
REVERSE = (
    "data.task.symbols=100", "data.task.min_length=2", f"data.task.max_length={LISTS[-1]}", "data.task.rows=20000", "encoder.size=128",
    "encoder.embedding=64", "decoder.size=256", "decoder.embedding=64", "decoder.attend=before", "schedule.kind=cosine", "schedule.warmup=200",
    "training.tokens=4096", "training.minutes=", "training.epochs=14.0", "training.validate_every=", "training.metric=loss",
)  # fmt: skip


def by_length(sources: list[str], outputs: list[str], references: list[str], buckets: Sequence[int] = BUCKETS) -> list[dict[str, float]]:
    """Corpus BLEU of the rows in each bucket that has any, with their mean source length."""
    from xattend.metrics.bleu import BleuTokenised

    lengths = np.array([len(source.split()) for source in sources])
    found, least = [], 0
    for most in buckets:
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
    metric, floor = "slope of BLEU against source length, RNNencdec over RNNsearch (lists of up to 50 symbols, written backwards)", 3.0
    differs = "lists of 2 to 50 of 100 symbols for the slope; Multi30k with caps of 13 and 50 words for the order; 256 units instead of 1000, Adam instead of Adadelta"

    def plans(self) -> list[Plan]:
        quick = ("optimiser.kind=adam", "optimiser.lr=0.001", "schedule.kind=cosine", "schedule.warmup=200", "training.normalise=tokens",
                 "encoder.dropout=0.2", "decoder.dropout=0.2", "encoder.cell=gru", "decoder.cell=gru")  # fmt: skip
        lists = [Plan(f"{system}-lists", "reverse", (*swap, *REVERSE)) for system, swap in SYSTEMS.items()]
        return lists + [
            Plan(f"{system}-{cap}", "bahdanau2015", (*swap, *quick, f"data.source.max_length={words}", f"training.steps={STEPS}"))
            for system, swap in SYSTEMS.items() for cap, words in CAPS.items()
        ]  # fmt: skip

    def curves(self, found: Mapping[str, Outcome]) -> dict[str, list[dict[str, float]]]:
        return {label: by_length(*one.trial.outputs("test"), LISTS if label.endswith("lists") else BUCKETS) for label, one in found.items()}

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        curves = self.curves(found)
        slopes = {label: slope(points) for label, points in curves.items()}
        bleu = {label: one.test["bleu-tok"] for label, one in found.items()}
        # a slope of RNNsearch that is flat or rising has no ratio: it is counted as a tenth of a BLEU a word at least
        ratio, captions = (slopes[f"encdec-{of}"] / min(slopes[f"search-{of}"], -0.1) for of in ("lists", "long"))
        figures: dict[str, Any] = {
            "bleu": bleu, "ratio_on_captions": captions, "search_short_minus_encdec_long": bleu["search-short"] - bleu["encdec-long"], "slopes": slopes, "by_length": curves,
            "paper": {"encdec-short": 13.93, "search-short": 21.50, "encdec-long": 17.82, "search-long": 26.75},
        }  # fmt: skip
        return Summary(ratio, figures)

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        lines = {label: [(point["words"], point["bleu"]) for point in points] for label, points in figures["by_length"].items()}
        lists = {label: lines.pop(label) for label in list(lines) if label.endswith("lists")}
        return {
            "bleu": Plot("BLEU against length, captions", "words of the source", "BLEU", lines),
            "lists": Plot("BLEU against length, lists written backwards", "symbols of the source", "BLEU", lists), **super().plots(found, figures),
        }  # fmt: skip
