"""Sides of bits, and what a machine, a hop or a window did with them, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Xattend

ROWS = "0110 copy .\t0110\n"
RECIPE = """
[data]
train = "rows.tsv"
source = { kind = "bits" }
target = { kind = "bits" }
[system]
kind = "machine"
size = 8
slots = 6
width = 4
[training]
steps = 2
sentences = 4
[search]
kind = "greedy"
"""


@pytest.mark.parametrize("recipe", ["ntm", "dnc", "clockwork"])
def test_check_describes_sides_without_a_vocabulary(xattend: Xattend, recipe: str) -> None:
    said = xattend("check", recipe, *([] if recipe == "clockwork" else ["-s", "data.task.rows=40"]))
    assert said.code == 0, said.err
    assert any(line.startswith("target: ") and line.endswith(" numbers a step") for line in said.lines)


def test_a_word_of_another_width_is_placed(xattend: Xattend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XATTEND_CACHE", str(tmp_path / "cache"))
    (tmp_path / "r.toml").write_text(RECIPE)
    (tmp_path / "rows.tsv").write_text(ROWS * 5 + "01100 copy .\t01100\n" + ROWS)
    said = xattend("train", "r.toml", "--out", "run")
    assert (said.code, "rows.tsv:6: '01100' has 5 bits" in said.err) == (2, True)
    (tmp_path / "rows.tsv").write_text(ROWS * 5)
    assert xattend("train", "r.toml", "--out", "run").code == 0
    (tmp_path / "new.txt").write_text("0110 copy .\n01 copy .\n")
    said = xattend("predict", "run", "--file", "new.txt")
    assert (said.code, "new.txt:2: '01' has 2 bits" in said.err) == (2, True)


def test_a_mistake_that_only_the_system_sees_names_its_row(xattend: Xattend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XATTEND_CACHE", str(tmp_path / "cache"))
    (tmp_path / "r.toml").write_text(RECIPE)
    (tmp_path / "rows.tsv").write_text(ROWS * 3 + "0110 copy .\t0110 0110\n")
    said = xattend("train", "r.toml", "--out", "run")
    assert said.code == 2
    assert "It is row 4 of train: '0110 copy .' -> '0110 0110'" in said.err


@pytest.mark.parametrize(("words", "said"), [
    (["train", "draw", "-s", "data.task={kind=\"moving-digits\",rows=30}", "-s", "data.source={kind=\"film\"}", "-s", "training.steps=1"], "films of"),
    (["train", "clockwork", "-s", "system.size=4", "-s", "training.steps=1"], "a unit each"),
    (["check", "ram", "-s", "system.policy=centre", "-s", "system.samples=4", "-s", "data.task.rows=40"], "samples = 1"),
    (["check", "copy", "-s", "search.kind=greedy", "-s", "search.nbest=3", "-s", "data.task.rows=40"], "'nbest' belongs to search beam"),
], ids=["film", "clockwork", "centre", "nbest"])  # fmt: skip
def test_what_would_pass_unseen_is_said(xattend: Xattend, tmp_path: Path, words: list[str], said: str) -> None:
    answer = xattend(*words, *(["--out", tmp_path / "run"] if words[0] == "train" else []))
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.strip().count("\n") <= 12
    assert "Traceback" not in answer.err


def test_an_archive_that_lies_there_is_named(xattend: Xattend, tmp_path: Path) -> None:
    (tmp_path / "babi").mkdir()
    (tmp_path / "babi" / "en-10k.tar.gz").write_bytes(b"")
    said = xattend("check", "dmn-plus", "--data", tmp_path)
    assert (said.code, f"unpack {tmp_path / 'babi' / 'en-10k.tar.gz'}" in said.err) == (2, True)


def test_json_has_each_hop_and_the_facts_it_looked_at(xattend: Xattend, tmp_path: Path) -> None:
    assert xattend("train", "memn2n", "-s", "data.task.rows=80", "-s", "training.steps=2", "--out", tmp_path / "run").code == 0
    said = xattend("predict", tmp_path / "run", "Ada walked to the cellar. Boris hurried to the attic. Where is Ada?", "--json", "--attention")
    found = json.loads(said.out)
    assert found["heads"] == ["hop 1", "hop 2", "hop 3"]
    (looks,) = found["looks"]
    assert [len(row) for row in looks] == [2, 2, 2]
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in looks)
    assert found["facts"] == [found["source"][row.index(max(row))] for row in looks]


def test_stories_are_as_long_as_they_have_sentences(xattend: Xattend) -> None:
    said = xattend("check", "memn2n", "-s", "data.task.rows=200")
    (line,) = (line for line in said.lines if line.startswith("train ") and "source" in line)
    shortest, *_, longest = line.split()[3:]
    assert 4 <= int(shortest) < int(longest) <= 13
