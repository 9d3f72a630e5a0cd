"""What RAM and DRAW show of where they looked, by the command line, from tiny runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from tests.cli.conftest import Xattend
from xattend import job, recipe
from xattend.data.fields.placed import Placed
from xattend.model import Model
from xattend.report import canvas, windows
from xattend.report.complete import complete
from xattend.report.trace_json import read_trace, trace_to_json
from xattend.reproductions.draw import parts
from xattend.trial import Trial

FEW = ["data.task.rows=40", "training.epochs=", "training.steps=2", "training.validate_every=2", "training.validate_rows=8", "system.size=16"]
PICTURE = "digits:3 serif 20000001"
SCENE = "scenes:purple circle 40 10 8;yellow square 26 37 5"
SMALL = {"ram": ["ram-cluttered", "system.inner=16", "system.looks=3"], "draw": ["draw", "system.steps=3", "system.code=4"]}


@pytest.fixture(scope="module")
def looking(runs: Path) -> Path:
    for name, (shipped, *more) in SMALL.items():
        job.start(shipped, out=runs / "looking" / name, overrides=[*FEW, *more])
    few = ["data.task.rows=40", "training.epochs=", "training.steps=2", "training.validate_every=2", "training.validate_rows=8"]
    small = ["encoder.kind=glimpses", "encoder.looks=3", "encoder.size=16", "encoder.inner=16", "decoder.size=16", "decoder.embedding=8", "search.max_length=5"]
    job.start("caption", out=runs / "looking" / "caption", overrides=[*few, *small])
    return runs / "looking"


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("ending", ["png", "gif"])
def test_a_figure_of_the_windows(name: str, ending: str, looking: Path, tmp_path: Path, xattend: Xattend) -> None:
    file = tmp_path / f"out.{ending}"
    assert xattend("predict", looking / name, PICTURE, "--attention", file).code == 0
    with Image.open(file) as drawn:
        if ending == "gif":
            assert drawn.n_frames == 4  # type: ignore[attr-defined]  # the picture, and three looks
        else:
            assert drawn.size == (4 + 4 * 164, 4 + 160 + 22 + 4)


def test_windows_in_words_and_as_json(looking: Path, xattend: Xattend) -> None:
    lines = xattend("predict", looking / "ram", PICTURE, "--attention").lines
    assert len(lines) == 1 + 3
    assert lines[1].startswith("1  across ")
    found = json.loads(xattend("predict", looking / "ram", PICTURE, "--attention", "--json").out)
    assert [len(found["boxes"]), len(found["boxes"][0]), len(found["boxes"][0][0])] == [3, 3, 4]  # looks, scales, edges
    assert len(found["attention"][0]) == 60 * 60
    assert found["text"] in "0123456789"
    assert xattend("evaluate", looking / "ram", "--show", "1").code == 0


def test_an_svg_is_refused_and_so_is_a_film_of_a_matrix(looking: Path, copy_run: Path, tmp_path: Path, xattend: Xattend) -> None:
    assert "drawn as .png or .gif" in xattend("predict", looking / "ram", PICTURE, "--attention", tmp_path / "out.svg").err
    assert "not through windows, and is drawn as .svg or .png" in xattend("predict", copy_run, "a b", "--attention", tmp_path / "out.gif").err
    assert not list(tmp_path.iterdir())


def test_both_windows_of_a_model_that_paints_are_listed(looking: Path, xattend: Xattend) -> None:
    lines = xattend("predict", looking / "draw", PICTURE, "--attention").lines
    assert [line.split()[:2] for line in lines[1:]] == [[str(step), name] for step in (1, 2, 3) for name in ("read", "write")]


def test_words_over_looks(looking: Path, tmp_path: Path, xattend: Xattend) -> None:
    """A captioner that looks first: the matrix of words and looks, and where these were."""
    told = xattend("predict", looking / "caption", SCENE, "--attention").lines
    assert told[1].split() == ["1", "2", "3"]
    assert [line.split()[:3] for line in told[-3:]] == [["look", str(look), "across"] for look in (1, 2, 3)]
    found = json.loads(xattend("predict", looking / "caption", SCENE, "--attention", "--json").out)
    assert np.shape(found["boxes"]) == (len(found["tokens"]), 3, 4)
    assert np.shape(found["attention"]) == (len(found["tokens"]), 3)
    for ending in ("png", "gif", "svg"):
        assert xattend("predict", looking / "caption", SCENE, "--attention", tmp_path / f"out.{ending}").code == 0
    with Image.open(tmp_path / "out.gif") as film:
        assert film.n_frames > 1  # type: ignore[attr-defined]  # frames that are the same are put together
    assert "<title>1 → " in (tmp_path / "out.svg").read_text()
    model = Model.load(looking / "caption")
    trace = complete(model, model.predict(SCENE, attention=True), SCENE)
    assert (trace.kind, len(trace.logprobs)) == ("picture", len(found["tokens"]))
    again = read_trace(trace_to_json(trace))
    assert np.array_equal(again.boxes_TK4, trace.boxes_TK4)  # type: ignore[arg-type]


def test_draw_is_evaluated_in_nats(looking: Path, xattend: Xattend) -> None:
    found = json.loads(xattend("evaluate", looking / "draw", "--split", "test", "--json").out)
    assert 100 < found["nll"] < 1000
    assert "bleu" not in found
    assert found["picture"] + found["code"] == pytest.approx(found["nll"], rel=1e-6)
    assert min(found["picture"], found["code"]) > 0
    again = json.loads(xattend("evaluate", looking / "draw", "--split", "test", "--json").out)
    assert again["nll"] == found["nll"]  # its noise is the pictures' own
    trial = Trial("draw", "draw", (*FEW, *SMALL["draw"][1:]), looking / "draw")
    assert parts(trial)["bound"] == pytest.approx(found["nll"], rel=1e-4)


def test_samples(looking: Path, tmp_path: Path) -> None:
    for ending in ("gif", "png"):
        done = CliRunner().invoke(canvas.main, [str(looking / "draw"), str(tmp_path / f"out.{ending}"), "--pictures", "5"])
        assert done.exit_code == 0, done.output
    with Image.open(tmp_path / "out.gif") as film:
        assert film.n_frames == 3  # type: ignore[attr-defined]
    with Image.open(tmp_path / "out.png") as sheet:
        assert sheet.size == (3 * 30, 5 * 30)
    done = CliRunner().invoke(canvas.main, [str(looking / "ram"), str(tmp_path / "out.png")])
    assert done.exit_code
    assert "paints no pictures" in done.output


def test_boxes_lie_where_the_trace_says(looking: Path) -> None:
    model = Model.load(looking / "ram")
    assert isinstance(model.source, Placed)
    trace = model.predict(PICTURE, attention=True).trace
    assert trace is not None
    assert trace.media == PICTURE
    assert trace.boxes_TK4 is not None
    shown = windows.tiles(trace, model.source.shown(PICTURE))
    left, top, right, bottom = trace.boxes_TK4[0, 0]
    tile = shown[1][0]
    corner = (round(float(left) * 160), round(float(top) * 160))
    if min(corner) >= 0 and max(float(right), float(bottom)) < 1:
        assert tile.getpixel(corner) == windows.PATCHES[0]


def test_nothing_behind_the_equals_sign_takes_a_setting_out() -> None:
    given = recipe.load("ram", ["data.task=", "data.train=rows.tsv", "training.epochs="]).resolve()
    assert given.section("data")["task"] is None
    assert given.training.epochs is None
    assert recipe.load("ram", ["system.nothing="]).resolve()  # what is not there can be taken out
