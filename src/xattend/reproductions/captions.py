"""Captions of Flickr8k's photos (Xu et al. 2015, table 1): one vector a photo, soft attention, hard attention, in equal passes and in equal minutes.

The paper's CNN is VGG-19; ours is a frozen EfficientNet-lite0. The lecture's gains (+2 BLEU for soft, +4 for hard attention) are to be measured
here, not taken for granted: the rows that are compared differ in nothing but how they look, and are half as wide and half as long as the recipe.
In minutes, all get what one vector a photo takes for its two passes. BLEU is a corpus's, with five references. The recipe chooses
a model by greedy BLEU-4 on 200 validation photos, which of two passes at times takes the worse one; rows that are compared go by the loss. The row
`tuned` begins with `soft`, the recipe itself, and is trained for some updates more on the expected BLEU of what it writes itself; both are compared
with the paper's rows, not with the others here.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

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
COMPARED = ("encoder.size=256", "training.epochs=2.0", "training.metric=loss")  # so that three seeds of every row fit into an evening
TIMED = ("encoder.size=256", "training.epochs=100.0", "training.minutes=3.0", "training.metric=loss")  # the rate falls with the minutes
FINE = ("data.source.stage=14x14", "encoder.norm=layer")
ADDITIVE = ("attention.size=128",)
HARD = ("attention.kind=hard", "attention.score={kind='additive',size=128}")
EVERY = ("decoder.inject=none", "attention.kind=every-step")
AUTHORS = (  # the constants of their code, which the paper does not print; theirs of the reward, .1, is of a mean over about ten words
    "attention.sampler=categorical", "attention.semi_sampling=0.5", "objective.kind=lower-bound", "objective.samples=1", "objective.baseline=moving",
    "objective.reward_weight=0.01", "objective.entropy=0.002", "objective.label_smoothing=0.1",
)  # fmt: skip
NO_PENALTY = ("objective.kind=cross-entropy", "objective.label_smoothing=0.1")
DIFFERS = "a frozen EfficientNet-lite0 instead of VGG-19, word vectors shared with the output layer, more dropout, Adam with a cosine, label smoothing, mirrored photos"
COARSE = f"{DIFFERS}, 7 x 7 places instead of 14 x 14"
FLOORS = {"bleu-1": 64.0, "bleu-2": 46.0, "bleu-3": 32.0, "bleu-4": 21.3}
NEAR_SOFT = 19.6  # soft attention has 20.6 in as many passes, and hard attention is wanted within 1


class Row(NamedTuple):
    """A row of a table: what is set otherwise, in which recipe, the row whose weights it begins with, and the seeds."""

    changes: tuple[str, ...] = ()
    recipe: str = "show-attend-tell"
    begins: str | None = None
    seeds: tuple[int, ...] = SEEDS


class Captions(Reproduction):
    """Rows of a table, each trained with some seeds; `ours` is the mean BLEU-4 of the row `headline`."""

    headline: ClassVar[str]
    rows: ClassVar[dict[str, Row]]
    floors: ClassVar[dict[str, float]] = {}  # beside BLEU-4's own
    metric = "test BLEU-4, five references"
    seeds, from_scores = SEEDS, True

    def plans(self) -> list[Plan]:
        def plan(name: str, row: Row, seed: int) -> Plan:
            return Plan(f"{name}-{seed}", row.recipe, (*row.changes, f"training.seed={seed}"), row.begins and f"{row.begins}-{seed}")

        return [plan(name, row, seed) for name, row in self.rows.items() for seed in row.seeds]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        table: dict[str, dict[str, Any]] = {}
        for name, row in self.rows.items():
            of = [found[f"{name}-{seed}"] for seed in row.seeds]
            scores: dict[str, Any] = {score: statistics.mean(float(one.test[score]) for one in of) for score in SCORES if score in of[0].test}
            scores["bleu-4 by seed"] = {seed: one.test["bleu-4"] for seed, one in zip(row.seeds, of, strict=True)}
            before = table[row.begins]["minutes"] if row.begins else 0.0
            table[name] = {**scores, "minutes": before + statistics.mean(one.seconds for one in of) / 60}
        figures: dict[str, Any] = {"table": table, "paper": PAPER}
        if self.floors:
            figures |= {"floors": self.floors, "floors_reached": {name: table[self.headline][name] >= least for name, least in self.floors.items()}}
        return Summary(table[self.headline]["bleu-4"], figures)

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        bars = {}
        for row, scores in figures["table"].items():
            values = list(scores["bleu-4 by seed"].values())
            bars[row] = (scores["bleu-4"], statistics.stdev(values) if len(values) > 1 else 0.0)
        return {"table": Plot("Captions of Flickr8k", "", "test BLEU-4", bars=bars), **super().plots(found, figures)}


@register("reproduction", "show-attend-tell-soft")
class Soft(Captions):
    """Soft attention: the recipe, tuned on BLEU; in the passes and minutes of the other tables; without the doubly stochastic term."""

    system, paper = "soft attention over a photo, LSTM 512", "Xu et al. 2015"
    published, floor = 19.5, 21.3
    differs = f"{COARSE}, a tenth of the penalty, at last 400 updates on the expected BLEU of captions it draws"
    headline, floors = "tuned", FLOORS
    rows: ClassVar = {
        "soft": Row(), "tuned": Row(TUNED, begins="soft"), "passes": Row((*ADDITIVE, *COMPARED)), "minutes": Row((*ADDITIVE, *TIMED)),
        "no-penalty": Row((*ADDITIVE, *NO_PENALTY, *COMPARED)),
    }  # fmt: skip


@register("reproduction", "show-attend-tell-hard")
class Hard(Captions):
    """Hard attention on its lower bound, in the passes and minutes of the other tables."""

    system, paper = "hard attention over a photo, LSTM 512", "Xu et al. 2015"
    published, floor = 21.3, NEAR_SOFT
    differs = COARSE
    headline = "passes"
    rows: ClassVar = {"passes": Row((*HARD, *AUTHORS, *COMPARED)), "minutes": Row((*HARD, *AUTHORS, *TIMED))}


@register("reproduction", "show-and-tell")
class ShowAndTell(Captions):
    """One vector a photo: as the initial state (option 1), at every step (option 2), as the first input (Show and Tell)."""

    system, paper = "one vector a photo, LSTM 512", "Vinyals et al. 2015; Xu et al. 2015"
    differs = COARSE
    headline = "option1"
    rows: ClassVar = {
        "option1": Row(COMPARED, "show-and-tell"), "option2": Row((*EVERY, *COMPARED), "show-and-tell"),
        "option1-minutes": Row(TIMED, "show-and-tell"), "option2-minutes": Row((*EVERY, *TIMED), "show-and-tell"),
        "first": Row(("decoder.inject=first", "decoder.bridge=zero", *COMPARED), "show-and-tell", seeds=(1,)),
    }  # fmt: skip


@register("reproduction", "captions-14x14")
class Finer(Captions):
    """The rows that are compared, on 14 x 14 places: all of one table, as the features are another layer's."""

    system, paper = "one vector a photo, soft and hard attention over 14 x 14 places, LSTM 512", "Xu et al. 2015"
    published = 19.5
    differs = DIFFERS
    headline = "soft"
    rows: ClassVar = {
        "option1": Row((*FINE, *COMPARED), "show-and-tell"), "option2": Row((*FINE, *EVERY, *COMPARED), "show-and-tell"),
        "option1-minutes": Row((*FINE, *TIMED), "show-and-tell"), "option2-minutes": Row((*FINE, *EVERY, *TIMED), "show-and-tell"),
        "soft": Row((*FINE, *ADDITIVE, *COMPARED)), "soft-minutes": Row((*FINE, *ADDITIVE, *TIMED)),
        "hard": Row((*FINE, *HARD, *AUTHORS, *COMPARED)), "hard-minutes": Row((*FINE, *HARD, *AUTHORS, *TIMED)),
    }  # fmt: skip
