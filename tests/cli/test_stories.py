"""Stories from the command line: a typed one is answered, with the sentences that each hop looked at; facts beside accuracy; figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Xattend, trained
from xattend.errors import UserError
from xattend.model import Model

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
    assert first.endswith(" 1  Ada walked to the cellar.")
    assert second.endswith(" 2  Boris hurried to the attic.")
    assert (first + second).count("*") == 2  # one a hop


def test_the_weights_come_as_json_too_and_answers_as_n_best(xattend: Xattend, run: Path) -> None:
    said = xattend("predict", run, STORY, "--attention", "--json", "--nbest", 3, "-s", "search.kind=beam", "-s", "search.size=3")
    assert said.code == 0, said.err
    record = json.loads(said.out)
    assert record["source"] == ["Ada walked to the cellar.", "Boris hurried to the attic."]
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Where is Ada?", "not a story and a question"), (f"{STORY} #9", "#9 names a supporting fact"),
        (STORY.rpartition(" Where")[0], "the last sentence is read as the question: end it with '?'"),
    ],
)  # fmt: skip
def test_what_is_no_story_is_said(xattend: Xattend, run: Path, text: str, said: str) -> None:
    found = xattend("predict", run, text)
    assert found.code == 2
    assert said in found.err


@pytest.mark.parametrize("command", ["predict", "evaluate", "score"])
def test_a_story_of_a_file_without_a_question_is_placed(xattend: Xattend, run: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "mine.tsv").write_text(f"{STORY}\tcellar\n{STORY.rpartition(' Where')[0]}\tattic\n")
    found = xattend(command, run, "--file", tmp_path / "mine.tsv")
    assert found.code == 2
    assert "mine.tsv:2: the last sentence is read as the question: end it with '?'" in found.err


def test_spaces_are_an_empty_input(xattend: Xattend, run: Path) -> None:
    found = xattend("predict", run, "   ")
    assert (found.code, found.out) == (0, "\n")
    assert "1 of 1 inputs are empty" in found.err


def test_unknown_words_are_named_once_and_sentences_shown_as_typed(xattend: Xattend, run: Path) -> None:
    found = xattend("predict", run, "Zebulon flew to the moon. Where is Zebulon?", STORY, "Ada flew. Where is ada?", "--attention")
    assert found.code == 0, found.err
    assert found.err.splitlines() == ["xattend: words unknown to the model, read as <unk>: Zebulon, flew, moon"]
    assert "Zebulon flew to the moon." in found.out
    assert "<unk>" not in found.out
    assert "unknown" not in xattend("predict", run, STORY).err


def test_many_unknown_words_are_counted(xattend: Xattend, run: Path) -> None:
    words = [f"word{number}" for number in range(23)]
    found = xattend("predict", run, f"{' '.join(words)}. Where is Ada?")
    assert found.err.strip().endswith(f"{', '.join(words[:20])} and 3 more")


def test_align_says_why_not(xattend: Xattend, run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text(f"{STORY}\tcellar\n")
    found = xattend("align", run, "--file", tmp_path / "mine.tsv")
    assert found.code == 2
    assert "aligning links words, and this model reads whole sentences" in found.err


DIALOGUES = """
[data]
task = { kind = "dialogues", rows = 60 }
source = { kind = "turns" }
target = { unit = "word" }
[encoder]
kind = "hierarchical"
size = 8
embedding = 8
[attention]
kind = "dot"
[decoder]
kind = "rnn"
size = 8
embedding = 8
[training]
steps = 3
"""
HOPS = RECIPE.replace('kind = "memn2n"\nhops = 2', 'kind = "seq2seq"') + """
[decoder]
kind = "hops"
size = 8
"""


@pytest.mark.parametrize(("recipe", "row"), [(DIALOGUES, "hello | hi .\tfine"), (HOPS, f"{STORY}\tcellar")], ids=["dialogues", "stories"])
def test_general_systems_that_read_sentences_are_reported_and_not_aligned(xattend: Xattend, tmp_path: Path, cache: Path, recipe: str, row: str) -> None:
    general = trained(tmp_path, recipe, "general")
    (tmp_path / "mine.tsv").write_text(f"{row}\n")
    found = xattend("align", general, "--file", tmp_path / "mine.tsv")
    assert found.code == 2
    assert "this model reads whole sentences" in found.err
    assert xattend("report", general, "--out", tmp_path / "report.html").code == 0
    assert "Left out: aligning links words" in (tmp_path / "report.html").read_text("utf-8")
    assert xattend("predict", general, row.partition("\t")[0], "--attention").code == 0  # a dialogue has no question, and needs none


def test_what_does_not_look_says_what_it_lacks(xattend: Xattend, tmp_path: Path, cache: Path) -> None:
    classifies = RECIPE.replace('kind = "memn2n"\nhops = 2', 'kind = "classify"').replace('[attention]\nkind = "dot"\n', "")
    found = trained(tmp_path, classifies, "classifies")
    said = xattend("predict", found, STORY, "--attention")
    assert said.code == 2
    assert "--attention needs a model that looks at source positions, and its system 'classify' has no attention to them" in said.err
    model = Model.load(found)
    model.source = None
    with pytest.raises(UserError, match="and it reads no source"):
        model.must_look("aligning")
