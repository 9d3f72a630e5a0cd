"""Strokes as SVG."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from xattend.errors import UserError
from xattend.report.strokes import save, svg
from xattend.types import Trace

POINTS = np.array([[0, 0, 0], [50, 0, 1], [0, 50, 1]], np.float32)


@pytest.mark.parametrize("animated", [False, True])
def test_it_is_valid_and_has_every_stroke(animated: bool) -> None:
    root = ElementTree.fromstring(svg(POINTS, weights_TS=np.eye(3, 2, dtype=np.float32), text=["<", " "], animated=animated))
    name = "{http://www.w3.org/2000/svg}"
    assert len(list(root.iter(f"{name}polyline"))) == 2
    assert len(list(root.iter(f"{name}animate"))) == 2 * animated
    assert [text.text for text in root.iter(f"{name}text")] == ["<", "␣"]
    assert len(list(root.iter(f"{name}rect"))) == 1 + 2  # the ground, and two weights of one


def test_nothing_written_is_drawn_too() -> None:
    assert "<polyline" not in svg(np.zeros((0, 3), np.float32))


def test_other_files_are_refused(tmp_path: Path) -> None:
    trace = Trace(["a"], ["1,1", "1,1", "1,1"], np.ones((3, 1, 1), np.float32), (1,), kind="strokes", points_T3=POINTS)
    save(trace, tmp_path / "a.svg")
    with pytest.raises(UserError, match=r"\.svg"):
        save(trace, tmp_path / "a.png")
