"""Windows in words and in pictures: which of them are listed, and how strong they are drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from xattend.cli import drawn
from xattend.errors import UserError
from xattend.report import windows
from xattend.types import Trace

GREY = np.full((40, 40, 3), 90, np.uint8)


def painted() -> Trace:
    boxes = np.array([[[0, 0, 1, 1], [0.2, 0.2, 0.4, 0.6]], [[0.5, 0.5, 1, 1], [-0.1, 0, 1.1, 1]]], np.float32)
    return Trace(["0,0"], ["1", "2"], np.ones((2, 2, 1), np.float32), (1, 1), kind="canvas", heads=["read", "write"], boxes_TK4=boxes)


def words() -> Trace:
    """The first word looks through one window, the second through both; the third look is not there, as nothing is left of it."""
    boxes = np.array([[0.25, 0.25, 0.5, 0.5], [0.5, 0.5, 2.0, 2.0], [2.0, 2.0, 3.0, 3.0]], np.float32)
    weights = np.array([[[0.8, 0.0, 0.2]], [[0.25, 0.5, 0.25]]], np.float32)
    return Trace(["1", "2", "3"], ["red", "</s>"], weights, (3,), kind="picture", boxes_TK4=np.repeat(boxes[None], 2, axis=0))


def test_reading_and_writing_are_both_listed() -> None:
    assert windows.lines(painted()) == [
        "1  read   across 0.50  down 0.50  wide 1.00", "1  write  across 0.30  down 0.40  wide 0.20",
        "2  read   across 0.75  down 0.75  wide 0.50", "2  write  across 0.50  down 0.50  wide 1.20",
    ]  # fmt: skip


def test_looks_of_words_are_listed_once() -> None:
    assert windows.lines(words()) == [
        "look 1  across 0.38  down 0.38  wide 0.25", "look 2  across 1.25  down 1.25  wide 1.50", "look 3  across 2.50  down 2.50  wide 1.00",
    ]  # fmt: skip


def test_a_word_draws_its_windows_as_strong_as_it_weighs_them() -> None:
    (plain, _), (first, said), (second, _) = windows.tiles(words(), GREY)
    assert said == "red  look 1: 0.80"
    assert plain.getextrema() == ((90, 90),) * 3

    def mixed(share: float) -> list[float]:
        opacity = windows.FAINT + (1 - windows.FAINT) * share
        return [(1 - opacity) * 90 + opacity * part for part in windows.LOOK]

    side = windows.TILE
    edges = {1: (side // 4, 3 * side // 8 + 8), 2: (side // 2, 3 * side // 4)}  # the left edges, away from the number
    for tile, weights in ((first, {1: 1.0, 2: 0.0}), (second, {1: 0.5, 2: 1.0})):
        for look, share in weights.items():
            assert tile.getpixel(edges[look]) == pytest.approx(mixed(share), abs=2), (look, share)
        assert tile.getpixel((side - 1, 3 * side // 4)) == pytest.approx(mixed(weights[2]), abs=2)  # it goes on outside: seen at the edge
        assert tile.getpixel((4, 4)) == (90, 90, 90)


def test_a_film_of_words(tmp_path: Path) -> None:
    windows.save(words(), GREY, tmp_path / "cap.gif")
    with Image.open(tmp_path / "cap.gif") as film:
        assert film.n_frames == 3  # type: ignore[attr-defined]  # the picture, and two words


KINDS = {
    "strokes": (Trace(["a"], ["p"], np.ones((1, 1, 1), np.float32), (1,), kind="strokes", points_T3=np.zeros((1, 3), np.float32)), {"svg"}),
    "canvas": (painted(), {"png", "gif"}),
    "words over looks": (words(), {"png", "gif", "svg"}),
    "machine": (Trace(["0"], ["0"], np.ones((1, 1, 1), np.float32), (1,), kind="machine", heads=["read 1"]), {"png"}),
    "text": (Trace(["a"], ["b"], np.ones((1, 1, 1), np.float32), (1,)), {"png", "svg"}),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_refusal_names_the_endings_that_are_not_refused(name: str) -> None:
    trace, fitting = KINDS[name]
    for ending in ("svg", "png", "gif", "jpg"):
        if ending in fitting:
            drawn.must_fit(trace, Path(f"out.{ending.upper()}"))
            continue
        with pytest.raises(UserError) as refused:
            drawn.must_fit(trace, Path(f"out.{ending}"))
        assert {one for one in ("svg", "png", "gif") if f".{one}" in refused.value.message} == fitting
