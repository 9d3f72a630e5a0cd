"""The laboratory at a size where it is quick: what must be equal is, what must be unbiased is, and what is biased is seen to be."""

from __future__ import annotations

import copy
import functools
from typing import Any

import pytest
import torch

from tests.systems import small
from xattend.laboratory.bench import Bench, ready
from xattend.laboratory.estimators import ESTIMATORS, Measure, exact_gradient, measure
from xattend.laboratory.quantities import quantities
from xattend.systems.seq2seq import Seq2Seq


@functools.cache
def bench(attend: str = "before", kind: str = "rnn") -> Bench:
    decoder: dict[str, Any] = {"kind": kind, "size": 8, "embedding": 4, "attend": attend, "dropout": 0.2}
    if kind == "transformer":
        decoder = {"kind": kind, "size": 8, "layers": 1, "heads": 2, "inner": 8}
    system = small.system(
        encoder={"kind": "birnn", "size": 4, "embedding": 4}, decoder=decoder, attention={"kind": "hard"},
    )  # fmt: skip
    assert isinstance(system, Seq2Seq)
    with torch.no_grad():
        for weight in system.parameters():
            weight.mul_(4.0 if weight.dim() > 1 else 1.0)
    source, target = small.padded([[4, 7, 5], [9, 3, 0]]), small.padded([[2, 4, 7], [2, 9, 3]])
    return Bench(ready(system), small.Batch(source, target, (0, 1)), 3)


@pytest.mark.parametrize(("attend", "kind"), [("before", "rnn"), ("after", "rnn"), ("between", "rnn"), ("before", "transformer")])
def test_quantities(attend: str, kind: str) -> None:
    torch.manual_seed(1)
    found = quantities(bench(attend, kind))
    assert found.paths == 9
    assert found.bound < found.likelihood
    assert found.drawn == pytest.approx(found.bound, abs=3 * found.drawn_error)
    assert found.identity < 1e-6
    assert found.linear < 1e-6
    assert found.readout > 1e-4, "a tanh readout is not linear in the context"
    if attend == "after":  # where it looked changes no state, so the sum over paths is a product of sums
        assert found.by_step == pytest.approx(found.likelihood, rel=1e-9)
    elif kind == "rnn":
        assert found.states is not None
        assert found.states > 1e-3
        assert abs(found.by_step - found.likelihood) > 1e-4


@functools.cache
def measured(number: int) -> dict[str, Measure]:
    """Eight hundred estimates, by the weights they are of."""
    torch.manual_seed(2)
    return {one.of: one for one in measure(bench(), ESTIMATORS[number], 8, exact_gradient(bench()), repeats=800)}


@pytest.mark.parametrize("number", range(len(ESTIMATORS)), ids=[estimator.name for estimator in ESTIMATORS])
def test_bias_is_where_it_should_be(number: int) -> None:
    bias = [measured(number)[of].bias or 0.0 for of in ("attention", "all")]
    assert min(bias) > 0
    assert (max(bias) < 3) == ESTIMATORS[number].unbiased, bias


def test_baselines_leave_the_mean_and_lower_the_variance() -> None:
    of = {estimator.name: measured(number) for number, estimator in enumerate(ESTIMATORS) if estimator.unbiased}
    for name, one in of.items():
        assert one["all"].cosine > (0.9 if name == "none" else 0.99), name
        assert name == "none" or one["attention"].variance < of["none"]["attention"].variance / 3, name
    assert of["leave-one-out, rest"]["attention"].variance < of["leave-one-out"]["attention"].variance


def test_variance_falls_as_paths_grow() -> None:
    torch.manual_seed(4)
    true, moving = exact_gradient(bench()), ESTIMATORS[1]
    few, many = (measure(bench(), moving, n, true, repeats=200)[1].variance for n in (2, 32))
    assert few / many == pytest.approx(16, rel=0.5)


def test_a_model_that_is_sure_has_no_error_to_measure_by() -> None:
    sure = copy.deepcopy(bench())
    with torch.no_grad():
        for weight in sure.hard.content.parameters():
            weight.mul_(1000.0)
    torch.manual_seed(5)
    found = measure(sure, ESTIMATORS[4], 4, exact_gradient(sure), repeats=20)
    assert [one.bias for one in found] == [None, None]
