"""`xattend bench`."""

from __future__ import annotations

import json

from tests.cli.conftest import Xattend


def test_a_table_with_a_row_a_recipe(xattend: Xattend) -> None:
    answer = xattend("bench", "copy", "lm", "--seconds", "0.1", "-s", "training.tokens=256", "-s", "decoder.size=16")
    assert answer.code == 0
    assert "GFLOP/s at a large product" in answer.lines[0]
    assert [line.split()[0] for line in answer.lines[-2:]] == ["copy", "lm*"]  # its files are not here


def test_json_has_every_figure(xattend: Xattend) -> None:
    answer = xattend("bench", "copy", "--seconds", "0.1", "-s", "training.tokens=256", "--json")
    found = json.loads(answer.out)
    (one,) = found["recipes"]
    assert found["peak_gflops"] > 0
    assert 0 < one["of_peak"] < 2
    assert 0 <= one["padding"] < 1
    assert abs(sum(one["shares"].values()) - 1) < 0.2


def test_an_unknown_recipe_is_one_line(xattend: Xattend) -> None:
    answer = xattend("bench", "nothing-of-the-kind")
    assert answer.code == 2
    assert len(answer.err.strip().splitlines()) <= 2


def test_a_recipe_with_one_table_for_both_sides_is_timed_on_made_up_rows(xattend: Xattend) -> None:
    answer = xattend("bench", "transformer2017-tiny", "--seconds", "0.1", "-s", "training.tokens=256", "-s", "encoder.layers=1")
    assert answer.code == 0
    assert answer.lines[-1].split()[0] == "transformer2017-tiny*"
