"""Validation: the loss over the whole validation split, and a metric of what greedy search writes for some of its rows.

The loss is the unsmoothed negative log-likelihood a token (its exponential is the perplexity); systems that have
none give what they minimise. Which rows are decoded depends on the seed alone. A picture that several rows name is decoded once,
and all their targets are right for it: captions are scored as papers do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from xattend import registry
from xattend.data.batching import in_order, loader
from xattend.metrics.base import Metric
from xattend.recipe import Recipe
from xattend.search.base import Search
from xattend.systems.base import System
from xattend.training.seeds import seed
from xattend.training.update import Tally

ROWS = 64  # decoded at a time


class Validation:
    """Scores a system on one split, in the same way every time."""

    def __init__(self, system: System, split: Any, recipe: Recipe) -> None:
        self.system, self.split, self.settings = system, split, recipe.training
        settings = recipe.training
        media = bool(getattr(split, "media", False))
        self.plan = in_order(split, settings.tokens, settings.sentences if media else None)  # pictures take memory
        self.metric: Metric | None = None if settings.metric == "loss" else registry.build("metric", settings.metric)
        limits = registry.settings(registry.find("search", "greedy"))  # what may be written is the recipe's, how it is searched is the fastest
        given = {key: value for key, value in recipe.part("search")[1].items() if key in limits}
        self.search: Search = registry.build("search", "greedy", **given)
        choice = np.random.default_rng(settings.seed).permutation(len(split))
        self.alike = _rows_by_source(split) if media else {}
        if media:
            choice = choice[np.isin(choice, [rows[0] for rows in self.alike.values()])]  # one row a picture
        choice = choice[: settings.validate_rows]
        rows = np.concatenate(self.plan)
        self.rows = rows[np.isin(rows, choice)]  # in the plan's order, which may put like lengths together

    @property
    def higher_is_better(self) -> bool:
        return self.metric is not None and self.metric.higher_is_better

    @torch.no_grad()
    def __call__(self) -> dict[str, float]:
        """`loss`, `perplexity` where there is a likelihood, and the metric. Dropout is off; the seed is always the same."""
        training = self.system.training
        self.system.eval()
        seed(self.settings.seed, 0)
        try:
            scores = self._loss()
            if self.metric is not None:
                scores[self.settings.metric] = self._decoded()
        finally:
            self.system.train(training)
        return scores

    def _loss(self) -> dict[str, float]:
        tally = Tally()
        for batch in self._batches(self.plan):
            loss = self.system.loss(batch)
            tally.add(Tally(float(loss.total), loss.tokens, loss.sentences, parts=dict(loss.parts)))
        if "nll" not in tally.parts:
            count = tally.count(self.settings.normalise)
            return {"loss": tally.total / count, **{name: value / count for name, value in tally.parts.items() if name in self.system.terms}}
        likelihood = tally.parts["nll"] / max(1, tally.tokens)
        return {"loss": likelihood, "perplexity": math.exp(min(likelihood, 700.0))}

    def _decoded(self) -> float:
        outputs: list[str] = []
        references: list[list[str]] = []
        for batch in self._batches([self.rows[i : i + ROWS] for i in range(0, len(self.rows), ROWS)]):
            outputs += [prediction.text for prediction in self.system.predict(batch, self.search)]
            references += [self._references(row) for row in batch.rows]
        assert self.metric is not None
        return self.metric.compute(outputs, references)

    def _references(self, row: int) -> list[str]:
        """All targets that are right for a row's source."""
        source, target = self.split.texts(row)
        return [self.split.texts(other)[1] for other in self.alike[source]] if source in self.alike else [target]

    def _batches(self, plan: list[Any]) -> Iterator[Any]:
        return loader(self.split, plan, 0, 0)


def _rows_by_source(split: Any) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in range(len(split)):
        found.setdefault(split.texts(row)[0], []).append(row)
    return found
