"""Figures of RAM and DRAW from made-up scores, and that their plans are whole recipes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from xattend import recipe, registry
from xattend.reproductions import Outcome
from xattend.reproductions.draw import Drawing, SoftWindows
from xattend.reproductions.ram import Cluttered, Plain

NAMES = ("ram-28", "ram-translated", "ram-cluttered", "draw", "draw-classify")


def outcomes(errors: dict[str, float]) -> dict[str, Outcome]:
    return {name: Outcome(SimpleNamespace(), {}, {"exact": 1 - error / 100}, 60.0) for name, error in errors.items()}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_its_trainings_are_recipes_on_mnist_with_a_number_of_updates(name: str) -> None:
    found = registry.find("reproduction", name)()
    for plan in found.plans():
        given = recipe.load(plan.recipe, plan.overrides).resolve()
        assert given.section("data")["format"] == "idx"
        assert given.section("data")["split"] == {"validation": 0.08}
        assert (given.training.epochs, given.training.minutes) == (None, None)
        assert given.training.steps


def test_more_looks_may_be_a_little_worse() -> None:
    found = Plain().summary(outcomes({"looks6": 1.3, "looks4": 1.2, "looks2": 4.0}))
    assert found.ours == pytest.approx(1.3)
    assert found.figures["claims"] == {"falling": True}
    assert Plain().reached(1.3)
    assert not Plain().reached(1.5)
    assert not Plain().summary(outcomes({"looks6": 1.5, "looks4": 1.2, "looks2": 4.0})).figures["claims"]["falling"]


def test_cluttered_digits_beside_the_controls() -> None:
    claims = Cluttered().summary(outcomes({"ram": 5.0, "random": 9.0, "convolutional": 8.0, "dense": 4.0})).figures["claims"]
    assert list(claims.values()) == [True, False, False]
    assert SoftWindows().summary(outcomes({"soft": 3.0, "ram": 5.0})).figures["claims"] == {"below RAM": True}


def test_the_bound_and_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Drawing, "parts", lambda self, trial: {"bound": trial.nats})
    found = {name: Outcome(SimpleNamespace(nats=nats), {}, {}, 1.0) for name, nats in (("draw", 94.0), ("vae", 103.0))}  # type: ignore[arg-type]
    summary = Drawing().summary(found)
    assert summary.ours == 94.0
    assert summary.figures["claims"] == {"below the control": True}
    assert Drawing().reached(94.0)
