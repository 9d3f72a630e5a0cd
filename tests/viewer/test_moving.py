"""Views of what moves, in a real browser: sounds, pens, looks, canvases, hops and memories show the numbers that their traces hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.viewer import traces
from tests.viewer.browsing import Watched, browser, watched
from tests.viewer.test_browser import written

__all__ = ["browser", "watched"]  # fixtures


def slide(watched: Watched, to: int) -> None:
    watched.page.locator("[data-role=slider]").fill(str(to))


def test_a_sound_is_lit_where_the_word_listened_and_plays(watched: Watched, tmp_path: Path) -> None:
    from playwright.sync_api import expect  # its polling is not script, which the page's policy forbids

    shown = watched.show(written(tmp_path, traces.sound()))
    assert "most at 0.01 s" in shown.inner_text("[data-role=readout]")
    shown.focus("[data-role=strip] [aria-pressed=true]")
    shown.keyboard.press("ArrowRight")
    assert "most at 0.14 s" in shown.inner_text("[data-role=readout]")  # position 5 of 20, of half a second
    assert "from 0.13 to 0.18 s" in shown.inner_text("[data-role=readout]")
    times = shown.locator("[data-role=times] .xa-time")
    assert [times.nth(at).get_attribute("title") for at in range(times.count())] == ["w0: 0.00 to 0.05 s", "w1: 0.13 to 0.18 s", "w2: 0.25 to 0.30 s"]
    assert "600.0 seconds" in shown.inner_text("[data-role=notes]")
    shown.click("[data-role=play-sound]")
    expect(shown.locator("[data-role=time]")).not_to_have_text("")
    expect(shown.locator("[data-role=play-sound]")).to_have_text("play")  # half a second later it has ended
    assert watched.foreign() == []
    assert watched.complaints == []


def test_a_pen_goes_from_point_to_point(watched: Watched, tmp_path: Path) -> None:
    from playwright.sync_api import expect  # its polling is not script, which the page's policy forbids

    shown = watched.show(written(tmp_path, traces.strokes()))
    path = shown.locator("[data-role=strokes] path")
    assert path.get_attribute("d") == "M0.0,0.0L0.0,0.0L30.0,40.0L60.0,0.0M80.0,0.0L80.0,0.0L80.0,40.0"  # all of it at first
    slide(watched, 1)
    assert path.get_attribute("d") == "M0.0,0.0L0.0,0.0L30.0,40.0"
    assert "point 2: most at v, 0.799" in shown.inner_text("[data-role=readout]")  # (228 / 255)^2: weights are bytes
    shown.click("[data-role=play]")
    expect(shown.locator("[data-role=slider]")).to_have_value("4")
    assert watched.complaints == []


def test_looks_have_their_boxes(watched: Watched, tmp_path: Path) -> None:
    shown = watched.show(written(tmp_path, traces.glimpse()))
    slide(watched, 1)
    box = shown.locator(".xa-box").first
    assert [float(str(box.get_attribute(name))) for name in ("x", "y", "width", "height")] == pytest.approx([210, 210, 105, 105])  # of 420 pixels
    assert shown.locator(".xa-box").count() == 2
    assert shown.locator(".xa-path").get_attribute("points") == "52.5,52.5 262.5,262.5"
    assert shown.locator("[data-role=patches] figcaption").all_text_contents() == ["7 x 7 pixels", "21 x 21 pixels"]
    assert "across 0.63, down 0.63" in shown.inner_text("[data-role=readout]")


def test_windows_are_as_strong_as_the_word_looks_through_them(watched: Watched, tmp_path: Path) -> None:
    shown = watched.show(written(tmp_path, traces.looks()))
    shown.focus("[data-role=strip] [aria-pressed=true]")
    shown.keyboard.press("ArrowRight")
    boxes = shown.locator("[data-role=looks] .xa-box")
    strong = {str(boxes.nth(at).get_attribute("data-box")): float(str(boxes.nth(at).get_attribute("stroke-opacity"))) for at in range(boxes.count())}
    assert strong == pytest.approx({"0": 0.12 + 0.88 * 0.04 / 0.6, "1": 0.12 + 0.88 * 0.36 / 0.6, "2": 1.0}, abs=0.01)  # weights are bytes
    last = boxes.nth(2)  # on top
    assert [float(str(last.get_attribute(name))) for name in ("x", "y", "width", "height")] == pytest.approx([210, 79, 210, 158], abs=1)  # of 420 x 315 pixels
    assert shown.locator("[data-role=patches] figcaption").all_text_contents() == ["look 1: 0.04", "look 2: 0.36", "look 3: 0.60"]
    assert "dot: most at look 3, 0.60" in shown.inner_text("[data-role=readout]")
    assert watched.complaints == []


def test_a_canvas_is_painted_step_by_step(watched: Watched, tmp_path: Path) -> None:
    shown = watched.show(written(tmp_path, traces.canvas()))
    assert shown.locator("[data-role=canvas] figcaption").all_text_contents() == ["what is looked at", "canvas after step 4"]
    slide(watched, 0)
    assert shown.locator("[data-role=canvas] figcaption").last.text_content() == "canvas after step 1"
    reads, writes = (shown.locator("[data-role=canvas] figure").nth(at).locator(".xa-box") for at in (0, 1))
    assert (reads.count(), writes.count()) == (1, 1)
    assert float(str(reads.get_attribute("width"))) == pytest.approx(0.5 * 340)
    assert float(str(writes.get_attribute("x"))) == 0  # it begins left of the picture
    level = shown.evaluate("""async () => {
      const picture = new Image(); picture.src = document.querySelectorAll('[data-role=canvas] image')[1].getAttribute('href'); await picture.decode();
      const canvas = document.createElement('canvas'), pen = canvas.getContext('2d'); pen.drawImage(picture, 0, 0); return pen.getImageData(9, 9, 1, 1).data[0]; }""")
    assert level == 30
    assert watched.complaints == []


def test_hops_have_their_stars(watched: Watched, tmp_path: Path) -> None:
    shown = watched.show(written(tmp_path, traces.story()))
    cells = shown.locator("[data-role=story] td[data-hop]").all_text_contents()
    assert cells == ["0.90 ★", "0.20", "0.10", "0.30", "0.00", "0.50 ★"]
    assert shown.locator("[data-role=story] b").count() == 0
    assert "ada <b>fell</b>" in shown.inner_text("[data-role=story]")
    shown.hover("td[data-hop='1'][data-place='2']")
    assert float(str(shown.get_attribute("[data-role=readout]", "data-value"))) == pytest.approx(0.5, abs=0.004)


def test_a_memory_is_shown_slot_by_slot(watched: Watched, tmp_path: Path) -> None:
    shown = watched.show(written(tmp_path, traces.machine()))
    assert [one.get_attribute("data-panel") for one in shown.locator("[data-panel]").all()] == ["write 1", "read 1", "usage"]
    slide(watched, 2)
    assert shown.inner_text("[data-role=step]") == "step 3 of 5: copy"
    box = shown.locator("[data-role=contents]").bounding_box()
    assert box is not None
    shown.mouse.move(box["x"] + box["width"] / 6, box["y"] + 1.5 * box["height"] / 4)
    assert shown.inner_text("[data-role=readout]") == "slot 1, number 1: 2.000"
    colour = shown.evaluate("(() => { const one = document.querySelector('[data-role=contents]'); return [...one.getContext('2d').getImageData(2, one.height * 1.5 / 4, 1, 1).data]; })()")
    assert colour == [213, 94, 0, 255]  # as far above 0 as anything is
    slide(watched, 4)
    assert "was left out" in shown.locator("figcaption").last.inner_text()
    assert watched.complaints == []
