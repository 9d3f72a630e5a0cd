"""Minimum-risk search: of a beam's hypotheses the one with the fewest expected edits, not the likeliest one.

Beam search finds the output that is most often wholly right. An error rate also asks how wrong the others are: if the
likeliest output stands alone and the next four resemble one another, one of the four is the better answer. With the
beam's n-best list as the space of outcomes (Goel and Byrne 2000; Kumar and Byrne 2004)

    risk(y) = sum_y' P(y') edits(y, y')        P(y') = softmax over the list of log P(y' | x) / temperature

where edits counts insertions, deletions and substitutions of tokens. The score is minus the risk.

Two outputs that differ in one token, against one that shares none with them: they win when they are likely enough.

>>> risks([[1, 2, 3], [4, 5, 6], [4, 5, 7]], [0.5, 0.25, 0.25])
[1.5, 1.75, 1.75]
>>> risks([[1, 2, 3], [4, 5, 6], [4, 5, 7]], [0.375, 0.3125, 0.3125])
[1.875, 1.4375, 1.4375]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
import pydantic
from rapidfuzz.distance import Levenshtein

from xattend.errors import UserError
from xattend.registry import register
from xattend.search.base import Search, Steps
from xattend.search.beam import Beam
from xattend.search.choose import Likeliest
from xattend.search.limits import AllowUnk, Limits, MaxExtra, MaxLength, MaxRatio, MinLength, NoRepeat
from xattend.types import Hypothesis, Memory


def risks(outputs: Sequence[Sequence[int]], chances: Sequence[float]) -> list[float]:
    """The expected edits of each output, if one of them is right with these chances."""
    edits = np.array([[Levenshtein.distance(one, other) for other in outputs] for one in outputs])
    expected: list[float] = (edits @ np.asarray(chances)).tolist()
    return expected


@register("search", "minimum-risk")
class MinimumRisk(Search):
    """Beam search of `size`, then the hypothesis with the fewest expected edits; best for error rates."""

    def __init__(
        self, *,
        size: Annotated[int, pydantic.Field(gt=0), "hypotheses kept at every step, and compared at the end"] = 10,
        nbest: Annotated[int, pydantic.Field(gt=0), "hypotheses in the answer; at most size"] = 1,
        temperature: Annotated[float, pydantic.Field(gt=0), "below 1 sharpens the chances, above 1 flattens them"] = 1.0,
        max_length: MaxLength = None, max_ratio: MaxRatio = 3.0, max_extra: MaxExtra = 20,
        min_length: MinLength = 0, allow_unk: AllowUnk = True, no_repeat: NoRepeat = 0,
    ) -> None:  # fmt: skip
        if nbest > size:
            raise UserError(f"nbest {nbest} is more than the beam's size {size}: set size to at least {nbest}")
        self.nbest, self.temperature = nbest, temperature
        self.beam = Beam(size=size, nbest=size)
        self.limits = Limits(max_length, max_ratio, max_extra, min_length, allow_unk, no_repeat)

    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        plan = self.limits.plan(memory, prefix)
        return [self._ranked(found) for found in self.beam.run(decoder, memory, plan, Likeliest(), attention=attention)]

    def _ranked(self, found: list[Hypothesis]) -> list[Hypothesis]:
        logs = np.array([hypothesis.logprob for hypothesis in found]) / self.temperature
        chances = np.exp(logs - logs.max())
        risk = risks([hypothesis.tokens for hypothesis in found], (chances / chances.sum()).tolist())
        scored = [replace(hypothesis, score=-cost) for hypothesis, cost in zip(found, risk, strict=True)]
        return sorted(scored, key=lambda hypothesis: -hypothesis.score)[: self.nbest]  # of equals the beam's first
