"""`xattend gradients`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import COPY, TINY, Xattend, trained

QUICK = ("--samples", "2", "--repeats", "4", "--places", "3", "--steps", "2", "--width", "8")
HARD = ("-s", "attention.kind=hard")


def test_tables(xattend: Xattend) -> None:
    answer = xattend("gradients", "copy", *HARD, *QUICK, "--samples", "1,2")
    assert answer.code == 0, answer.err
    assert "2 rows, cut to 3 places and 2 steps: 9 paths a row" in answer.lines[0]
    assert sum(line.startswith("leave-one-out  ") for line in answer.lines) == 2
    assert any(line.startswith("gap = KL") for line in answer.lines)


def test_json_and_figure(xattend: Xattend, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    answer = xattend("gradients", "copy", *HARD, *QUICK, "--json", "--figure", tmp_path / "variance.svg")
    found = json.loads(answer.out)
    assert found["quantities"]["bound"] <= found["quantities"]["likelihood"]
    assert found["quantities"]["identity"] < 1e-6
    assert {(one["estimator"], one["samples"]) for one in found["gradients"]} >= {("none", 2), ("gumbel", 2)}
    assert found["weights"]["attention"] < found["weights"]["all"]
    again = json.loads(xattend("gradients", "copy", *HARD, *QUICK, "--json").out)
    assert again == found
    assert "self-critical" in (tmp_path / "variance.svg").read_text()


def test_a_run_with_its_own_weights(xattend: Xattend, tmp_path: Path) -> None:
    recipe = COPY + TINY.replace("steps = 120", "steps = 2") + "[attention]\nkind = \"hard\"\n"
    run = trained(tmp_path, recipe, "hard")
    found = json.loads(xattend("gradients", run, *QUICK, "--json").out)
    assert found["weights"]["all"] > 1000
    assert "the model is trained" in xattend("gradients", run, *HARD, *QUICK).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("copy", *QUICK), "add -s attention.kind=hard"),
        (("lm", *QUICK), "xattend"),
        (("copy", *HARD, "--samples", "1,x"), "--samples 1,x"),
        (("copy", *HARD, "--places", "9", "--steps", "9"), "paths, more than"),
        (("copy", *HARD, *QUICK, "-s", "decoder.kind=transformer", "-s", "decoder.layers=2"), "decoder.layers=1"),
    ],
)
def test_mistakes_are_one_line(xattend: Xattend, words: tuple[str, ...], said: str) -> None:
    answer = xattend("gradients", *words)
    assert answer.code == 2
    assert said in answer.err
    assert len(answer.err.strip().splitlines()) == 1
