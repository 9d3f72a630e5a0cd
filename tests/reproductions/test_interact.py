"""Success and pointing of the greeter, worked by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from xattend.data.tasks.greeter import Greeter
from xattend.drawing.encounter import STEPS
from xattend.reproductions import Outcome
from xattend.reproductions.interact import Interacting, at_random, pointing, success
from xattend.types import Trace

# 2 looks back after two steps and reaches after two; 5 is a passer; 1 turns at once
SOURCES = ["greeter:2", "greeter:5", "greeter:1"]
MET, LATE = "wait look wait wave wait handshake", "wait wait wait handshake handshake"


def outcome(texts: list[str], script: list[str]) -> Outcome:
    return Outcome(SimpleNamespace(outputs=lambda split: (SOURCES, texts, script)), {}, {}, 1.0)  # type: ignore[arg-type]


def test_the_figure_is_the_mean_share_of_visitors_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Interacting, "looks", lambda self, trial: 50.0)
    found = Interacting()
    rows = dict(Greeter(rows=20).splits()["train"])
    script = [rows[source] for source in SOURCES]
    by_plan = {plan.name: outcome([MET if plan.name.startswith("attention") else LATE, LATE, LATE], script) for plan in found.plans()}
    by_plan["attention-3"] = outcome([MET, "wait", script[2]], script)
    summary = found.summary(by_plan)
    assert summary.ours == pytest.approx((50 + 50 + 100) / 3)
    assert summary.figures["by_training"]["attention-1"] == {"percent_met": 50.0, "reward": pytest.approx((1 - 0.2 - 0.2) / 3, abs=1e-5)}
    assert summary.figures["mean"]["mean"]["percent_met"] == 0.0
    assert summary.figures["mean"]["script"] == {"percent_met": 100.0, "reward": pytest.approx(2 / 3, abs=1e-5)}
    assert summary.figures["pointing_mean"] == 50.0


def test_random_actions_are_always_the_same() -> None:
    assert at_random(SOURCES) == at_random(SOURCES)
    assert {len(text.split()) for text in at_random(SOURCES)} == {STEPS}
    assert success(SOURCES, ["wait"] * 3) == {"percent_met": 0.0, "reward": 0.0}


def test_pointing_counts_steps_in_which_somebody_is_there() -> None:
    """Every step looks at the middle of the left edge: right in the first steps of somebody who comes from the left."""
    source, text = "greeter:1", " ".join(["wait"] * STEPS)
    weights_THS = np.zeros((STEPS + 1, 1, 36), np.float32)
    weights_THS[:, 0, 18] = 1.0
    trace = Trace([], [], weights_THS, (6, 6))
    answer = SimpleNamespace(trace=trace, text=text, attention=weights_THS.mean(axis=1))
    model = SimpleNamespace(search=lambda: None, predict_rows=lambda rows, search, attention: [answer for _ in rows])
    trial = SimpleNamespace(model=lambda: model, data=SimpleNamespace(splits={"test": _Split((source, text))}))
    boxes = [box for box in Greeter().gold(source, text) if box is not None]
    inside = [box[0] <= 0.5 / 6 <= box[2] or (int(3 * (box[0] + box[2])) == 0) for box in boxes]
    assert 0 < sum(inside) < len(boxes)
    assert pointing(trial) == pytest.approx(100 * sum(inside) / len(boxes))  # type: ignore[arg-type]


class _Split:
    """A split of one row."""

    name = "test"

    def __init__(self, row: tuple[str, str]) -> None:
        self.texts = lambda number: row

    def __len__(self) -> int:
        return 1
