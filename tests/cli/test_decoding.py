"""Phrases that must or must not be written, several runs that write together, and `xattend audit`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import xattend as package
from tests.cli.conftest import Xattend
from xattend.data.readers.base import Row
from xattend.search import Exact, ExactHypothesis

TEXTS = ["a b c", "d", "e d c b a", "b b", "c a"]


# --- phrases


def test_every_output_holds_what_it_must(xattend: Xattend, copy_run: Path) -> None:
    free = xattend("predict", copy_run, *TEXTS).lines
    answer = xattend("predict", copy_run, *TEXTS, "--must", "e e", "--must", "a")
    assert (answer.code, answer.err) == (0, "")
    assert all("e e" in line and "a" in line for line in answer.lines)
    assert not all("e e" in line for line in free)
    ruled_out = xattend("predict", copy_run, *TEXTS, "--never", "b", "--never", "c a").lines
    assert any("b" in line or "c a" in line for line in free)
    assert not any("b" in line or "c a" in line for line in ruled_out)
    both = xattend("predict", copy_run, *TEXTS, "--must", "e e", "--never", "b", "--beam", "1").lines
    assert all("e e" in line and "b" not in line for line in both)


def test_from_python(copy_run: Path) -> None:
    model = package.load(str(copy_run))
    found = model.predict(["a b c", "d"], must=["e e"], never=["b"], nbest=2)
    for one in found:
        assert "e e" in one.text
        assert "b" not in one.text
        assert len(one.hypotheses) == len(one.nbest) == 2
        assert one.missing == []


def test_phrases_of_each_row(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a b c\n\nd\nc a\n")
    (tmp_path / "must.txt").write_text("e e\td\n\n\nb\n")
    words = ["predict", copy_run, "--file", tmp_path / "in.txt"]
    answer = xattend(*words, "--must-file", tmp_path / "must.txt", "--must", "a")
    first, empty, third, last = answer.lines
    assert answer.code == 0
    assert "e e" in first
    assert "d" in first
    assert empty == ""
    assert all("a" in line for line in (first, third, last))
    assert "b" in last
    for text, said in [("a\n", ":2: ends here"), ("a\n" * 5, ":5: has more lines"), ("a\n\nzz\n\n", ":3: the model cannot write 'zz'")]:
        (tmp_path / "must.txt").write_text(text)
        answer = xattend(*words, "--must-file", tmp_path / "must.txt")
        assert answer.code == 2
        assert f"must.txt{said}" in answer.err


def test_a_phrase_that_has_no_room_is_counted(xattend: Xattend, copy_run: Path) -> None:
    answer = xattend("predict", copy_run, "a b c", "d", "--must", "e e e", "--json", "-s", "search.max_length=2")
    assert "warning: 2 of 2 outputs are unfinished and lack a phrase" in answer.err
    for record in map(json.loads, answer.lines):
        assert record["missing"] == ["e e e"]
        assert not record["finished"]
    assert json.loads(xattend("predict", copy_run, "d", "--must", "e", "--json").out)["missing"] == []


def test_subwords_and_words_between(xattend: Xattend, subword_run: Path) -> None:
    line = xattend("predict", subword_run, "katze und hund", "--must", "MAUS", "--must", "DIE", "-s", "search.max_extra=60").lines[0]
    assert "MAUS" in line
    assert "DIE" in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--must", "zz"], "cannot write 'zz'"), (["--never", " "], "is no phrase"), (["--must", "a b", "--never", "b"], "must not be"),
        (["--must", "a", "-s", "search.kind=greedy"], "need the search 'constrained'"), (["--must-file", "x"], "goes with --file"),
    ],
)  # fmt: skip
def test_wrong_phrases(xattend: Xattend, copy_run: Path, words: list[str], said: str) -> None:
    answer = xattend("predict", copy_run, "a", *words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


# --- the n-best in full, and settings


def test_every_hypothesis_has_its_tokens(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    record = json.loads(xattend("predict", copy_run, "a b c", "--nbest", "3", "--json", "--tokens").out)
    assert len(record["nbest"]) == 3
    for one in record["nbest"]:
        assert len(one["tokens"]) == len(one["token_logprobs"])
        assert sum(one["token_logprobs"]) == pytest.approx(one["logprob"], abs=1e-4)
        assert " ".join(one["tokens"][: len(one["tokens"]) - one["finished"]]) == one["text"]
        if one["finished"] and one["text"]:
            (tmp_path / "in.tsv").write_text(f"a b c\t{one['text']}\n")
            scored = json.loads(xattend("score", copy_run, "--file", tmp_path / "in.tsv", "--json").out)
            assert scored["token_logprobs"] == pytest.approx(one["token_logprobs"], abs=1e-3)
    assert record["nbest"][0]["tokens"] == record["tokens"]
    assert "tokens" not in json.loads(xattend("predict", copy_run, "a", "--nbest", "2", "--json").out)["nbest"][0]


def test_no_repeat_and_groups_as_settings(xattend: Xattend, copy_run: Path) -> None:
    for beam in (1, 3):
        lines = xattend("predict", copy_run, *TEXTS, "--beam", beam, "-s", "search.no_repeat=1").lines
        assert all(len(set(line.split())) == len(line.split()) for line in lines)
    words = ["-s", "search.kind=diverse-beam", "-s", "search.groups=4", "-s", "search.size=4", "-s", "search.diversity=9.0"]
    rows = [line.split("\t")[2] for line in xattend("predict", copy_run, "a b c", "--nbest", "4", *words).lines]
    assert len({row[:1] for row in rows}) >= 3  # one beam a group, each begins in its own way


# --- ensembles


def test_runs_write_together(xattend: Xattend, copy_run: Path, blind_run: Path, tmp_path: Path) -> None:
    alone, other = (package.load(str(run)) for run in (copy_run, blind_run))
    both = alone.together([other])
    answer = xattend("predict", copy_run, *TEXTS, "--with", blind_run, "--json", "--tokens")
    for text, record in zip(TEXTS, map(json.loads, answer.lines), strict=True):
        assert record["text"] == both.predict(text).text
        row = [Row(text, record["text"], "text", 1)]
        if record["finished"] and record["text"]:
            own = [next(model.score_rows(row)).token_logprobs for model in (alone, other)]
            mean = np.log(np.exp(own).mean(axis=0))
            assert record["token_logprobs"] == pytest.approx(mean.tolist(), abs=1e-3)
            assert next(both.score_rows(row)).token_logprobs == pytest.approx(mean.tolist(), abs=1e-4)
    (tmp_path / "in.tsv").write_text("".join(f"{text}\t{text}\n" for text in TEXTS))
    words = ["evaluate", copy_run, "--file", tmp_path / "in.tsv", "--json"]
    single, joint = json.loads(xattend(*words).out), json.loads(xattend(*words, "--with", blind_run).out)
    assert joint["with"] == [str(blind_run)]
    scored = [score for text in TEXTS for score in both.score_rows([Row(text, text, "text", 1)])]
    tokens = sum(len(score.tokens) for score in scored)
    assert joint["nll"] == pytest.approx(-sum(score.logprob for score in scored) / tokens, abs=1e-4)
    assert joint["nll"] != single["nll"]
    lines = [json.loads(line) for line in xattend("score", copy_run, "--file", tmp_path / "in.tsv", "--with", blind_run, "--json").lines]
    assert [line["logprob"] for line in lines] == pytest.approx([score.logprob for score in scored], abs=1e-4)
    assert len(json.loads(xattend("predict", copy_run, "a b", "--with", blind_run, "--json", "--attention").out)["attention"][0]) == 3


def test_a_run_with_itself_is_itself(copy_run: Path) -> None:
    model = package.load(str(copy_run))
    twice = model.together([package.load(str(copy_run))])
    for one, two in zip(model.predict(TEXTS, must=["e"]), twice.predict(TEXTS, must=["e"]), strict=True):
        assert one.text == two.text
        assert one.logprob == pytest.approx(two.logprob, abs=1e-4)
    assert model.others == []


def test_runs_that_do_not_go_together(xattend: Xattend, copy_run: Path, subword_run: Path, language_model: Path) -> None:
    for other, said in [(subword_run, "one target vocabulary"), (language_model, "a language model")]:
        for command in (["predict", copy_run, "a"], ["evaluate", copy_run]):
            answer = xattend(*command, "--with", other)
            assert answer.code == 2
            assert said in answer.err
            assert str(other) in answer.err
    assert xattend("predict", language_model, "a", "--with", language_model).code == 0


# --- audit


def test_audit_counts_what_beams_miss(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    lines = [" ".join("abcde"[(n * k) % 5] for k in range(1, 2 + n % 6)) for n in range(12)]
    (tmp_path / "in.txt").write_text("".join(line + "\n" for line in [*lines, ""]))
    record = json.loads(xattend("audit", copy_run, "--file", tmp_path / "in.txt", "--beam", 1, "--beam", 4, "--json").out)
    assert (record["rows"], record["empty_inputs"], record["budget"]) == (12, 1, 1000)
    model = package.load(str(copy_run))
    rows = [Row(line, None, "in", number) for number, line in enumerate(lines, 1)]
    exact = [one.hypothesis for one in model.predict_rows(rows, Exact(budget=1000))]
    proven = [isinstance(one, ExactHypothesis) and one.complete for one in exact]
    assert record["gave_up"] == 12 - sum(proven)
    assert record["mode_empty"] == sum(sure and not one.tokens for one, sure in zip(exact, proven, strict=True))
    for by in record["beams"]:
        found = [one.hypothesis for one in model.predict_rows(rows, model.search(kind="beam", beam=by["beam"], penalty="none"))]
        gaps = [best.logprob - one.logprob for best, one in zip(exact, found, strict=True)]
        assert by["missed"] == sum(gap > 1e-4 for gap in gaps)
        sure = [gap for gap, known in zip(gaps, proven, strict=True) if known]
        assert by["gap"] == pytest.approx(math.fsum(sure) / len(sure), abs=1e-4)
        assert by["gap"] > -1e-4  # nothing is likelier than what exact search proved
    assert record["beams"][0]["missed"] > 0
    shown = xattend("audit", copy_run, "--file", tmp_path / "in.txt")
    assert [line.split()[0] for line in shown.lines[2:6]] == ["1", "2", "5", "10"]
    assert "1 inputs are empty" in shown.out


def test_audit_says_where_it_gave_up(xattend: Xattend, copy_run: Path, language_model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a b c\nd\n")
    record = json.loads(xattend("audit", copy_run, "--file", tmp_path / "in.txt", "--budget", 1, "--beam", 2, "--json").out)
    assert record["gave_up"] == 2
    assert record["beams"][0]["gap"] is None
    answer = xattend("audit", language_model, "--file", tmp_path / "in.txt")
    assert answer.code == 2
    assert "reads none" in answer.err
    (tmp_path / "in.txt").write_text("\n\n")
    assert "every input is empty" in xattend("audit", copy_run, "--file", tmp_path / "in.txt").err
