"""Plots: what is drawn can be found in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from xattend.errors import UserError
from xattend.report.plot import Plot, save

pytest.importorskip("matplotlib")
PLOTS = {
    "lines": Plot("Title", "x", "y", lines={"first": [(1, 2.0), (2, 3.0)], "second": [(1, 1.0)]}),
    "bars": Plot("Title", "x", "y", bars={"dot": (1.0, 0.1), "concat": (2.0, 0.0)}),
    "points": Plot("Title", "x", "y", points={"one": [(0.0, 0.0, "costs $5")], "two": [(1.0, 1.0, "b")]}, log_y=False),
}


@pytest.mark.parametrize("kind", PLOTS)
def test_it_is_drawn_and_always_the_same(kind: str, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg", "c.png"):
        save(PLOTS[kind], tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    text = (tmp_path / "a.svg").read_text()
    wanted = {"lines": ("first", "second"), "bars": ("dot", "concat"), "points": ("one", "two", "costs $5")}
    for word in ("Title", *wanted[kind]):
        assert word in text  # matplotlib writes each text as a comment beside its outlines
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_mistakes_are_the_users(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"svg or \.png"):
        save(PLOTS["lines"], tmp_path / "a.pdf")
    with pytest.raises(UserError, match="cannot write"):
        save(PLOTS["lines"], tmp_path / "nowhere" / "a.svg")
