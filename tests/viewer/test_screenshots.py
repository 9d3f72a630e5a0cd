"""Screenshots of every view for the docs, from real runs: only where XATTEND_SCREENSHOTS=1, as the runs take minutes to train.

Each is looked for in runs/ (XATTEND_RUNS names another folder): those of `xattend reproduce names-ru` and transformer-tiny,
and caption, video, hindi and hindi-dot (hindi with attention.kind=dot).
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.browsing import IMAGES, SCREENSHOTS, Watched, browser, watched
from xattend.data.readers.base import Row
from xattend.model import Model
from xattend.report.complete import complete
from xattend.report.html import page, trace_place
from xattend.report.trace_json import trace_to_json
from xattend.viewer.ask import ask

__all__ = ["browser", "watched"]  # fixtures
pytestmark = pytest.mark.skipif(not SCREENSHOTS, reason="screenshots are made only where XATTEND_SCREENSHOTS=1")
RUNS = Path(os.environ.get("XATTEND_RUNS", Path(__file__).parents[2] / "runs"))
NAME = "shakespeare"
SENTENCE = "two young men are playing football on the beach ."


def loaded(name: str) -> Model:
    if not (RUNS / name / "model.safetensors").exists():
        pytest.skip(f"no run {RUNS / name}")
    return Model.load(RUNS / name)


def shoot(watched: Watched, folder: Path, view: str, blocks: dict[str, Any], *, beside: str = "", word: int = 0) -> None:
    """Draws a trace, or two, in one view, and keeps a picture of it."""
    place = trace_place("one", view=view)
    file = folder / "shown.html"
    file.write_text(page("shown", place.replace("data-json=", f"data-names='{beside}' data-beside=\"two\" data-json=") if beside else place, blocks), encoding="utf-8")
    shown = watched.page
    shown.set_viewport_size({"width": 1000, "height": 800})
    shown.goto(file.as_uri())
    shown.wait_for_selector(".xa-side:nth-child(2) .xattend[data-ready]" if beside else ".xattend[data-ready]")
    if word:
        shown.locator(".xa-word").nth(word).click()
    shown.wait_for_timeout(200)
    assert watched.complaints == []
    assert shown.locator(".xattend[data-view]").first.get_attribute("data-view") == view
    shown.locator(".xa-compare" if beside else ".xattend").first.screenshot(path=IMAGES / f"viewer-{'compare' if beside else view}.png")


@pytest.mark.parametrize("view", ["matrix", "arcs", "tokens", "tree", "modes"])
def test_names(watched: Watched, tmp_path: Path, view: str) -> None:
    document = ask(loaded("reproduce-names-ru/seed1"), {"text": NAME, "beam": 4, "nbest": 4, "tree": view == "tree", "modes": view == "modes"})
    shoot(watched, tmp_path, view, {"one": document})


def test_two_models(watched: Watched, tmp_path: Path) -> None:
    asked = {"text": "main ghar ja raha hoon", "beam": 4}
    shoot(watched, tmp_path, "matrix", {"one": ask(loaded("hindi"), asked), "two": ask(loaded("hindi-dot"), asked)}, beside='["additive", "dot"]')


def test_heads_of_a_transformer(watched: Watched, tmp_path: Path) -> None:
    shoot(watched, tmp_path, "heads", {"one": ask(loaded("reproduce-transformer-tiny/seed1"), {"text": SENTENCE})})


@pytest.mark.parametrize(("run", "view"), [("caption", "overlay"), ("video", "film")])
def test_what_an_embedded_task_draws(watched: Watched, tmp_path: Path, run: str, view: str) -> None:
    from xattend import registry

    model = loaded(run)
    given = dict(model.recipe.section("data")["task"])
    text, _ = next(registry.build("task", given.pop("kind"), **given).splits()["test"])
    search = model.search(beam=4, nbest=4)
    (found,) = model.predict_rows([Row(text, None, "input", 1)], search, attention=True)
    shoot(watched, tmp_path, view, {"one": trace_to_json(complete(model, found, text, search))}, word=3)


def test_a_report(watched: Watched, tmp_path: Path) -> None:
    from xattend.cli.report import gather
    from xattend.report.page import report

    loaded("caption")
    file = tmp_path / "report.html"
    file.write_text(report(replace(gather(RUNS / "caption", "validation", 4, None), run="runs/caption")), encoding="utf-8")
    watched.page.set_viewport_size({"width": 1100, "height": 1500})
    watched.show(file)
    watched.page.wait_for_timeout(200)
    assert watched.complaints == []
    watched.page.screenshot(path=IMAGES / "viewer-report.png")
