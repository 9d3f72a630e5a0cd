"""What the figures of machines and of the clockwork network are made of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from xattend import recipe, registry
from xattend.reproductions import Outcome
from xattend.reproductions.clockwork import Clockwork
from xattend.reproductions.machines import Dnc, NtmCopy, NtmRecall, NtmRepeat, cost


def outcomes(found: Any, trials: dict[str, Any]) -> dict[str, Outcome]:
    def trial(name: str) -> Any:  # the second seed is the best on validation rows
        return SimpleNamespace(name=name, log=lambda: [{"loss": 0.0}, {"validation_loss": 1.0 if name.endswith("-2") else 2.0}], **trials.get(name, {}))

    return {plan.name: Outcome(trial(plan.name), {}, {}, 1.0) for plan in found.plans()}


@pytest.mark.parametrize("name", ["ntm-copy", "ntm-repeat", "ntm-recall", "dnc", "clockwork"])
def test_every_plan_is_a_recipe(name: str) -> None:
    for plan in registry.find("reproduction", name)().plans():
        recipe.load(plan.recipe, plan.overrides).resolve()


def test_copy_is_the_median_and_counts_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    at_40 = {"ntm-1": 0.2, "ntm-2": 0.1, "ntm-3": 0.6, "ntm-4": 30.0, "ntm-5": 40.0, "lstm-1": 90.0}

    def measured(self: NtmCopy, trial: Any) -> dict[str, float]:
        return {"up to 20": 0.001 if at_40[trial.name] < 1 else 2.0, **{str(n): at_40[trial.name] for n in self.lengths}}

    monkeypatch.setattr(NtmCopy, "measured", measured)
    one = NtmCopy()
    found = outcomes(one, {})
    summary = one.summary(found)
    assert (summary.ours, summary.figures["seeds_below"]) == (0.6, 3)
    assert all(summary.figures["claims"].values())
    assert one.reached(summary.ours)


@pytest.mark.parametrize(("kind", "wanted"), [(NtmRepeat, 0.5), (NtmRecall, 0.3), (Dnc, 0.7)])
def test_the_figure_is_that_of_the_machine_that_is_best_on_validation_rows(kind: Any, wanted: float, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {"as trained": 0.5, "12": 0.3, "10 slots": 0.1, "50 slots": 0.7}
    monkeypatch.setattr(kind, "measured", lambda self, trial: numbers if trial.name in ("ntm-2", "dnc-2") else dict.fromkeys(numbers, 99.0))
    assert kind().summary(outcomes(kind(), {})).ours == wanted


def test_a_cost_is_measured_on_rows_of_other_settings(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from xattend import job
    from xattend.trial import Trial

    monkeypatch.setenv("XATTEND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("xattend.reproductions.machines.ROWS", 10)
    changes = ("data.task.rows=60", "training.steps=1", "training.validate_every=1", "system.size=8", "system.width=4")
    job.start("dnc", out=tmp_path / "run", overrides=changes)
    trial = Trial("dnc-1", "dnc", changes, tmp_path / "run")
    few, many = cost(trial), cost(trial, slots=20, min_series=6, max_series=6)
    assert 0 < few["percent_wrong"] < 100
    assert many["bits"] == pytest.approx(6 * 4 * 6, rel=0.1)  # untrained: about a bit a bit


def test_clockwork_is_compared_by_the_mean_error() -> None:
    one = Clockwork()
    wrong = {"clockwork": "0.5 -1.0", "lstm": ". .", "rnn": ". ."}

    def outputs(text: str) -> dict[str, Any]:
        return {"outputs": lambda split: ([". ."], [text], ["1.0 -1.0"])}

    trials = {plan.name: outputs(wrong[plan.name.split("-")[0]]) for plan in one.plans()}
    summary = one.summary(outcomes(one, trials))
    assert summary.figures["normalised_error"] == {"clockwork": 0.125, "lstm": 1.0, "rnn": 1.0}
    assert summary.ours == 0.125
