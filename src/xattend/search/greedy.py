"""Greedy search: the likeliest token at every step. Fast, and not always the likeliest output (see `exact`).

>>> Greedy(max_length=50).limits.max_length
50
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from xattend.registry import register
from xattend.search.base import Search, Steps
from xattend.search.limits import AllowUnk, Limits, MaxExtra, MaxLength, MaxRatio, MinLength, NoRepeat
from xattend.search.walk import walk
from xattend.types import Hypothesis, Memory

if TYPE_CHECKING:
    from xattend.search.tree import BeamTree


@register("search", "greedy")
class Greedy(Search):
    """y_t = argmax p(y | y_1 .. y_{t-1}, x). The score is the log-probability."""

    watch: BeamTree | None = None  # told of every step's candidates (tree.py)

    def __init__(
        self, *, max_length: MaxLength = None, max_ratio: MaxRatio = 3.0, max_extra: MaxExtra = 20,
        min_length: MinLength = 0, allow_unk: AllowUnk = True, no_repeat: NoRepeat = 0,
    ) -> None:  # fmt: skip
        self.limits = Limits(max_length, max_ratio, max_extra, min_length, allow_unk, no_repeat)

    @torch.inference_mode()
    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        plan = self.limits.plan(memory, prefix)
        choose = (lambda allowed_NV, *_: allowed_NV.argmax(dim=1)) if self.watch is None else self.watch.alone(plan.limit_B)
        found = walk(decoder, memory, plan, choose, attention=attention)
        return [[hypothesis] for hypothesis in found]
