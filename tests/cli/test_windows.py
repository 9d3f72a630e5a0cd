"""What RAM and DRAW show of where they looked, by the command line, from tiny runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from tests.cli.conftest import Xattend
from xattend import job, recipe
from xattend.data.fields.placed import Placed
from xattend.model import Model
from xattend.report import canvas, windows
from xattend.reproductions.draw import parts
from xattend.trial import Trial

FEW = ["data.task.rows=40", "training.epochs=", "training.steps=2", "training.validate_every=2", "training.validate_rows=8", "system.size=16"]
PICTURE = "digits:3 serif 20000001"
SMALL = {"ram": ["ram-cluttered", "system.inner=16", "system.looks=3"], "draw": ["draw", "system.steps=3", "system.code=4"]}


@pytest.fixture(scope="module")
def looking(runs: Path) -> Path:
    for name, (shipped, *more) in SMALL.items():
        job.start(shipped, out=runs / "looking" / name, overrides=[*FEW, *more])
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
    assert ".gif for a film" in xattend("predict", looking / "ram", PICTURE, "--attention", tmp_path / "out.svg").err
    assert "not through windows" in xattend("predict", copy_run, "a b", "--attention", tmp_path / "out.gif").err


def test_draw_is_evaluated_in_nats(looking: Path, xattend: Xattend) -> None:
    found = json.loads(xattend("evaluate", looking / "draw", "--split", "test", "--json").out)
    assert 100 < found["nll"] < 1000
    assert "bleu" not in found
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
