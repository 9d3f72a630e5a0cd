"""`xattend predict`, `score` and `align`."""

from __future__ import annotations

import json
import math
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import xattend as package
from tests.cli.conftest import Xattend
from xattend.cli.predict import one_line
from xattend.types import BOS, EOS

TEXTS = ["a b c", "d", "e d c b a", "b b", "c a"]


def test_texts_one_line_each_in_order(xattend: Xattend, copy_run: Path) -> None:
    model = package.load(str(copy_run))
    answer = xattend("predict", copy_run, *TEXTS)
    assert answer.code == 0
    assert answer.lines == [model.predict(text).text for text in TEXTS]


def test_a_file_gives_a_line_a_line(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    file = tmp_path / "in.tsv"
    file.write_text("a b c\tignored\n\n   \nd\n\ne d c b a\n")
    answer = xattend("predict", copy_run, "--file", file)
    expected = xattend("predict", copy_run, "a b c", "d", "e d c b a").lines
    assert answer.lines == [expected[0], "", "", expected[1], "", expected[2]]
    assert answer.err == "xattend: 3 of 6 inputs are empty, and so are their outputs\n"


def test_only_empty_lines(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("\n\n")
    assert xattend("predict", copy_run, "--file", tmp_path / "in.txt").out == "\n\n"


def test_windows_files_are_read(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"\xef\xbb\xbfa b\r\nc d\r\n")
    assert xattend("predict", copy_run, "--file", tmp_path / "in.txt").lines == xattend("predict", copy_run, "a b", "c d").lines


def test_json_lines_and_columns(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"en": "a b"}) + "\n")
    (tmp_path / "in.tsv").write_text("x\ta b\n")
    expected = xattend("predict", copy_run, "a b").out
    assert xattend("predict", copy_run, "--file", tmp_path / "in.jsonl", "--columns", "en").out == expected
    assert xattend("predict", copy_run, "--file", tmp_path / "in.tsv", "--columns", "2").out == expected


def test_longer_than_a_window(xattend: Xattend, copy_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [" ".join("abcde"[(n * k) % 5] for k in range(1, 2 + n % 7)) if n % 4 else "" for n in range(50)]
    (tmp_path / "in.txt").write_text("".join(line + "\n" for line in lines))
    whole = xattend("predict", copy_run, "--file", tmp_path / "in.txt", "--beam", "1").lines
    monkeypatch.setattr("xattend.stream.WINDOW", 7)
    assert len(set(whole)) > 10
    assert xattend("predict", copy_run, "--file", tmp_path / "in.txt", "--beam", "1").lines == whole
    assert [line == "" for line in whole] == [n % 4 == 0 for n in range(50)]


def test_beam_and_settings_change_the_search(xattend: Xattend, copy_run: Path) -> None:
    greedy = json.loads(xattend("predict", copy_run, "a b c", "--beam", "1", "--json").out)
    assert greedy["score"] == greedy["logprob"]
    cut = xattend("predict", copy_run, "a b c", "-s", "search.min_length=4", "-s", "search.max_length=4", "--json", "--tokens")
    found = json.loads(cut.out)
    assert len(found["tokens"]) - found["finished"] == 4
    assert len(found["token_logprobs"]) == len(found["tokens"])
    assert sum(found["token_logprobs"]) == pytest.approx(found["logprob"], abs=1e-4)


def test_limits_stay_when_the_beam_changes(xattend: Xattend, copy_run: Path) -> None:
    for beam in (1, 3):
        answer = xattend("predict", copy_run, "a b c", "--beam", beam, "-s", "search.min_length=6", "--json", "--tokens")
        assert len(json.loads(answer.out)["tokens"]) >= 6


def test_outputs_that_were_cut_are_counted(xattend: Xattend, copy_run: Path) -> None:
    words = ["-s", "search.kind=greedy", "-s", "search.min_length=2", "-s", "search.max_length=2"]
    answer = xattend("predict", copy_run, *TEXTS, "--json", *words)
    cut = [not json.loads(line)["finished"] for line in answer.lines]
    assert any(cut)
    assert f"warning: {sum(cut)} of 5 outputs were cut" in answer.err


def test_nbest(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a b c\n\nd\n")
    rows = [line.split("\t") for line in xattend("predict", copy_run, "--file", tmp_path / "in.txt", "--nbest", "3").lines]
    assert [row[0] for row in rows] == ["1", "1", "1", "2", "3", "3", "3"]
    scores = [float(row[1]) for row in rows]
    assert scores[:3] == sorted(scores[:3], reverse=True)
    assert rows[3] == ["2", "0.000000", ""]
    record = json.loads(xattend("predict", copy_run, "a b c", "--nbest", "3", "--json").out)
    assert [one["text"] for one in record["nbest"]] == [row[2] for row in rows[:3]]
    assert record["text"] == record["nbest"][0]["text"]


def test_attention_as_numbers(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a b c\n\n")
    first, empty = map(json.loads, xattend("predict", copy_run, "--file", tmp_path / "in.txt", "--json", "--attention").lines)
    assert first["source"] == ["a", "b", "c", "</s>"]
    weights = np.array(first["attention"])
    assert weights.shape == (len(first["tokens"]), 4)
    assert weights.sum(axis=1) == pytest.approx(1.0, abs=1e-4)
    assert first["tokens"][-1] == "</s>"
    assert empty["attention"] == empty["source"] == empty["tokens"] == []


def test_attention_as_drawings(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    answer = xattend("predict", copy_run, "a b c", "--attention", "--attention", tmp_path / "a.svg")
    assert answer.lines[0] == xattend("predict", copy_run, "a b c").lines[0]
    assert answer.lines[1].split() == ["a", "b", "c", "</s>"]
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert xattend("predict", copy_run, "--attention", "a b c").lines == answer.lines  # what follows is a text
    assert xattend("predict", copy_run, f"--attention={tmp_path / 'b.svg'}", "a b c").lines == answer.lines[:1]
    assert (tmp_path / "b.svg").read_bytes() == (tmp_path / "a.svg").read_bytes()


def test_unknown_words_are_copied(xattend: Xattend, unknowing_run: Path) -> None:
    plain = json.loads(xattend("predict", unknowing_run, "zz yy xx", "--json", "--attention").out)
    copied = json.loads(xattend("predict", unknowing_run, "zz yy xx", "--json", "--tokens", "--copy-unknown").out)
    assert "<unk>" in plain["tokens"]
    looked = [["zz", "yy", "xx"][int(np.argmax(row[:3]))] for row in plain["attention"]]
    wanted = [word if token == "<unk>" else token for token, word in zip(plain["tokens"], looked, strict=True)]
    assert copied["tokens"] == wanted
    assert copied["text"] == " ".join(wanted[:-1])


def test_a_language_model_goes_on(xattend: Xattend, language_model: Path) -> None:
    answer = xattend("predict", language_model, "a b", "")
    assert answer.code == 0
    assert answer.lines[0].startswith("a b")
    assert len(answer.lines) == 2


def test_line_ends_inside_outputs() -> None:
    assert one_line("a\nb\r") == "a\\nb\\r"


def test_stdin_and_ctrl_c(copy_run: Path) -> None:
    command = [sys.executable, "-m", "xattend", "predict", str(copy_run), "--file", "-"]
    found = subprocess.run(command, input="a b\n\nc\n", capture_output=True, text=True, check=True)
    assert found.stdout.count("\n") == 3
    waiting = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert waiting.stdin is not None
    deadline = time.monotonic() + 60
    # it is ready once it has opened its standard input to wait for lines
    while not _reads_stdin(waiting.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert "Traceback" not in err


def test_progress_on_a_terminal_leaves_the_output_alone(copy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a b\nc\n")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "xattend", "predict", str(copy_run), "--file", str(tmp_path / "in.txt")]
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, env=os.environ | {"TERM": "xterm"}, check=True)
    shown = os.read(ours, 1 << 16).decode()
    os.close(theirs)
    os.close(ours)
    assert "predicting" in shown
    assert "2/2" in shown or "0/2" in shown
    assert found.stdout.count(b"\n") == 2
    assert b"\x1b" not in found.stdout


def _reads_stdin(process: int) -> bool:
    try:
        own = os.readlink(f"/proc/{process}/fd/0")
        return sum(os.readlink(f"/proc/{process}/fd/{fd}") == own for fd in os.listdir(f"/proc/{process}/fd")) > 1
    except OSError:
        return False


def test_score_is_the_sum_of_what_the_decoder_says(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("a b c\ta b c\nd\te e\n")
    model = package.load(str(copy_run))
    assert model.source is not None
    source = torch.tensor([model.source.as_source(model.source.encode("d"))])
    target = [BOS, *model.target.encode("e e"), EOS]
    with torch.no_grad():
        from xattend.types import Padded

        memory = model.system.encoder(Padded(source, torch.ones_like(source, dtype=torch.bool)))  # type: ignore[operator]
        logs = model.system.decoder(memory, torch.tensor([target[:-1]])).log_softmax(-1)[0]  # type: ignore[operator]
    wanted = [float(logs[step, id]) for step, id in enumerate(target[1:])]
    lines = xattend("score", copy_run, "--file", tmp_path / "in.tsv").lines
    total, count, spread = lines[1].split("\t")
    assert float(total) == pytest.approx(sum(wanted), abs=1e-4)
    assert int(count) == 3
    assert float(spread) == pytest.approx(math.exp(-sum(wanted) / 3), rel=1e-4)
    record = json.loads(xattend("score", copy_run, "--file", tmp_path / "in.tsv", "--json").lines[1])
    assert record["tokens"] == ["e", "e", "</s>"]
    assert record["token_logprobs"] == pytest.approx(wanted, abs=1e-5)


def test_score_counts_unknown_units(xattend: Xattend, copy_run: Path, language_model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("a\tqq a qq\n")
    assert "2 target units are unknown" in xattend("score", copy_run, "--file", tmp_path / "in.tsv").err
    (tmp_path / "one.txt").write_text("a b\nc\n")
    assert [line.split("\t")[1] for line in xattend("score", language_model, "--file", tmp_path / "one.txt").lines] == ["3", "2"]


def test_align_pairs_are_the_largest_weights(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("a b c\ta b c d\nd\te e\n")
    pairs = xattend("align", copy_run, "--file", tmp_path / "in.tsv").lines
    records = [json.loads(line) for line in xattend("align", copy_run, "--file", tmp_path / "in.tsv", "--format", "json").lines]
    assert np.array(records[0]["weights"]).shape == (4, 3)
    for line, record in zip(pairs, records, strict=True):
        best = {(int(np.argmax(row)), step) for step, row in enumerate(record["weights"])}
        assert {tuple(map(int, pair.split("-"))) for pair in line.split()} == best
        assert sorted(map(tuple, record["pairs"])) == sorted(best)
    forced = json.loads(xattend("predict", copy_run, "a b c", "--beam", "1", "--json", "--attention").out)
    (tmp_path / "own.tsv").write_text(f"a b c\t{forced['text']}\n")
    if forced["text"]:
        again = json.loads(xattend("align", copy_run, "--file", tmp_path / "own.tsv", "--format", "json").out)
        assert np.array(again["weights"]) == pytest.approx(np.array(forced["attention"])[:-1, :-1], abs=1e-4)


def test_subwords_are_put_together(xattend: Xattend, subword_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("katze und hund\tKATZE HUND\n")
    units = json.loads(xattend("align", subword_run, "--file", tmp_path / "in.tsv", "--format", "json", "--units").out)
    words = json.loads(xattend("align", subword_run, "--file", tmp_path / "in.tsv", "--format", "json").out)
    assert [word.strip() for word in words["source"]] == ["katze", "und", "hund"]
    assert [word.strip() for word in words["target"]] == ["KATZE", "HUND"]
    assert len(units["source"]) > 3
    assert len(units["target"]) > 2

    def word_of(names: list[str]) -> list[int]:  # a subword with a space in front begins a word
        return [sum(name.startswith("▁") for name in names[: place + 1]) - 1 for place in range(len(names))]

    left, right = word_of(units["source"]), word_of(units["target"])
    for t in range(2):
        for s in range(3):
            rows = [row for place, row in enumerate(units["weights"]) if right[place] == t]
            mean = sum(sum(w for place, w in enumerate(row) if left[place] == s) for row in rows) / len(rows)
            assert words["weights"][t][s] == pytest.approx(mean, abs=1e-4)


@pytest.mark.parametrize("command", ["align", "attention", "figure", "copy"])
def test_a_model_that_looks_nowhere(xattend: Xattend, blind_run: Path, language_model: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "in.tsv").write_text("a\ta\n")
    words = {
        "align": ["align", blind_run, "--file", tmp_path / "in.tsv"],
        "attention": ["predict", blind_run, "a", "--attention"],
        "figure": ["predict", blind_run, "a", "--attention", tmp_path / "a.svg"],
        "copy": ["evaluate", blind_run, "--copy-unknown"],
    }[command]
    for run in (blind_run, language_model):
        answer = xattend(words[0], run, *words[2:])
        assert answer.code == 2
        assert "looks at source positions" in answer.err


def test_int8_predicts_nearly_the_same(xattend: Xattend, copy_run: Path) -> None:
    exact, rough = (json.loads(xattend("predict", copy_run, "a b c", "--json", *more).out) for more in ((), ("--int8",)))
    assert rough["logprob"] == pytest.approx(exact["logprob"], abs=0.3)
    assert rough["logprob"] != exact["logprob"]


def test_large_layers_laid_out_anew_predict_the_same(copy_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = package.load(str(copy_run)).predict(TEXTS)
    monkeypatch.setattr("xattend.model.LARGE", 1)
    model = package.load(str(copy_run))
    assert any(not weight.is_contiguous() for weight in model.system.parameters())
    after = model.predict(TEXTS)
    assert [one.text for one in after] == [one.text for one in before]
    assert [one.logprob for one in after] == pytest.approx([one.logprob for one in before], abs=1e-4)
