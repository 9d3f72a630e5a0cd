"""Is one system better than another? Paired bootstrap (Koehn 2004) on any metric.

The test set is drawn anew, with replacement, `samples` times; both systems are scored on each draw. `low` and `high`
enclose 95 % of the differences. The p-value is two-sided: how often a draw's difference lies further from the mean
difference than the mean does from zero, that is, how often chance alone would give what was seen
(Riezler & Maxwell 2005): p = (count + 1) / (samples + 1).

>>> from xattend.metrics.exact import ExactMatch
>>> references = [["a"]] * 100
>>> paired_bootstrap(ExactMatch(), ["a"] * 90 + ["b"] * 10, ["a"] * 50 + ["b"] * 50, references).p_value < 0.01
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xattend.metrics.base import Metric


@dataclass(frozen=True)
class Comparison:
    """difference = first - second, on the whole set."""

    metric: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float
    samples: int


def paired_bootstrap(
    metric: Metric, first: list[str], second: list[str], references: list[list[str]],
    *, samples: int = 1000, seed: int = 1,
) -> Comparison:
    """Two systems' outputs for the same inputs."""
    counts_1, counts_2 = metric.checked_statistics(first, references), metric.checked_statistics(second, references)
    value_1, value_2 = metric.value(counts_1.sum(axis=0)), metric.value(counts_2.sum(axis=0))
    generator, size = np.random.default_rng(seed), len(references)
    differences = np.empty(samples)
    for sample in range(samples):
        drawn = generator.integers(0, size, size)
        differences[sample] = metric.value(counts_1[drawn].sum(axis=0)) - metric.value(counts_2[drawn].sum(axis=0))
    observed = value_1 - value_2
    further = int((np.abs(differences - differences.mean()) >= abs(observed)).sum())
    low, high = np.quantile(differences, [0.025, 0.975])
    return Comparison(
        metric.name, value_1, value_2, observed, float(low), float(high), (further + 1) / (samples + 1), samples
    )
