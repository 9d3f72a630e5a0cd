"""Captions of Flickr8k's photos (Xu et al. 2015, table 1): one vector a photo, soft attention, hard attention, in equal passes and in equal minutes.

The paper's CNN is VGG-19; ours is a frozen EfficientNet-lite0. The lecture's gains (+2 BLEU for soft, +4 for hard attention) are to be measured
here, not taken for granted: the rows that are compared differ in nothing but how they look, and are half as wide and half as long as the recipe.
In minutes, soft and hard attention get what one vector a photo takes for its two passes. BLEU is a corpus's, with five references; models are chosen
by greedy BLEU-4 on validation photos. The row `tuned` begins with `soft`, the recipe itself, and is trained for some updates more on the expected
BLEU of what it writes itself; both are compared with the paper's rows, not with the others here.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any, ClassVar

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

SEEDS = (1, 2, 3)
SCORES = ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "cider-d", "rouge-l", "meteor-like", "perplexity")
PAPER = {  # BLEU-1 to -4 on Flickr8k with VGG-19
    "soft": (67.0, 44.8, 29.9, 19.5), "hard": (67.0, 45.7, 31.4, 21.3), "Google NIC": (63.0, 41.0, 27.0, None),
    "log bilinear": (65.6, 42.4, 27.7, 17.7),
}  # fmt: skip
TUNED = (  # begins with a trained model
    "objective.kind=expected-score", "training.together=5", "training.sentences=240", "training.tokens=16384", "encoder.dropout=0.0", "optimiser.lr=0.0001",
    "schedule.kind=linear", "training.steps=400", "training.clip=1.0", "training.validate_every=100", "search.length_penalty=0.0",
)  # fmt: skip
COMPARED = ("encoder.size=256", "training.epochs=2.0")  # so that three seeds of every row fit into an evening
TIMED = ("encoder.size=256", "training.epochs=100.0", "training.minutes=3.0")  # the rate falls with the minutes
FINE = ("data.source.stage=14x14", "encoder.norm=layer")
ADDITIVE = ("attention.size=128",)
HARD = ("attention.kind=hard", "attention.score={kind='additive',size=128}")
EVERY = ("decoder.inject=none", "attention.kind=every-step")
AUTHORS = (  # the constants of their code, which the paper does not print; theirs of the reward, .1, is of a mean over about ten words
    "attention.sampler=categorical", "attention.semi_sampling=0.5", "objective.kind=lower-bound", "objective.samples=1", "objective.baseline=moving",
    "objective.reward_weight=0.01", "objective.entropy=0.002",
)  # fmt: skip
DIFFERS = "a frozen EfficientNet-lite0 instead of VGG-19, 7 x 7 places instead of 14 x 14, word vectors shared with the output layer, more dropout, Adam with a cosine"
NO_PENALTY = ("objective.kind=cross-entropy", "objective.label_smoothing=0.1")
FLOORS = {"bleu-1": 64.0, "bleu-2": 46.0, "bleu-3": 32.0, "bleu-4": 21.3}


class Captions(Reproduction):
    """Rows of a table, each trained with some seeds; `ours` is the mean BLEU-4 of the row `headline`."""

    recipe: ClassVar[str]
    headline: ClassVar[str]
    rows: ClassVar[dict[str, tuple[tuple[str, ...], tuple[int, ...]]]]  # by name: what is set otherwise, and the seeds
    begins: ClassVar[dict[str, str]] = {}  # rows that begin with the weights of another
    metric = "test BLEU-4, five references"
    seeds, from_scores = SEEDS, True

    def plans(self) -> list[Plan]:
        def plan(row: str, changes: tuple[str, ...], seed: int) -> Plan:
            start = f"{self.begins[row]}-{seed}" if row in self.begins else None
            return Plan(f"{row}-{seed}", self.recipe, (*changes, f"training.seed={seed}"), start)

        return [plan(row, changes, seed) for row, (changes, seeds) in self.rows.items() for seed in seeds]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        table: dict[str, dict[str, Any]] = {}
        for row, (_, seeds) in self.rows.items():
            of = [found[f"{row}-{seed}"] for seed in seeds]
            scores: dict[str, Any] = {name: statistics.mean(float(one.test[name]) for one in of) for name in SCORES if name in of[0].test}
            scores["bleu-4 by seed"] = {seed: one.test["bleu-4"] for seed, one in zip(seeds, of, strict=True)}
            before = table[self.begins[row]]["minutes"] if row in self.begins else 0.0
            table[row] = {**scores, "minutes": before + statistics.mean(one.seconds for one in of) / 60}
        figures: dict[str, Any] = {"table": table, "paper": PAPER}
        if self.floor is not None:
            figures |= {"floors": FLOORS, "floors_reached": {name: table[self.headline][name] >= least for name, least in FLOORS.items()}}
        return Summary(table[self.headline]["bleu-4"], figures)

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        bars = {}
        for row, scores in figures["table"].items():
            values = list(scores["bleu-4 by seed"].values())
            bars[row] = (scores["bleu-4"], statistics.stdev(values) if len(values) > 1 else 0.0)
        return {"table": Plot("Captions of Flickr8k", "", "test BLEU-4", bars=bars), **super().plots(found, figures)}


@register("reproduction", "show-attend-tell-soft")
class Soft(Captions):
    """Soft attention: on 7 x 7 and 14 x 14 places, with and without the doubly stochastic term."""

    system, paper = "soft attention over a photo, LSTM 512", "Xu et al. 2015"
    published, floor = 19.5, 21.3
    differs = f"{DIFFERS}, label smoothing, a tenth of the penalty, mirrored photos, at last 400 updates on the expected BLEU of captions it draws"
    recipe, headline = "show-attend-tell", "tuned"
    begins: ClassVar = {"tuned": "soft"}
    rows: ClassVar = {
        "soft": ((), SEEDS), "tuned": (TUNED, SEEDS), "passes": ((*ADDITIVE, *COMPARED), SEEDS), "minutes": ((*ADDITIVE, *TIMED), SEEDS),
        "passes-14x14": ((*FINE, *ADDITIVE, *COMPARED), SEEDS), "minutes-14x14": ((*FINE, *ADDITIVE, *TIMED), SEEDS),
        "no-penalty": ((*ADDITIVE, *NO_PENALTY, *COMPARED), SEEDS),
    }  # fmt: skip


@register("reproduction", "show-attend-tell-hard")
class Hard(Captions):
    """Hard attention on its lower bound, on 7 x 7 and 14 x 14 places."""

    system, paper = "hard attention over a photo, LSTM 512", "Xu et al. 2015"
    published = 21.3
    differs = DIFFERS
    recipe, headline = "show-attend-tell", "passes"
    rows: ClassVar = {
        "passes": ((*HARD, *AUTHORS, *COMPARED), SEEDS), "minutes": ((*HARD, *AUTHORS, *TIMED), SEEDS),
        "passes-14x14": ((*FINE, *HARD, *AUTHORS, *COMPARED), SEEDS), "minutes-14x14": ((*FINE, *HARD, *AUTHORS, *TIMED), SEEDS),
    }  # fmt: skip


@register("reproduction", "show-and-tell")
class ShowAndTell(Captions):
    """One vector a photo: as the initial state (option 1), at every step (option 2), as the first input (Show and Tell)."""

    system, paper = "one vector a photo, LSTM 512", "Vinyals et al. 2015; Xu et al. 2015"
    differs = f"{DIFFERS}, label smoothing"
    recipe, headline = "show-and-tell", "option1"
    rows: ClassVar = {
        "option1": (COMPARED, SEEDS), "option2": ((*EVERY, *COMPARED), SEEDS), "option1-14x14": ((*FINE, *COMPARED), SEEDS),
        "option2-14x14": ((*FINE, *EVERY, *COMPARED), SEEDS), "first": (("decoder.inject=first", "decoder.bridge=zero", *COMPARED), (1,)),
    }  # fmt: skip
