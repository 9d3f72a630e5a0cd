"""Bias and variance of the gradients that hard attention can be trained with, beside the exact gradient of L_s.

An estimate is the gradient, summed over the bench's rows, that one batch with N paths a row gives. R estimates are made in M groups,
each group's rows in one backward pass; with g_m the mean of group m, g the mean of all, g* the exact gradient,

    variance   of one estimate: R/M  sum_m |g_m - g|^2 / (M - 1), over |g*|^2
    error      of g: sqrt(sum_m |g_m - g|^2 / (M - 1) / M)
    bias       |g - g*| / error: about 1 if there is none, whatever the number of estimates; it grows with them if there is one
    cosine     of the angle between g and g*

The gradients are those of the objective that trains (objectives/variational.py), not of a copy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from xattend.attention.hard import DRAW
from xattend.laboratory.bench import Bench
from xattend.objectives.paths import all_one, exact, walk
from xattend.objectives.variational import LowerBound

ROUNDING = 1e-9  # gradients that differ by less, relatively, are the same
WARM = 10  # batches that a moving baseline sees before it is measured
LESSONS, RATE, ROWS = 60, 0.01, 8  # gradient steps that a learned one gets, how long, and on each row so many times


@dataclass(frozen=True)
class Estimator:
    """A way to a gradient of L_s.

    objective   settings of `lower-bound`; None: the gradient of log p(y | s, a) alone, places included if they have one
    hard        settings of hard attention
    """

    name: str
    unbiased: bool
    objective: dict[str, Any] | None
    hard: dict[str, Any] = field(default_factory=dict)

    def takes(self, samples: int) -> bool:
        return samples > 1 or self.objective is None or self.objective["baseline"] != "leave-one-out"


def _bound(baseline: str, credit: str = "path", **more: float) -> dict[str, Any]:
    return {"baseline": baseline, "credit": credit, **more}


ESTIMATORS = (
    Estimator("none", True, _bound("none")),
    Estimator("moving", True, _bound("moving")),
    Estimator("learned", True, _bound("learned")),
    Estimator("self-critical", True, _bound("self-critical")),
    Estimator("leave-one-out", True, _bound("leave-one-out")),
    Estimator("leave-one-out, rest", True, _bound("leave-one-out", "rest")),
    Estimator("moving, entropy .5", False, _bound("moving", entropy=0.5)),
    Estimator("moving, semi-sampling .5", False, _bound("moving"), {"semi_sampling": 0.5}),
    Estimator("gumbel", False, None, {"sampler": "gumbel"}),
)


@dataclass(frozen=True)
class Measure:
    """What an estimator's gradients are like; see above. `of` says for which weights: attention's, or all.

    The bias is None if no two groups differed, so that there is no error to measure it by: a model that is sure where it looks.
    """

    estimator: str
    unbiased: bool
    samples: int
    of: str
    cosine: float
    bias: float | None
    variance: float


def exact_gradient(bench: Bench) -> Tensor:
    """dL_s/dW by summing every path: one long vector, attention's weights first."""
    memory, target = bench.read()
    return _gradient(bench, exact(bench.decoder, memory, target).bound_B.sum())


def _gradient(bench: Bench, value: Tensor) -> Tensor:
    weights, _ = bench.weights()
    found = torch.autograd.grad(value, weights, allow_unused=True)
    return torch.cat([(torch.zeros_like(w) if g is None else g).flatten() for w, g in zip(weights, found, strict=True)])


def measure(
    bench: Bench, estimator: Estimator, samples: int, true: Tensor, *, repeats: int = 200, groups: int = 20
) -> list[Measure]:
    """`repeats` estimates (or a few more: as many in each group) of `samples` paths a row each, for attention's weights and for all.

    Draws from torch's random state.
    """
    groups = max(2, min(groups, repeats))
    times = math.ceil(repeats / groups)
    with _set(bench, estimator.hard):
        estimate = _estimates(bench, estimator, samples, times)
        means_MP = torch.stack([next(estimate) for _ in range(groups)])
    weights, own = bench.weights()
    found, attention = [], sum(weight.numel() for weight in weights[:own])
    for of, end in (("attention", attention), ("all", len(true))):
        part_MP, exact_P = means_MP[:, :end], true[:end]
        mean_P, length = part_MP.mean(dim=0), exact_P.norm().clamp(min=torch.finfo(exact_P.dtype).tiny)
        spread = (part_MP - mean_P).square().sum() / (groups - 1)
        told = bool(spread.sqrt() > ROUNDING * torch.maximum(mean_P.norm(), length))
        found.append(Measure(
            estimator.name, estimator.unbiased, samples, of,
            cosine=float(torch.nn.functional.cosine_similarity(mean_P, exact_P, dim=0)),
            bias=float((mean_P - exact_P).norm() / (spread / groups).sqrt()) if told else None, variance=float(times * spread / length**2),
        ))  # fmt: skip
    return found


@contextmanager
def _set(bench: Bench, settings: dict[str, Any]) -> Iterator[None]:
    """Hard attention with other settings, for a while."""
    before = {name: getattr(bench.hard, name) for name in settings}
    try:
        for name, value in settings.items():
            setattr(bench.hard, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(bench.hard, name, value)


def _estimates(bench: Bench, estimator: Estimator, samples: int, times: int) -> Iterator[Tensor]:
    """Means of `times` estimates each, without end."""
    if estimator.objective is None:
        while True:
            memory, target = bench.read(times)
            start = bench.decoder.start(memory).beams(samples)
            yield _gradient(bench, walk(bench.decoder, all_one(start, DRAW), target).words_nT.sum() / (times * samples))
    objective = LowerBound(samples=samples, **estimator.objective)
    objective.wire(bench.system.encoder.size)
    objective.double().train()
    _prepare(bench, objective)
    while True:
        yield _gradient(bench, -objective(bench.decoder, *bench.read(times)).total / times)


def _prepare(bench: Bench, objective: LowerBound) -> None:
    """A baseline that learns has learnt before it is measured."""
    if objective.baseline == "moving":
        with torch.no_grad():
            for _ in range(WARM):
                objective(bench.decoder, *bench.read())
    if objective.critic is not None:
        weights = list(objective.critic.parameters())
        with torch.no_grad():
            memory, target = bench.read(ROWS)
        for _ in range(LESSONS):
            found = torch.autograd.grad(objective(bench.decoder, memory, target).total, weights)
            with torch.no_grad():
                for weight, gradient in zip(weights, found, strict=True):
                    weight.sub_(gradient, alpha=RATE / len(memory.mask_BS))
