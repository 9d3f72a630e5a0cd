"""Figures of the memory networks' reproductions, from made-up outcomes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from xattend.recipe import load
from xattend.reproductions import Outcome
from xattend.reproductions.dmn_plus import PAPER as PLUS
from xattend.reproductions.dmn_plus import DmnPlus
from xattend.reproductions.hred import Hred
from xattend.reproductions.memn2n import JOINT, NAMES, PAPER, Joint, PerTask, files


def outcome(train: float, test: float, loss: float = 1.0, **more: float) -> Outcome:
    """Shares of a hundred questions that are answered rightly."""

    def outputs(split: str) -> tuple[list[str], list[str], list[str]]:
        right = round(100 * (train if split == "train" else test))
        return ["?"] * 100, ["a"] * right + ["b"] * (100 - right), ["a"] * 100

    trial = SimpleNamespace(outputs=outputs, log=lambda: [{"loss": loss}, {"event": "validation"}])
    return Outcome(trial, {}, {"exact": test, **more}, 1.0)  # type: ignore[arg-type]


def test_the_restart_with_the_lowest_training_error_counts_not_the_best_on_test_rows() -> None:
    found = {plan.name: outcome(0.9, 0.8) for plan in PerTask().plans()}
    found["qa2-1"], found["qa2-2"], found["qa2-3"] = outcome(0.9, 0.99), outcome(1.0, 0.7, loss=0.2), outcome(1.0, 0.6, loss=0.1, facts_found=0.5)
    for seed in (1, 2, 3):
        found[f"qa16-softmax-{seed}"] = outcome(0.5, 0.5)
    summary = PerTask().summary(found)
    assert summary.ours == pytest.approx((19 * 20 + 40) / 20)
    assert summary.figures["by_task"]["qa2"]["chosen"] == "qa2-3"  # equal errors: the lower loss
    assert summary.figures["by_task"]["qa2"]["facts_found"] == 50.0
    assert summary.figures["linear_start_on_task_16"] == {"with": pytest.approx(20), "without": pytest.approx(50)}
    assert (summary.figures["restarts"]["qa1"], summary.figures["restarts"]["qa2"]) == (3, 5)


def test_the_joint_figure_is_the_mean_over_tasks() -> None:
    found = {"joint-1": outcome(0.5, 1.0), "joint-2": outcome(0.9, 0.8)}
    summary = Joint().summary(found)
    assert summary.ours == pytest.approx(20)
    assert summary.figures["chosen"] == "joint-2"
    assert summary.figures["by_task"]["qa1"]["error"] == 0
    assert summary.figures["by_task"]["qa20"]["error"] == 100  # the last hundredths are wrong


def test_the_worst_task_counts() -> None:
    found = {plan.name: outcome(1.0, 0.99) for plan in DmnPlus().plans()}
    found["qa18"] = outcome(1.0, 0.96)
    summary = DmnPlus().summary(found)
    assert summary.ours == pytest.approx(4)
    assert summary.figures["worst"] == "qa18"
    assert DmnPlus().reached(summary.ours)
    assert list(PLUS) == [1, *range(4, 16), 18, 20]


def test_perplexities_are_compared_by_their_means() -> None:
    found = {plan.name: outcome(1.0, 1.0, perplexity=1.5 if plan.name.startswith("hred") else 3.0) for plan in Hred().plans()}
    summary = Hred().summary(found)
    assert summary.ours == pytest.approx(0.5)
    assert summary.figures["claims"] == {"lower with every seed": True}
    found["flat-2"] = outcome(1.0, 1.0, perplexity=1.4)
    assert Hred().summary(found).figures["claims"] == {"lower with every seed": False}


def test_printed_means_are_those_of_the_printed_tables() -> None:
    assert sum(PAPER) / 20 == pytest.approx(13.9, abs=0.06)
    assert sum(JOINT) / 20 == pytest.approx(12.4, abs=0.06)


def test_linear_starts_last_as_many_passes_as_is_said() -> None:
    recipe = load("babi").resolve()
    assert recipe.section("system")["linear_start"] == 20 * -(-1000 // recipe.training.sentences)  # type: ignore[operator]
    joint = load("babi", Joint().plans()[0].overrides).resolve()
    assert joint.section("system")["linear_start"] == 30 * 20 * 1000 // 32
    assert files(20)[1] == "data.test=babi/en/qa20_agents-motivations_test.txt"
    assert len(NAMES) == 20


def test_curves_are_those_of_training_as_no_rows_are_held_out() -> None:
    one = Outcome(SimpleNamespace(log=lambda: [{"epoch": 1.0, "loss": 2.0}, {"event": "validation"}]), {}, {}, 1.0)  # type: ignore[arg-type]
    drawn = Joint().plots({"joint-1": one}, {})["learning"]
    assert drawn.lines == {"joint-1": [(1.0, 2.0)]}
    assert list(PerTask().plots({"qa1-1": one, "qa16-softmax-1": one}, {})["learning"].lines) == ["qa16-softmax-1"]
