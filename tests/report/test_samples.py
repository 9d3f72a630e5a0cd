"""Reports of models that write no text: what they paint and draw stands in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import trained
from tests.viewer import models
from xattend.cli.report import gather
from xattend.data.readers.base import Row
from xattend.model import Score
from xattend.report.page import report
from xattend.report.samples import drawn
from xattend.report.trace_json import read_trace

TINY = "[training]\nsteps = 2\nsentences = 8\nvalidate_every = 2\n"
DRAW = (
    '[data]\ntask = { kind = "digits", rows = 60 }\nsource = { kind = "placed", binary = true }\ntarget = { unit = "character" }\n'
    '[system]\nkind = "draw"\nsteps = 3\nread = { kind = "gaussian", size = 2 }\nwrite = { kind = "gaussian", size = 3 }\nsize = 8\ncode = 4\n[search]\nkind = "greedy"\n'
)
WRITE = (
    '[data]\ntask = { kind = "handwriting", rows = 60 }\n[system]\nkind = "write"\nsize = 6\nlayers = 1\ngaussians = 2\n'
    '[attention]\nkind = "window"\ncomponents = 2\n[search]\nkind = "greedy"\n'
)


def test_the_least_likely_rows_are_the_worst() -> None:
    rows = [Row(f"digits:{digit} serif {20000000 + digit}", str(digit), "rows", digit + 1) for digit in range(5)]
    scores = [Score(value, [], [value]) for value in (-3.0, -9.0, -1.0, -5.0, -2.0)]
    examples, worst = drawn(models.painter(), rows, scores, 2)
    assert [one.trace.source_text for one in worst] == [rows[1].source, rows[3].source]
    assert [one.score for one in worst] == ["9.00 nats a row", "5.00 nats a row"]
    first, *rest = examples
    assert first.trace.pixels is not None
    assert first.trace.pixels.shape == (3, 120, 120, 3)  # sixteen pictures of 28 x 28, two pixels between them, after each of three steps
    assert [one.trace.source_text for one in rest] == [rows[0].source, rows[2].source]
    assert all(one.trace.boxes_TK4 is not None for one in rest)


def test_a_row_is_written_and_beside_it_is_how_it_was() -> None:
    row = Row("some", "30,-40 0,50. 20,10 5,-5.", "rows", 1)
    ((example,), _) = drawn(models.pen(), [row], [Score(-4.0, [], [-1.0] * 4)], 1)
    assert example.score == "1.00 nats a point"
    assert example.trace.kind == "strokes"
    assert example.given is not None
    np.testing.assert_allclose(example.given.points_T3, [[30, -40, 0], [0, 50, 1], [20, 10, 0], [5, -5, 1]], atol=1)  # type: ignore[arg-type]
    assert example.given.weights_THS.shape == (5, 1, 5)
    assert example.given.target_text == "4 points, 2 strokes"


@pytest.mark.parametrize(("recipe", "unit", "kind"), [(DRAW, "a picture", "canvas"), (WRITE, "a point", "strokes")])
def test_the_whole_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: str, unit: str, kind: str) -> None:
    monkeypatch.setenv("XATTEND_CACHE", str(tmp_path / "cache"))
    page = report(gather(trained(tmp_path, recipe + TINY, "run"), "test", 2, None))
    blocks = {name: json.loads(data) for name, data in re.findall(r'<script type="application/json" id="data-([^"]*)">(.*?)</script>', page, flags=re.DOTALL)}
    assert blocks["curves"][0]["title"] == f"nats {unit}"
    assert f"nll is in nats {unit}" in page
    assert re.search(r"nll</bdi></td><td class=\"xa-number\">-?[\d.]+</td>", page)
    shown = [read_trace(document) for name, document in blocks.items() if name.startswith(("example-", "worst-"))]
    assert {trace.kind for trace in shown} == {kind}
    assert len(shown) >= 4
    assert "Samples, and rows of the split" in page
