"""The viewer in a real browser: nothing is loaded, nothing is run that a trace says, values are right, large traces stay quick."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.viewer import traces
from tests.viewer.browsing import Watched, browser, watched
from xattend.report.html import page, standalone, trace_place
from xattend.report.trace_json import trace_to_json
from xattend.types import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "watched"]  # fixtures
PATIENT = 8.0  # machines of tests are slow and busy: what is promised times this; what was measured is printed


def written(folder: Path, trace: Trace) -> Path:
    file = folder / "trace.html"
    file.write_text(standalone(trace), encoding="utf-8")
    return file


def views(watched: Watched) -> list[str]:
    return [str(tab.get_attribute("data-view")) for tab in watched.page.query_selector_all(".xa-tab")]


FULL = traces.text(steps=8, heads=4, tree=traces.beams(), modes={"sampled": traces.shares(8, 4, 9, 1), "argmax": traces.shares(8, 4, 9, 2)})
ALL = {
    "text": (FULL, ["matrix", "arcs", "heads", "tokens", "tree", "modes"]),
    "picture": (traces.picture(), ["overlay", "matrix", "tokens"]),
    "film": (traces.film(space=False), ["film", "matrix", "tokens"]),
    "film in space": (traces.film(space=True), ["film", "matrix", "tokens"]),
    "sound": (traces.sound(), ["sound", "matrix", "tokens"]),
    "strokes": (traces.strokes(), ["strokes", "matrix"]),
    "glimpse": (traces.glimpse(), ["glimpse", "tokens"]),
    "looks and words": (traces.looks(), ["glimpse", "matrix", "tokens"]),
    "looks and words without the picture": (traces.looks(seen=False), ["glimpse", "matrix", "tokens"]),
    "canvas": (traces.canvas(), ["canvas"]),
    "canvas out of nothing": (traces.canvas(looked=False), ["canvas"]),
    "memory": (traces.story(), ["story", "matrix", "heads", "tokens"]),
    "machine": (traces.machine(), ["machine", "matrix", "heads", "tokens"]),
    "no weights": (Trace([], ["a", "</s>"], np.zeros((2, 0, 0), np.float32), (0,), logprobs=[-0.5, -0.1]), ["tokens"]),
    "hostile": (traces.hostile(), ["matrix", "arcs", "heads", "tokens", "tree", "modes"]),
}


def saved(shown: Page, kind: str) -> bytes:
    """What the button keeps. A browser lets a click save for some seconds only; on a busy machine it may take a second click."""
    from playwright.sync_api import TimeoutError as TooLate

    for patience in (10_000, 30_000, 60_000):
        try:
            with shown.expect_download(timeout=patience) as kept:
                shown.click(f"[data-role={kind}]")
            return Path(kept.value.path()).read_bytes()
        except TooLate:
            continue
    raise AssertionError(f"nothing was saved as {kind}")


@pytest.mark.parametrize("name", list(ALL))
def test_every_view_draws_without_a_word_or_a_request(watched: Watched, tmp_path: Path, name: str) -> None:
    trace, expected = ALL[name]
    shown = watched.show(written(tmp_path, trace))
    assert views(watched) == expected
    for theme in range(2):
        for view in expected:
            shown.click(f".xa-tab[data-view={view}]")
            assert shown.get_attribute(".xattend", "data-view") == view
            assert shown.locator(".xa-view > *").count() > 0
            for kind in ("svg", "png"):
                data = saved(shown, kind)
                assert data.startswith(b"<svg" if kind == "svg" else b"\x89PNG"), (view, kind)
                assert theme or kind == "png" or not re.search(rb"<(script|img|foreignObject)", data)
        shown.click("[data-role=theme]")
    assert watched.foreign() == []
    assert watched.complaints == []


def test_tokens_are_text_whatever_they_say(watched: Watched, tmp_path: Path) -> None:
    shown = watched.show(written(tmp_path, traces.hostile()))
    shown.click(".xa-tab[data-view=tokens]")
    said = shown.locator("[data-role=chips] .xa-chip").all_text_contents()
    assert said[0] == "</script><script>alert(1)</script>"
    assert said[2:8] == ["\U0001f469\u200d\U0001f680", "مرحبا", "שלום", "नमस्ते", "\u2400", "\ufffd"]
    assert re.fullmatch("x{30,40}…", said[8])
    assert said[9:] == ["&amp;", "\u202eabc", "\u2423", "\u2423"]
    assert "x" * 10_000 in shown.locator(".xa-said").first.inner_text()  # in full where the text is shown
    assert shown.locator("img, .xattend script").count() == 0
    directions = shown.evaluate("[...document.querySelectorAll('[data-role=chips] .xa-chip')].map((one) => getComputedStyle(one).direction)")
    assert directions[:6] == ["ltr", "ltr", "ltr", "rtl", "rtl", "ltr"]
    assert watched.complaints == []


def hover(watched: Watched, step: int, position: int, steps: int, positions: int) -> float:
    """Puts the pointer on a cell of the matrix, and gives the value that is shown."""
    box = watched.page.locator(".xa-scroll").bounding_box()
    size = watched.page.evaluate("(() => { const one = document.querySelector('.xa-spacer').style; return [parseFloat(one.width), parseFloat(one.height)]; })()")
    assert box is not None
    watched.page.mouse.move(box["x"] + (position + 0.5) * size[0] / positions, box["y"] + (step + 0.5) * size[1] / steps)
    found = watched.page.locator("[data-role=readout]")
    assert (found.get_attribute("data-step"), found.get_attribute("data-position")) == (str(step), str(position))
    return float(str(found.get_attribute("data-value")))


@pytest.mark.parametrize("head", [-1, 0, 3])
def test_the_value_under_the_pointer_is_the_tensors(watched: Watched, tmp_path: Path, head: int) -> None:
    shown = watched.show(written(tmp_path, FULL))
    shown.select_option("[data-role=head]", str(head))
    expected_TS = FULL.weights_THS.mean(axis=1) if head < 0 else FULL.weights_THS[:, head]
    for step in range(8):
        for position in range(9):
            value = hover(watched, step, position, 8, 9)
            assert abs(value - expected_TS[step, position]) < 0.004
    assert f"{value:.3f}" in shown.locator("[data-role=readout]").inner_text()


def test_the_colour_under_the_pointer_is_the_weights(watched: Watched, tmp_path: Path) -> None:
    weights = np.array([[[1.0, 0.0]], [[0.5, 0.5]]], np.float32)
    shown = watched.show(written(tmp_path, Trace(["a", "b"], ["x", "y"], weights, (2,))))
    levels = shown.evaluate("""(() => {
      const canvas = document.querySelector('.xa-canvas'), pen = canvas.getContext('2d'), one = document.querySelector('.xa-spacer').style;
      const at = (column, row) => [...pen.getImageData((column + .5) * parseFloat(one.width) / 2, (row + .5) * parseFloat(one.height) / 2, 1, 1).data];
      return [at(0, 0), at(1, 0), at(0, 1), at(1, 1)]; })()""")
    assert levels[0] == [8, 18, 46, 255]  # light page: the strongest is the darkest
    assert levels[1] == [254, 236, 128, 255]
    assert levels[2] == levels[3]
    assert abs(levels[2][0] - 104) <= 3


def test_keys_alone_are_enough(watched: Watched, tmp_path: Path) -> None:
    shown = watched.show(written(tmp_path, FULL))
    shown.focus(".xa-tab[data-view=matrix]")
    shown.keyboard.press("ArrowRight")
    assert shown.get_attribute(".xattend", "data-view") == "arcs"
    shown.keyboard.press("ArrowLeft")
    shown.focus(".xa-scroll")
    assert shown.locator(".xa-cell:visible").count() == 0
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown"):  # the first chooses the first cell
        shown.keyboard.press(key)
    found = shown.locator("[data-role=readout]")
    assert (found.get_attribute("data-step"), found.get_attribute("data-position")) == ("1", "2")
    wide = shown.evaluate("parseFloat(document.querySelector('.xa-spacer').style.width)")
    shown.keyboard.press("+")
    assert shown.evaluate("parseFloat(document.querySelector('.xa-spacer').style.width)") == pytest.approx(1.25 * wide)
    assert shown.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    shown.click(".xa-tab[data-view=heads]")
    shown.focus(".xa-head[data-head='2']")
    shown.keyboard.press("Enter")
    assert shown.get_attribute(".xattend", "data-view") == "matrix"
    assert shown.input_value("[data-role=head]") == "2"


def test_a_picture_is_bright_where_the_word_looked(watched: Watched, tmp_path: Path) -> None:
    weights = np.zeros((2, 1, 12), np.float32)
    weights[0, 0, 0], weights[1, 0, 11] = 1.0, 0.5
    white = np.full((24, 32, 3), 255, np.uint8)
    trace = Trace([], ["here", "there"], weights, (3, 4), kind="picture", pixels=white)
    shown = watched.show(written(tmp_path, trace))

    def corners() -> list[int]:
        return list(shown.evaluate("(() => { const one = document.querySelector('[data-role=picture]'), pen = one.getContext('2d'); "
                                   "return [[4, 4], [one.width - 4, one.height - 4]].map(([x, y]) => pen.getImageData(x, y, 1, 1).data[0]); })()"))  # fmt: skip

    assert corners()[0] > 240
    assert corners()[1] < 70
    shown.focus("[data-role=strip] [aria-pressed=true]")
    shown.keyboard.press("ArrowRight")
    assert corners()[0] < 70
    assert corners()[1] > 240
    shown.hover("[data-role=picture]", position={"x": 400, "y": 300})
    assert float(str(shown.get_attribute("[data-role=readout]", "data-value"))) == pytest.approx(0.5, abs=0.004)


def test_the_tree_marks_paths_and_says_why(watched: Watched, tmp_path: Path) -> None:
    shown = watched.show(written(tmp_path, FULL))
    shown.click(".xa-tab[data-view=tree]")
    assert shown.locator(".xa-node").count() == 31
    assert shown.locator(".xa-node[data-best=true]").count() == 6
    assert "pruned" in shown.locator(".xa-node[data-kept=false] title").first.text_content()
    shown.uncheck("[aria-label='show what was dropped']")
    assert shown.locator(".xa-node").count() == 16
    shown.evaluate("document.querySelector('.xattend').remove()")
    many = traces.text(tree=traces.beams(width=50, steps=30))
    shown = watched.show(written(tmp_path, many))
    shown.click(".xa-tab[data-view=tree]")
    assert shown.locator(".xa-node").count() == 600
    assert "600 candidates are drawn, 2401 of low rank are not" in shown.inner_text("[data-role=note]")


def test_two_documents_side_by_side(watched: Watched, tmp_path: Path) -> None:
    body = trace_place("one").replace("data-json=", 'data-beside="two" data-json=')
    other = traces.text(target_text="another output")
    file = tmp_path / "two.html"
    file.write_text(page("two", body, {"one": trace_to_json(FULL), "two": trace_to_json(other)}), encoding="utf-8")
    watched.page.goto(file.as_uri())
    watched.page.wait_for_selector(".xa-side:nth-child(2) .xattend[data-ready]")
    assert "They write different texts" in watched.page.inner_text(".xa-compare caption")
    watched.page.click(".xa-side:first-child .xa-tab[data-view=tokens]")
    assert watched.page.locator(".xattend[data-view=tokens]").count() == 2
    assert watched.complaints == []


def test_large_traces_are_quick(watched: Watched, tmp_path: Path) -> None:
    heads, side = 48, 512
    trace = traces.text(steps=side, heads=heads, positions=side, nbest=[], logprobs=[])
    file = written(tmp_path, trace)
    size = file.stat().st_size / 1e6
    watched.show(file)
    paint = watched.page.evaluate("performance.now()") / 1000
    print(f"\n48 x 512 x 512: {size:.1f} MB, drawn {paint:.2f} s after opening")
    assert size <= 15
    assert paint <= 2 * PATIENT
    began = time.monotonic()
    for step in range(0, 200, 10):
        value = hover(watched, step, 2 * step, side, side)
        assert abs(value - trace.weights_THS.mean(axis=1)[step, 2 * step]) < 0.004
    inside = watched.page.evaluate("""(() => {
      const scroll = document.querySelector('.xa-scroll'), box = scroll.getBoundingClientRect(), began = performance.now();
      for (let i = 0; i < 100; i += 1) scroll.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + 2 * i, clientY: box.top + i }));
      document.body.getBoundingClientRect();
      return (performance.now() - began) / 100; })()""")
    print(f"hover: {inside:.2f} ms in the page, {1000 * (time.monotonic() - began) / 20:.0f} ms with the test around it")
    assert inside <= 50 * PATIENT
    watched.page.click(".xa-tab[data-view=heads]")
    assert watched.page.locator(".xa-head").count() == heads
    assert watched.complaints == []


def test_two_thousand_tokens_are_usable(watched: Watched, tmp_path: Path) -> None:
    side = 2000
    weights = np.eye(side, dtype=np.float32)[:, None]
    trace = Trace(traces.words(side, "s"), traces.words(side, "t"), weights, (side,), logprobs=[-0.2] * side)
    shown = watched.show(written(tmp_path, trace))
    assert shown.locator(".xa-label").count() < 400
    shown.focus(".xa-scroll")
    for _ in range(20):
        shown.keyboard.press("+")
    for key in ("ArrowDown", "ArrowRight"):
        shown.keyboard.press(key)
    shown.evaluate("document.querySelector('.xa-scroll').scrollTo(1e6, 1e6)")
    shown.locator(".xa-rows .xa-label", has_text="t1999").wait_for(state="attached")
    for view in ("arcs", "tokens"):
        shown.click(f".xa-tab[data-view={view}]")
    assert shown.locator(".xa-chip").count() == side
    assert watched.complaints == []
