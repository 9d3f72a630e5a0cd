"""Each schedule against numbers worked by hand."""

from __future__ import annotations

import json
import math

import pytest

from xattend import registry
from xattend.registry import build
from xattend.training.schedules import Schedule


def factors(name: str, points: list[tuple[int, float, float]], **given: float) -> list[float]:
    schedule: Schedule = build("schedule", name, **given)
    return [schedule.factor(*point) for point in points]


def test_constant_is_one_without_warmup() -> None:
    assert factors("constant", [(1, 0.0, 0.0), (99, 3.0, 0.9)]) == [1.0, 1.0]


def test_constant_with_warmup() -> None:
    assert factors("constant", [(1, 0.0, 0.0), (5, 0.0, 0.0), (20, 0.0, 0.0)], warmup=10) == [0.1, 0.5, 1.0]


def test_inverse_square_root_is_the_transformers() -> None:
    size, warmup = 512, 4000
    peak = (size * warmup) ** -0.5  # Vaswani et al. 2017: 7e-4 for the base model
    assert peak == pytest.approx(6.988e-4, rel=1e-3)
    steps = [1, 100, 4000, 4001, 100_000]
    equation_3 = [size**-0.5 * min(step**-0.5, step * warmup**-1.5) for step in steps]
    ours = factors("inverse-square-root", [(step, 0.0, 0.0) for step in steps], warmup=warmup)
    assert [peak * factor for factor in ours] == pytest.approx(equation_3, rel=1e-9)


def test_halving_as_in_sutskever() -> None:
    epochs = [0.0, 4.99, 5.0, 5.49, 5.5, 6.0, 7.0, 7.49]  # 7.5 epochs in all: five halvings
    expected = [1, 1, 1 / 2, 1 / 2, 1 / 4, 1 / 8, 1 / 32, 1 / 32]
    assert factors("halving", [(1, epoch, 0.0) for epoch in epochs]) == expected


def test_halving_is_not_late_by_a_rounding_error() -> None:
    assert 0.3 / 0.1 < 3
    assert factors("halving", [(1, 0.3, 0.0)], start=0.0, every=0.1) == [0.5**4]


def test_plateau() -> None:
    schedule = build("schedule", "plateau", factor=0.1, patience=2, floor=0.05)
    seen = []
    for better in (True, False, True, False, False, False, False, True):
        schedule.observe(better)
        seen.append(schedule.factor(1, 0.0, 0.0))
    assert seen == pytest.approx([1, 1, 1, 1, 0.1, 0.1, 0.05, 0.05])


def test_plateau_state_survives_json() -> None:
    one, other = build("schedule", "plateau", patience=2), build("schedule", "plateau", patience=2)
    one.observe(False)
    other.restore(json.loads(json.dumps(one.state())))
    for schedule in (one, other):
        schedule.observe(False)
    assert one.factor(1, 0.0, 0.0) == other.factor(1, 0.0, 0.0) == 0.5


def test_linear_and_cosine() -> None:
    points = [(10, 0.0, progress) for progress in (0.0, 1 / 3, 0.5, 1.0)]
    assert factors("linear", points) == pytest.approx([1, 2 / 3, 0.5, 0])
    assert factors("cosine", points) == pytest.approx([1, 0.75, 0.5, 0])  # cos(pi/3) = 1/2
    assert factors("linear", points, floor=0.1) == pytest.approx([1, 0.7, 0.55, 0.1])
    assert factors("cosine", [(5, 0.0, 0.5)], warmup=10) == pytest.approx([0.25])


@pytest.mark.parametrize("name", registry.names("schedule"))
def test_every_schedule_keeps_its_contract(name: str) -> None:
    schedule: Schedule = build("schedule", name)
    for step in (1, 10, 10_000):
        for progress in (0.0, 0.5, 1.0):
            value = schedule.factor(step, 3 * progress, progress)
            assert math.isfinite(value)
            assert 0 <= value <= 1
    schedule.restore(json.loads(json.dumps(schedule.state())))
