"""Which weights are kept: the best by validation, or at the end the average of the last few (Vaswani et al. 2017, 6.1).

Every candidate that matters lies in the state folder before a state refers to it, and the best is published to
RUN/model.safetensors at once, so that a run can predict while it still trains. Of two equal metrics the one with the
lower loss is the better: a metric that counts whole answers is 0 for a while, and training must not be given up on.
"""

from __future__ import annotations

import math

from torch import Tensor

from xattend.data.split import Split
from xattend.recipe import Recipe
from xattend.run import Run
from xattend.systems.base import System
from xattend.training.checkpoint import States
from xattend.training.distributed import Group
from xattend.training.standing import Standing
from xattend.training.validation import Validation
from xattend.training.weights import from_bytes, mean, put, to_bytes, weights_of


class Selection:
    """Judges weights and notes in `standing` what was best. Without validation data the newest are the best there are."""

    def __init__(
        self, system: System, recipe: Recipe, run: Run, states: States, group: Group, standing: Standing, split: Split | None
    ) -> None:
        self.system, self.settings, self.run, self.states = system, recipe.training, run, states
        self.group, self.standing = group, standing
        self.validation = Validation(system, split, recipe) if split is not None and len(split) else None

    def judge(self, weights: dict[str, Tensor]) -> tuple[dict[str, float], bool]:
        """Validates weights of this step: their scores, and whether they are the best so far (then they are published)."""
        now, scores = self.standing, self._scores(weights)
        better = self._better(scores)
        if self.group.first and (better or self.settings.average):
            data = to_bytes(weights)
            now.sums[str(now.step)] = self.states.keep(now.step, data)
            if better:
                self.run.publish(data)
        if better:
            now.best, now.best_loss, now.best_step = scores.get(self.settings.metric), scores.get("loss"), now.step
        now.missed = 0 if better else now.missed + 1
        now.snapshots = [*now.snapshots, now.step][-self.settings.average :] if self.settings.average else []
        now.validated = now.step
        return scores, better

    def judge_average(self) -> tuple[dict[str, float], bool]:
        """The mean of the last validations' weights takes the place of the best, unless it is worse."""
        averaged: dict[str, Tensor] = {}
        if self.group.first:
            averaged = mean([from_bytes(self.states.kept(step), self.run.state) for step in self.standing.snapshots])
        scores = self._scores(averaged)
        better = self._better(scores)
        if better and self.group.first:
            self.run.publish(to_bytes(averaged))
        return scores, better

    def good_enough(self) -> bool:
        """Whether the best so far is what the recipe asked for (`training.target`)."""
        target, best = self.settings.target, self.standing.best
        if target is None or best is None or self.validation is None:
            return False
        return best >= target if self.validation.higher_is_better else best <= target

    def publish_best(self) -> None:
        """After a resume: a process that was killed may have published weights of a step that this one never saw."""
        if self.group.first and self.standing.best_step is not None:
            self.run.publish(self.states.kept(self.standing.best_step))

    def _scores(self, weights: dict[str, Tensor]) -> dict[str, float]:
        """The validation of some weights, by the first process; the system's own are put back."""
        scores: dict[str, float] = {}
        if self.group.first and self.validation is not None:
            own = {name: tensor.clone() for name, tensor in weights_of(self.system).items()}
            put(self.system, weights, self.run.model)
            try:
                scores = self.validation()
            finally:
                put(self.system, own, self.run.model)
        return dict(self.group.tell(scores))

    def _better(self, scores: dict[str, float]) -> bool:
        if self.validation is None:
            return True
        value, best, best_loss = scores[self.settings.metric], self.standing.best, self.standing.best_loss
        if not math.isfinite(value) or best is None:
            return math.isfinite(value)
        if value == best and best_loss is not None:
            return scores["loss"] < best_loss
        return value > best if self.validation.higher_is_better else value < best
