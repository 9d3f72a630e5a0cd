"""Figures of handwriting, online alignments and walks from made-up scores, and that their plans are whole recipes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.data.sail import sail
from xattend import recipe, registry
from xattend.data.fields.walk import Walk as WalkField
from xattend.data.named import Places
from xattend.reproductions import Outcome
from xattend.reproductions.base import learning_curves
from xattend.reproductions.handwriting import Handwriting
from xattend.reproductions.luo import Luo
from xattend.reproductions.walk import Walk, arrivals


def outcome(**test: float) -> Outcome:
    return Outcome(SimpleNamespace(), {}, dict(test), 60.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["handwriting", "luo", "walk"])
def test_its_trainings_are_recipes(name: str) -> None:
    plans = registry.find("reproduction", name)().plans()
    assert len({plan.name for plan in plans}) == len(plans)
    for plan in plans:
        recipe.load(plan.recipe, plan.overrides).resolve()


def test_handwriting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Handwriting, "looks", lambda self, trial: 96.0)
    monkeypatch.setattr(Handwriting, "read", lambda self, writer, reader: {"written": 84.0, "drawn": 99.0, "cut": 0.0})
    found = Handwriting().summary({"text": outcome(nll=-1.0), "without-text": outcome(nll=-0.5), "reader": outcome(cer=0.01)})
    assert found.ours == 96.0
    assert Handwriting().reached(96.0)
    assert list(found.figures["claims"].values()) == [True, False]


def test_luo() -> None:
    exact, drawn = outcome(per=0.02, nll=0.1), outcome(per=0.1, nll=0.5)
    made = {plan.name: exact if plan.name.startswith("marginal") else drawn for plan in Luo().plans()}
    found = Luo().summary(made)
    assert found.ours == pytest.approx(2.0)
    assert found.figures["claims"] == {"the sum is learnt better": True}


def test_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    right = {"full": 70.0, "high-level": 69.0, "no-aligner": 60.0, "no-encoder": 61.0, "absolute": 65.0}
    monkeypatch.setattr(Walk, "accuracy", lambda self, trials: trials[0].right + len(trials) - 1)
    trials = {plan.name: SimpleNamespace(right=right[plan.name.rsplit("-", 2)[0]]) for plan in Walk().plans()}
    made = {name: Outcome(trial, {}, {}, 1.0) for name, trial in trials.items()}  # type: ignore[arg-type]
    found = Walk().summary(made)
    assert (found.ours, found.figures["percent_right_alone"]["full"]) == (79.0, 70.0)
    assert Walk().reached(70.0)
    assert list(found.figures["claims"].values()) == [True, False]


def test_a_walk_is_right_by_where_it_ends(tmp_path: Path) -> None:
    sail(tmp_path)
    field = WalkField()
    field.settle(Places((tmp_path,), (tmp_path,)))
    sources = ["T 0 0 90|go"] * 4
    written = ["walk stop", "left right walk stop", "walk left stop", "stop"]
    assert arrivals(field, sources, written, ["walk stop"] * 4) == 50.0


def test_curves_of_another_metric_are_not_drawn_on_one_axis() -> None:
    def one(metric: str) -> Outcome:
        trial = SimpleNamespace(recipe=SimpleNamespace(training=SimpleNamespace(metric=metric)))
        return Outcome(trial, {}, {}, 1.0, [(1.0, 0.5)])  # type: ignore[arg-type]

    assert list(learning_curves({"ctc": one("cer"), "language": one("loss")}).lines) == ["ctc"]
