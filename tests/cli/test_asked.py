"""Questions about pictures from the command line: check, train, evaluate with the pointing game, predict, draw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.conftest import Xattend, trained

RECIPE = """
[data]
task = { kind = "questions", rows = 60, side = 32 }
[encoder]
kind = "asked"
picture = { kind = "cnn", size = 8, widths = [8], strides = [8] }
question = { kind = "rnn", size = 8, embedding = 4 }
summary = "SUMMARY"
[attention]
kind = "ATTENTION"
[decoder]
kind = "hops"
size = 8
hops = 2
[training]
steps = 3
metric = "exact"
validate_every = 3
"""
ASKED = "questions:32;red circle 8 8 4;blue square 24 24 4|is the red thing small?"


def recipe(attention: str, summary: str) -> str:
    return RECIPE.replace("ATTENTION", attention).replace("SUMMARY", summary)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("asked")


@pytest.fixture(scope="module")
def run(place: Path, cache: Path) -> Path:
    return trained(place, recipe("additive", "question"), "asked")


def test_evaluate_says_where_answers_look(xattend: Xattend, run: Path) -> None:
    said = xattend("evaluate", run, "--split", "test", "--json")
    assert said.code == 0, said.err
    assert 0 <= json.loads(said.out)["pointing"] <= 1


def test_without_attention_there_is_no_pointing(xattend: Xattend, place: Path, cache: Path) -> None:
    blind = trained(place, recipe("every-step", "both"), "blind")
    said = xattend("evaluate", blind, "--split", "test", "--json")
    assert said.code == 0, said.err
    assert "pointing" not in json.loads(said.out)


def test_a_question_of_ones_own_is_answered(xattend: Xattend, run: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("RGB", (32, 32), (200, 30, 30)).save(place / "mine.png")
    monkeypatch.chdir(place)
    said = xattend("predict", run, ASKED, "mine.png|what colour is the ball", "--json", "--attention")
    assert said.code == 0, said.err
    found = [json.loads(line) for line in said.lines]
    assert len(found) == 2
    assert len(found[1]["source"]) == 16  # cells of 4 x 4
    assert xattend("predict", run, ASKED, "--attention", place / "look.png").code == 0
    assert (place / "look.png").exists()
    missing = xattend("predict", run, "mine.png")
    assert missing.code == 2
    assert "write PICTURE|QUESTION" in missing.err


def test_check_describes_both_halves(xattend: Xattend, run: Path, place: Path) -> None:
    said = xattend("check", place / "asked.toml", "-s", "training.steps=2")
    assert said.code == 0, said.err
    assert "source: questions about pictures, " in said.out
    assert "each 3 x 32 x 32" in said.out
    assert "source units of validation are unknown" in said.out
