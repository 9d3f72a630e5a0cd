"""Every command with a model that reads pictures: from pixels, from features, and from a network's tail."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from tests.backbones.tiny import Tiny
from tests.cli.conftest import Xattend, trained
from tests.data.album import album
from xattend import load
from xattend.recipe import Recipe
from xattend.training.validation import Validation

RECIPE = """
[data]
train = "captions.tsv"
folder = "photos"
split = {{ validation = 0.3 }}
target = {{ unit = "word" }}
source = {source}
[encoder]
{encoder}
[decoder]
size = 24
embedding = 8
[training]
steps = {steps}
tokens = 256
validate_every = 1000
metric = "bleu"
[optimiser]
lr = 0.02
"""
SYSTEMS = {
    "pixels": ('{ kind = "image", size = 16 }', 'kind = "cnn"\nsize = 16\nwidths = [8, 16]\nstrides = [4, 2]', 60),
    "features": ('{ kind = "image", size = 16, backbone = "tiny-for-tests" }', 'kind = "grid"\nsize = 16', 3),
    "tail": ('{ kind = "image", size = 16, backbone = "tiny-for-tests", stage = "middle" }',
             'kind = "tail"\nbackbone = "tiny-for-tests"\nsize = 16\npositions = "learned"', 3),
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("album")
    album(folder, count=40, captions=3)
    return folder


@pytest.fixture(scope="module")
def run(place: Path, cache: Path) -> Path:
    source, encoder, steps = SYSTEMS["pixels"]
    return trained(place, RECIPE.format(source=source, encoder=encoder, steps=steps), "pixels")


def test_it_learns_and_describes_a_picture_of_ones_own(xattend: Xattend, run: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place / "photos")
    said = xattend("predict", run, "1.png", "2.png", "--json", "--attention")
    assert said.code == 0, said.err
    found = [json.loads(line) for line in said.lines]
    assert [one["text"].split()[:2] for one in found] == [["a", "green"], ["a", "blue"]]
    assert found[0]["source"] == ["0,0", "0,1", "1,0", "1,1"]
    prediction = load(run).predict("3.png", attention=True)
    assert prediction.text.startswith("a white")
    assert prediction.trace is not None
    assert (prediction.trace.media, prediction.trace.grid) == ("3.png", (2, 2))
    assert load(run).summaries(["1.png"]).shape == (1, 16)
    assert "a green" in xattend("predict", run, "1.png", "--attention").out
    for name in ("look.svg", "look.png"):
        assert xattend("predict", run, "1.png", "--attention", place / name).code == 0
    with Image.open(place / "look.png") as strip:
        assert strip.getpixel((20, 60))[1] > 150  # the picture itself comes first, and it is green


def test_evaluating_takes_all_captions_of_a_picture_as_right(xattend: Xattend, run: Path) -> None:
    said = xattend("evaluate", run, "--split", "validation", "--json", "--show", "1")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["rows"] == 3 * (found["rows"] - found["repeated_sources"])
    assert len(found["examples"][0]["references"]) == 3
    assert found["bleu"] > 50


def test_evaluating_a_file_and_moved_pictures(xattend: Xattend, run: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(place / "photos", tmp_path / "photos")
    (tmp_path / "own.tsv").write_text("photos/1.png\ta green picture 0\n")
    monkeypatch.chdir(tmp_path)
    said = xattend("evaluate", run, "--file", "own.tsv")
    assert said.code == 0, said.err
    assert "1 rows of own.tsv" in said.out
    scored = xattend("score", run, "--file", "own.tsv")
    assert scored.code == 0, scored.err
    logprob, count, _ = scored.out.split("\t")
    assert float(logprob) < 0
    assert count == "5"


def test_a_missing_picture_is_one_line(xattend: Xattend, run: Path) -> None:
    said = xattend("predict", run, "nowhere.png")
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert "text:1: no such picture" in said.err


def test_what_needs_words_is_refused(xattend: Xattend, run: Path, place: Path) -> None:
    said = xattend("align", run, "--file", place / "captions.tsv")
    assert said.code == 2
    assert "this model reads pictures" in said.err


def test_check_describes_pictures_and_finds_bad_ones(xattend: Xattend, run: Path, place: Path, tmp_path: Path) -> None:
    said = xattend("check", place / "pixels.toml", "-s", "training.steps=2")
    assert said.code == 0, said.err
    assert "source: pictures, " in said.out
    assert "each 3 x 16 x 16" in said.out
    assert "target vocabulary" in said.out
    album(tmp_path, count=12)
    (tmp_path / "photos" / "3.png").write_bytes(b"")
    (tmp_path / "photos" / "4.png").unlink()
    source, encoder, steps = SYSTEMS["pixels"]
    (tmp_path / "bad.toml").write_text(RECIPE.format(source=source, encoder=encoder, steps=steps))
    said = xattend("check", tmp_path / "bad.toml")
    assert said.code == 2
    for reason, first, name in (("a picture's file is empty", 7, "3.png"), ("a picture that is not there", 9, "4.png")):
        at = said.lines.index(f"problem: 2 rows: {reason}")
        for line in (first, first + 1):
            assert said.lines[at + 1 + line - first].startswith(f"  {tmp_path / 'captions.tsv'}:{line}, {name}: ")


@pytest.mark.parametrize("system", ["features", "tail"])
def test_features_and_tails_train_and_predict(xattend: Xattend, place: Path, cache: Path, system: str) -> None:
    source, encoder, steps = SYSTEMS[system]
    path = trained(place, RECIPE.format(source=source, encoder=encoder, steps=steps), system)
    said = xattend("evaluate", path, "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["rows"] > 20
    Tiny.read_so_far.clear()
    said = xattend("predict", path, "5.png")  # found in the recipe's data.folder
    assert said.code == 0, said.err
    assert Tiny.read_so_far == []  # its features were in the store
    check = xattend("check", place / f"{system}.toml", "-s", "training.steps=2")
    assert ("features of 2 x 2 places, 5 wide" if system == "features" else "features of 4 x 4 places, 4 wide") in check.out


def test_tied_tables_need_words(xattend: Xattend, run: Path, place: Path, tmp_path: Path) -> None:
    said = xattend("train", place / "pixels.toml", "-s", "decoder.tie=all", "--out", tmp_path / "x")
    assert said.code == 2
    assert "reads no words" in said.err


def test_validation_decodes_a_picture_once_against_all_its_captions(run: Path) -> None:
    from xattend import job

    _, recipe, data = job.reopen(run)
    system = load(run).system
    split = data.splits["validation"]
    validation = Validation(system, split, recipe)
    assert len(validation.rows) == len(split) // 3 == len({split.texts(int(row))[0] for row in validation.rows})
    assert all(len(validation._references(int(row))) == 3 for row in validation.rows)
    fewer = Recipe({**recipe.sections, "training": {**recipe.section("training"), "validate_rows": 4}}, recipe.origin)
    few = Validation(system, split, fewer)
    assert len(few.rows) == 4
    assert validation()["bleu"] > 50
