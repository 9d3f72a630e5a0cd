"""Exact search: the likeliest output there is, by best-first search with a proof that nothing beats it.

A longer output is never likelier than its beginning, so beginnings are taken from a priority queue by log-probability,
and once a finished hypothesis is at least as likely as the best beginning left, it is the likeliest of all (Dijkstra's
argument; Stahlberg & Byrne 2019 use the same monotonicity depth-first).
`no_repeat` and `never` look at the beginning alone, so the argument holds for the outputs they leave.
There is no length penalty: with one it fails. Meant for small models and short outputs: what it costs is
bounded by `budget`, and an answer without proof says so (`complete=False`). CTC's is never below the best path, proof or not.

>>> Exact(budget=10).budget
10

Shape suffixes: V vocabulary, H heads, S source.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated

import numpy as np
import pydantic
import torch

from xattend.lattices.prefixes import PrefixSteps
from xattend.registry import register
from xattend.search.base import Search, Steps
from xattend.search.best_path import BestPath
from xattend.search.limits import (
    AllowUnk,
    Array,
    Limits,
    MaxExtra,
    MaxLength,
    MaxRatio,
    MinLength,
    NoRepeat,
    Plan,
    real_width,
)
from xattend.types import BOS, EOS, UNK, Hypothesis, Memory, State

Looked = Array | None


@dataclass(frozen=True)
class ExactHypothesis(Hypothesis):
    """complete   True if the search proved that no output within the length limit is better placed than this one."""

    complete: bool = True


@dataclass(frozen=True)
class _Node:
    """A beginning: its last token, how it came about, and the state before that token is read."""

    token: int
    logprob: float  # of the whole beginning
    own: float  # of its last token
    length: int
    parent: _Node | None
    state: State
    weights_HS: Looked


@register("search", "exact")
class Exact(Search):
    """Finds the `nbest` likeliest outputs, or says that the budget did not suffice."""

    def __init__(
        self, *,
        budget: Annotated[int, pydantic.Field(gt=0), "decoder steps a sentence at most"] = 1000,
        nbest: Annotated[int, pydantic.Field(gt=0), "outputs in the answer"] = 1,
        max_length: MaxLength = None, max_ratio: MaxRatio = 3.0, max_extra: MaxExtra = 20,
        min_length: MinLength = 0, allow_unk: AllowUnk = True, no_repeat: NoRepeat = 0,
    ) -> None:  # fmt: skip
        self.budget, self.nbest = budget, nbest
        self.limits = Limits(max_length, max_ratio, max_extra, min_length, allow_unk, no_repeat)

    @torch.inference_mode()
    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        plan, found = self.limits.plan(memory, prefix), []
        for row in range(len(memory.mask_BS)):
            one = torch.tensor([row], device=memory.mask_BS.device)
            found.append(self._sentence(decoder, memory.take(one), plan.take(one), attention))
        if isinstance(decoder, PrefixSteps) and not (prefix or self.limits.looks_back or self.limits.min_length):
            paths = BestPath().search(decoder, memory)
            found = [self._no_worse(*each) for each in zip(found, paths, plan.limit_B.tolist(), strict=True)]
        return found

    def _no_worse(self, found: list[Hypothesis], paths: list[Hypothesis], limit: int) -> list[Hypothesis]:
        """The best path in front, if it is likelier than the first that was found, or that one has no end."""
        path = paths[0]
        allowed = len(path.tokens) <= limit and (self.limits.allow_unk or UNK not in path.tokens)
        if not allowed or (found[0].finished and found[0].logprob >= path.logprob):
            return found
        return [ExactHypothesis(**vars(path), complete=False), *(one for one in found if one.finished)][: len(found)]

    def _sentence(self, decoder: Steps, memory: Memory, plan: Plan, attention: bool) -> list[Hypothesis]:
        number, limit, budget = count(), int(plan.limit_B), self.budget  # numbers: equals come out in order of arrival
        furthest = _Node(BOS, 0.0, 0.0, 0, None, replace(decoder.start(memory), looks=attention), None)
        queue = [(-0.0, next(number), furthest)]
        finished: list[_Node] = []  # the nbest so far, likeliest first

        def floor() -> float:
            """What a beginning must exceed to matter."""
            return finished[-1].logprob if len(finished) == self.nbest else -np.inf

        while queue and -queue[0][0] > floor() and budget > 0:
            node, budget = heapq.heappop(queue)[2], budget - 1
            furthest = max(furthest, node, key=lambda n: (n.length, n.logprob))
            step = decoder.step(memory.mask_BS.new_full((1,), node.token, dtype=torch.long), node.state)
            before_1T = plan.limit_B.new_tensor([[n.token for n in _way(node)]]) if plan.limits.looks_back else None
            logprobs_V = plan.scores(step.logits_BV, node.length, before_1T)[0]
            looked = step.looked()[0].float().cpu().numpy() if attention else None

            def extend(token: int, own: float, of: _Node = node, to: State = step.state, seen: Looked = looked) -> _Node:
                return _Node(token, of.logprob + own, own, of.length + 1, of, to, seen)

            ended = extend(EOS, float(logprobs_V[EOS]))
            if ended.logprob > floor():
                finished = sorted([*finished, ended], key=lambda n: -n.logprob)[: self.nbest]
            if node.length == limit:
                continue
            # of one beginning's extensions no more can ever be taken out than there are steps left
            likeliest = logprobs_V.topk(min(len(logprobs_V), budget + 2))
            for own, token in zip(likeliest.values.tolist(), likeliest.indices.tolist()):
                if token != EOS and node.logprob + own > floor():
                    heapq.heappush(queue, (-(node.logprob + own), next(number), extend(token, own)))
        open_logprob = -queue[0][0] if queue else -np.inf
        mask_S = memory.mask_BS[0].cpu().numpy()
        return [_hypothesis(n, n.token == EOS, n.logprob >= open_logprob, mask_S) for n in finished or [furthest]]


def _way(node: _Node) -> list[_Node]:
    """The nodes that lead to this one, the start left out."""
    nodes: list[_Node] = []
    while node.parent is not None:
        nodes.append(node)
        node = node.parent
    return nodes[::-1]


def _hypothesis(node: _Node, finished: bool, proven: bool, mask_S: Array) -> ExactHypothesis:
    nodes = _way(node)
    looked = [n.weights_HS for n in nodes if n.weights_HS is not None]
    return ExactHypothesis(
        [n.token for n in nodes if n.token != EOS], node.logprob, node.logprob, [n.own for n in nodes], finished,
        real_width(mask_S, np.stack(looked)) if looked else None, complete=finished and proven,
    )  # fmt: skip
