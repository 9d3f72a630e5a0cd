"""Reading the source backwards (Sutskever et al. 2014): 25.9 -> 30.6 BLEU, perplexity 5.8 -> 4.7, for a model with a fixed context.

Each seed is trained twice, forwards and backwards, so that the two differ in the reading order alone. Four passes,
because 29,000 sentences are then soon known by heart: in ten passes without dropout the gain on training rows stays at -19 % perplexity, while that on
validation rows shrinks from -17 % (pass 3) to -10 % (+2.5 BLEU, seed 1). Also tried there: four passes with a rate that falls to
zero, which learn half as much (perplexity 18.5 forwards, 13.5 in pass 4 of ten); dropout of .3 (eight passes: +1.5, -11 %); four layers of 192, which stay on a
plateau for two passes of eight (+2, -12 %).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

if TYPE_CHECKING:
    from xattend.model import Model

# who does what to whom, in different words: sentences of one meaning should lie together (the paper's figure 2)
MEANINGS = {
    "a man looks at a dog": ("a man looks at a dog .", "a dog is looked at by a man .", "a man is looking at a dog ."),
    "a dog looks at a man": ("a dog looks at a man .", "a man is looked at by a dog .", "a dog is looking at a man ."),
    "a woman plays with a child": ("a woman plays with a child .", "a woman is playing with a child .", "a child is playing with a woman ."),
    "two men ride bikes": ("two men ride bikes .", "two men are riding bikes .", "bikes are being ridden by two men ."),
}
WAYS = {"forward": "false", "reversed": "true"}
QUICK = (
    "optimiser.kind=adam", "optimiser.lr=0.002", "schedule.kind=constant", "schedule.warmup=100", "training.normalise=tokens",
    "training.sentences=64", "training.epochs=4.0", "training.clip=1.0", "data.source.min_count=4", "data.target.min_count=4",
    "training.precision=bfloat16",
)  # fmt: skip


@register("reproduction", "reversal")
class Reversal(Reproduction):
    """Reversed minus forward source."""

    system, paper = "fixed context, 2 x 256 LSTM", "Sutskever et al. 2014"
    metric, published, floor = "BLEU gained by reversing the source", 4.4, 2.0
    differs = "2 layers of 256 instead of 4 of 1000, Multi30k English-German instead of WMT'14 English-French, 4 passes of Adam instead of SGD"
    seeds = (1, 2, 3)

    def plans(self) -> list[Plan]:
        return [
            Plan(f"{way}-{seed}", "sutskever2014", (f"training.seed={seed}", f"encoder.reverse={reverse}", *QUICK))
            for seed in self.seeds for way, reverse in WAYS.items()
        ]  # fmt: skip

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        def mean(way: str, key: str) -> float:
            return statistics.mean(float(found[f"{way}-{seed}"].test[key]) for seed in self.seeds)

        gains = {seed: found[f"reversed-{seed}"].test["bleu-tok"] - found[f"forward-{seed}"].test["bleu-tok"] for seed in self.seeds}
        before, after = mean("forward", "perplexity"), mean("reversed", "perplexity")
        return Summary(statistics.mean(gains.values()), {
            "bleu_forward": mean("forward", "bleu-tok"), "bleu_reversed": mean("reversed", "bleu-tok"), "gain_by_seed": gains,
            "perplexity_forward": before, "perplexity_reversed": after, "perplexity_change_percent": 100 * (after / before - 1),
            "floor_perplexity_change_percent": -15.0, "claims": {"perplexity": 100 * (after / before - 1) <= -15.0},
        })  # fmt: skip

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        return {"sentences": sentence_map(found["reversed-1"].trial.model(), MEANINGS), **super().plots(found, figures)}


def sentence_map(model: Model, meanings: Mapping[str, tuple[str, ...]]) -> Plot:
    """The vectors that the encoder leaves to the decoder, on their two principal axes."""
    import numpy as np

    texts = [text for group in meanings.values() for text in group]
    vectors_ND = model.summaries(texts)
    centred_ND = vectors_ND - vectors_ND.mean(axis=0)
    _, _, axes_KD = np.linalg.svd(centred_ND, full_matrices=False)
    places = dict(zip(texts, (centred_ND @ axes_KD[:2].T).tolist(), strict=True))
    points = {name: [(*places[text], text) for text in group] for name, group in meanings.items()}
    return Plot("Sentence vectors, coloured by meaning", "first principal axis", "second", points=points)
