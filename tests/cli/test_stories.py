"""Stories from the command line: a typed one is answered, with the sentences that each hop looked at; facts beside accuracy; figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Xattend, trained

RECIPE = """
[data]
task = { kind = "stories", rows = 60 }
[system]
kind = "memn2n"
hops = 2
[encoder]
kind = "sentences"
size = 8
[attention]
kind = "dot"
[training]
steps = 3
metric = "exact"
validate_every = 3
"""
STORY = "Ada walked to the cellar. Boris hurried to the attic. Where is Ada?"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    return trained(tmp_path_factory.mktemp("stories"), RECIPE, "stories")


def test_a_typed_story_is_answered_and_its_sentences_are_shown(xattend: Xattend, run: Path) -> None:
    said = xattend("predict", run, STORY, "--attention")
    assert said.code == 0, said.err
    answer, header, first, second = said.lines
    assert len(answer.split()) == 1
    assert header.split() == ["hop", "1", "hop", "2"]
    assert first.endswith(" 1  ada walked to the cellar")
    assert second.endswith(" 2  boris hurried to the attic")
    assert (first + second).count("*") == 2  # one a hop


def test_the_weights_come_as_json_too_and_answers_as_n_best(xattend: Xattend, run: Path) -> None:
    said = xattend("predict", run, STORY, "--attention", "--json", "--nbest", 3, "-s", "search.kind=beam", "-s", "search.size=3")
    assert said.code == 0, said.err
    record = json.loads(said.out)
    assert record["source"] == ["ada walked to the cellar", "boris hurried to the attic"]
    assert sum(record["attention"][0]) == pytest.approx(1, abs=1e-4)
    assert len({one["text"] for one in record["nbest"]}) == 3


def test_a_figure_has_hops_and_sentences(xattend: Xattend, run: Path, tmp_path: Path) -> None:
    said = xattend("predict", run, STORY, "--attention", tmp_path / "looked.svg")
    assert said.code == 0, said.err
    drawn = (tmp_path / "looked.svg").read_text("utf-8")
    assert "hop" in drawn
    assert "cellar" in drawn


def test_evaluate_says_how_often_facts_are_looked_at(xattend: Xattend, run: Path) -> None:
    said = xattend("evaluate", run, "--split", "test", "--json", "--show", 1)
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert 0 <= found["facts_found"] <= 1
    assert 0 <= found["hops_on_facts"] <= 1


def test_stories_of_a_file_without_facts_have_no_such_figure(xattend: Xattend, run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text(f"{STORY}\tcellar\n")
    said = xattend("evaluate", run, "--file", tmp_path / "mine.tsv", "--json")
    assert said.code == 0, said.err
    assert "facts_found" not in json.loads(said.out)


@pytest.mark.parametrize(("text", "said"), [("Where is Ada?", "not a story and a question"), (STORY + " #9", "#9 names a supporting fact")])
def test_what_is_no_story_is_said(xattend: Xattend, run: Path, text: str, said: str) -> None:
    found = xattend("predict", run, text)
    assert found.code == 2 or found.code == 1
    assert said in found.err


def test_align_says_why_not(xattend: Xattend, run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text(f"{STORY}\tcellar\n")
    found = xattend("align", run, tmp_path / "mine.tsv")
    assert found.code != 0
    assert "Traceback" not in found.err
