"""Figures: SVG is well-formed and shows the weights; PNG is drawn, and says which letters it could not draw."""

from __future__ import annotations

import sys
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from xattend.errors import UserError
from xattend.report.figure import _fonts, save, svg
from xattend.types import Trace

SVG = "{http://www.w3.org/2000/svg}"


def trace(source: list[str], target: list[str], heads: int = 1, scale: float = 1.0) -> Trace:
    weights = np.zeros((len(target), heads, len(source)), dtype=np.float32)
    weights[np.arange(len(target)), :, np.arange(len(target)) % len(source)] = 0.8 * scale
    return Trace(source, target, weights, (len(source),))


def test_svg_cells_and_labels() -> None:
    root = ElementTree.fromstring(svg(trace(["<a>", "&", "ト"], ["x", "y\x00"])))
    assert [text.text for text in root.iter(f"{SVG}text")] == ["<a>", "&", "ト", "x", r"y\x00"]
    cells = [rect.get("fill") for rect in root.iter(f"{SVG}rect")][1:]
    white, black = "rgb(204,204,204)", "rgb(0,0,0)"  # 0.8 x 255
    assert cells == [white, black, black, black, white, black]
    assert next(title.text for title in root.iter(f"{SVG}title")) == "<a> → x: 0.800"


def test_svg_says_what_was_scaled_or_averaged() -> None:
    root = ElementTree.fromstring(svg(trace(["a"], ["b"], heads=4, scale=5.0)))
    assert [text.text for text in root.iter(f"{SVG}text")][-1] == "mean of 4 heads, white = 4.00"
    assert [rect.get("fill") for rect in root.iter(f"{SVG}rect")][1] == "rgb(255,255,255)"


def test_svg_file_needs_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    save(trace(["ト"], ["to"]), tmp_path / "a.svg")
    assert "ト" in (tmp_path / "a.svg").read_text("utf-8")
    with pytest.raises(UserError, match=r"pip install 'xattend\[figures\]'"):
        save(trace(["a"], ["b"]), tmp_path / "a.png")


def test_png_has_the_grey_levels(tmp_path: Path) -> None:
    image = pytest.importorskip("matplotlib.image")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(trace(["a", "$x$", "_"], ["b", "c"]), tmp_path / "a.png")
    pixels = image.imread(tmp_path / "a.png")[..., 0]
    assert (pixels == 0.0).mean() > 0.1  # four black cells
    assert (np.abs(pixels - 0.8) < 0.01).mean() > 0.05  # two light ones


def test_png_names_letters_that_no_font_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fonts = pytest.importorskip("matplotlib.font_manager")
    monkeypatch.setattr(fonts.fontManager, "ttflist", [font for font in fonts.fontManager.ttflist if "DejaVu" in font.name])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        save(trace(["\U00013000"], ["a"]), tmp_path / "a.png")  # an Egyptian hieroglyph
    said = [str(warning.message) for warning in seen]
    assert said == ["no installed font has \U00013000: drawn as empty boxes; write .svg instead"]
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_png_takes_a_second_font_for_what_the_first_lacks(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    families, missing = _fonts({"a", "\u1d84"})  # of the fonts that come with matplotlib only STIX has it
    assert families[0] == "DejaVu Sans"
    assert len(families) == 2
    assert not missing
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(trace(["\u1d84"], ["a"]), tmp_path / "a.png")


def test_wrong_names(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"must end in \.svg or \.png"):
        save(trace(["a"], ["b"]), tmp_path / "a.pdf")
    with pytest.raises(UserError, match="cannot write the figure"):
        save(trace(["a"], ["b"]), tmp_path / "none" / "a.svg")
