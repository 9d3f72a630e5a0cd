"""Bad input of every kind: one line on stderr, with the file and the line at fault, exit code 2, and nothing lost."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import COPY, TINY, Answer, Xattend

GOOD = b"".join(b"a%d\tb%d\n" % (n, n) for n in range(20))
DATA = '[data]\ntrain = "rows.tsv"\n'


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def refused(answer: Answer, *said: object) -> None:
    assert answer.code == 2, answer
    assert answer.err.count("\n") == 1, answer.err
    assert answer.err.startswith("xattend: ")
    assert "Traceback" not in answer.out + answer.err
    for words in said:
        assert str(words) in answer.err


# --- data

BAD_ROWS: dict[str, tuple[bytes, int | None, str]] = {
    "bad UTF-8": (GOOD + b"caf\xe9\tx\n", 21, "not valid UTF-8"),
    "UTF-16": ("a\tb\n".encode("utf-16"), 1, "UTF-16"),
    "too many columns": (GOOD + b"a\tb\tc\n", 21, "3 columns, expected 2"),
    "too few columns": (GOOD + b"a b\n", 21, "1 column, expected 2"),
    "an empty line": (GOOD + b"\n", 21, "an empty line"),
    "one column": (b"a\nb\n", 1, "put a tab"),
    "three columns": (b"a\tb\tc\n", 1, "data.columns"),
    "an empty file": (b"", None, "the file is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", None, "the file is empty"),
    "an empty source": (GOOD + b"\tb\n", 21, "the source side is empty"),
    "an empty target": (GOOD + b"a\t \n", 21, "the target side is empty"),
    "a NUL": (GOOD + b"a\0\tb\n", 21, "NUL"),
    "a line of 100 MB": (GOOD + b"a" * 100_000_000 + b"\tb\n", 21, "a line of more than"),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_bad_rows(xattend: Xattend, tmp_path: Path, cache: Path, kind: str) -> None:
    content, line, said = BAD_ROWS[kind]
    (tmp_path / "rows.tsv").write_bytes(content)
    (tmp_path / "r.toml").write_text(DATA + TINY)
    place = tmp_path / "rows.tsv" if line is None else f"{tmp_path / 'rows.tsv'}:{line}: "
    before = os.listdir(cache)
    refused(xattend("train", tmp_path / "r.toml", "--out", tmp_path / "run"), place, said)
    assert not (tmp_path / "run").exists()
    assert sorted(os.listdir(cache)) == sorted(before)


BAD_JSON = {
    "not JSON": (b"{", "not valid JSON"),
    "not an object": (b"[1]", "not a JSON object"),
    "a missing key": (b'{"source": "a"}', "'target' is missing"),
    "a number": (b'{"source": 1, "target": "b"}', "is not text"),
    "half a character": (b'{"source": "\\ud800", "target": "b"}', "surrogate"),
}


@pytest.mark.parametrize("kind", BAD_JSON)
def test_bad_json_lines(xattend: Xattend, tmp_path: Path, kind: str) -> None:
    content, said = BAD_JSON[kind]
    (tmp_path / "rows.jsonl").write_bytes(b'{"source": "a", "target": "b"}\n' + content + b"\n")
    (tmp_path / "r.toml").write_text('[data]\ntrain = "rows.jsonl"\n' + TINY)
    refused(xattend("train", tmp_path / "r.toml", "--out", tmp_path / "run"), f"{tmp_path / 'rows.jsonl'}:2: ", said)


def test_bad_gzip(xattend: Xattend, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text('[data]\ntrain = "rows.tsv.gz"\n' + TINY)
    whole = gzip.compress(GOOD * 1000)
    for content in (whole[: len(whole) // 2], b"not gzip at all\n", whole[:-8] + b"\0" * 8):
        (tmp_path / "rows.tsv.gz").write_bytes(content)
        refused(xattend("train", tmp_path / "r.toml", "--out", tmp_path / "run"), f"{tmp_path / 'rows.tsv.gz'}:", "gzip")


def test_parallel_files_of_different_length(xattend: Xattend, tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("a\nb\nc\n")
    (tmp_path / "a.de").write_text("a\nb\n")
    (tmp_path / "r.toml").write_text('[data]\ntrain = { source = "a.en", target = "a.de" }\n' + TINY)
    for command in (["train", tmp_path / "r.toml", "--out", tmp_path / "run"], ["check", tmp_path / "r.toml"]):
        refused(xattend(*command), f"{tmp_path / 'a.en'}:3: ", "3 lines", "has 2")
    refused(xattend("init", tmp_path / "a.en", "--target", tmp_path / "a.de", "--out", tmp_path / "new.toml"), "3 lines")
    assert not (tmp_path / "new.toml").exists()


@pytest.mark.parametrize("what", ["missing", "a folder", "a zip", "a csv"])
def test_files_that_cannot_be_rows(xattend: Xattend, tmp_path: Path, what: str) -> None:
    name = {"missing": "none.tsv", "a folder": "folder", "a zip": "a.zip", "a csv": "a.csv"}[what]
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.zip").write_bytes(b"PK")
    (tmp_path / "a.csv").write_text("a,b\n")
    (tmp_path / "r.toml").write_text(f'[data]\ntrain = "{name}"\n' + TINY)
    said = {"missing": "no such file", "a folder": "a directory", "a zip": "unpack it", "a csv": ".tsv"}[what]
    refused(xattend("train", tmp_path / "r.toml", "--out", tmp_path / "run"), name, said)
    refused(xattend("init", tmp_path / name, "--out", tmp_path / "new.toml"), name, said)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(xattend: Xattend, tmp_path: Path) -> None:
    (tmp_path / "rows.tsv").write_bytes(GOOD)
    (tmp_path / "rows.tsv").chmod(0)
    (tmp_path / "r.toml").write_text(DATA + TINY)
    refused(xattend("train", tmp_path / "r.toml", "--out", tmp_path / "run"), tmp_path / "rows.tsv", "ermission")


def test_windows_files_are_welcome(xattend: Xattend, tmp_path: Path) -> None:
    (tmp_path / "rows.tsv").write_bytes(b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n"))
    (tmp_path / "r.toml").write_bytes(b"\xef\xbb\xbf" + (DATA + TINY).replace("\n", "\r\n").encode())
    assert xattend("train", tmp_path / "r.toml", "-s", "training.steps=1", "--out", tmp_path / "run").code == 0
    vocabulary = json.loads((tmp_path / "run" / "fields" / "source.json").read_text())["vocabulary"]
    assert set(vocabulary) == set("a0123456789")


# --- recipes

BAD_RECIPES: dict[str, tuple[str, int | None, str]] = {
    "invalid TOML": ("[data\n", 1, "not valid TOML"),
    "a key outside": ('task = "copy"\n', 1, "outside any [section]"),
    "an unknown section": (COPY + "[atention]\n", 4, "did you mean 'attention'?"),
    "an unknown key": (COPY + "[encoder]\nsise = 3\n", 5, "did you mean 'size'?"),
    "an unknown training key": (COPY + "[training]\nstpes = 3\n", 5, "did you mean 'steps'?"),
    "a wrong type": (COPY + '[encoder]\nsize = "big"\n', 5, "not 'big'"),
    "a bad value": (COPY + "[training]\ntokens = 0\n", 5, "greater than 0"),
    "an unknown part": (COPY + '[attention]\nkind = "aditive"\n', 5, "did you mean 'additive'?"),
    "an unknown cell": (COPY + '[encoder]\ncell = "gruu"\n', 5, "did you mean 'gru'?"),
    "an unknown task": ('[data]\ntask = "copi"\n', 2, "did you mean 'copy'?"),
    "no data": ("[data]\n", 1, "either 'task' or 'train'"),
    "a section the system has not": (COPY + '[system]\nkind = "language-model"\n[attention]\nkind = "dot"\n', 6, "has no [attention]"),
    "an unknown field setting": ('[data]\ntask = "copy"\nsource = { unitt = "word" }\n', 3, "did you mean 'unit'?"),
    "a share that is too large": ('[data]\ntrain = "rows.tsv"\nsplit = { test = 0.9 }\n', 3, "0.5"),
}


@pytest.mark.parametrize("kind", BAD_RECIPES)
def test_bad_recipes(xattend: Xattend, tmp_path: Path, kind: str) -> None:
    text, line, said = BAD_RECIPES[kind]
    (tmp_path / "r.toml").write_text(text)
    for command in (["train", tmp_path / "r.toml", "--out", tmp_path / "run"], ["check", tmp_path / "r.toml"], ["grid", tmp_path / "r.toml"]):
        refused(xattend(*command), f"{tmp_path / 'r.toml'}:{line}: ", said)
    assert os.listdir(tmp_path) == ["r.toml"]


def test_recipes_that_are_not_there(xattend: Xattend, tmp_path: Path) -> None:
    refused(xattend("train", "transliterat"), "did you mean 'transliterate'?")
    refused(xattend("recipes", "transliterat"), "did you mean 'transliterate'?")
    refused(xattend("train", tmp_path / "no.toml"), "no such recipe file")
    refused(xattend("check", tmp_path), "a directory")
    (tmp_path / "latin.toml").write_bytes(b"# caf\n# \xe9\n")
    refused(xattend("check", tmp_path / "latin.toml"), f"{tmp_path / 'latin.toml'}:2: ", "not valid UTF-8")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("training.steps", "write section.key=value"),
        ("steps=3", "write section.key=value"),
        ("training.stpes=3", "did you mean 'steps'?"),
        ("training.steps=many", "not 'many'"),
        ("attention.kind=dott", "did you mean 'dot'?"),
        ("training.metric=blue", "did you mean 'bleu'?"),
    ],
)
def test_bad_overrides(xattend: Xattend, tmp_path: Path, word: str, said: str) -> None:
    (tmp_path / "r.toml").write_text(COPY + TINY)
    refused(xattend("train", tmp_path / "r.toml", "-s", word, "--out", tmp_path / "run"), said)


def test_metrics_that_need_validation(xattend: Xattend, tmp_path: Path) -> None:
    (tmp_path / "rows.tsv").write_bytes(GOOD)
    (tmp_path / "r.toml").write_text(DATA + TINY)
    for word in ("training.patience=3", "training.metric=cer"):
        refused(xattend("train", tmp_path / "r.toml", "-s", word, "--out", tmp_path / word), "needs validation data")
    refused(xattend("grid", tmp_path / "r.toml", "--attention", "dot", "--out", tmp_path / "grid"), "validation rows")


def test_a_plugin_that_fails(xattend: Xattend, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(COPY + TINY)
    (tmp_path / "part.py").write_text("x = 1\nraise ValueError('first\\nsecond')\n")
    refused(xattend("train", tmp_path / "r.toml", "--plugin", tmp_path / "part.py"), f"{tmp_path / 'part.py'}:2: ", "first second")
    (tmp_path / "wrong.py").write_text("x = 1\n\nx = = 2\n")
    refused(xattend("predict", tmp_path, "a", "--plugin", tmp_path / "wrong.py"), f"{tmp_path / 'wrong.py'}:3: ", "SyntaxError")
    refused(xattend("train", tmp_path / "r.toml", "--plugin", tmp_path / "none.py"), "no such plugin")


# --- runs

MANIFEST = ["recipe.toml", "manifest.json", "model.safetensors", "fields/source.json", "fields/target.json"]
STATE = ["state/*/model.safetensors", "state/*/optimiser.safetensors", "state/*/trainer.json", "state/*/sums.json"]


@pytest.fixture
def broken(copy_run: Path, tmp_path: Path) -> Path:
    """A copy of a run, to be damaged."""
    shutil.copytree(copy_run, tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("name", MANIFEST)
def test_a_flipped_byte(xattend: Xattend, broken: Path, tmp_path: Path, name: str) -> None:
    data = bytearray((broken / name).read_bytes())
    data[len(data) // 2] ^= 0x01
    (broken / name).write_bytes(data)
    before = contents(broken)
    (tmp_path / "in.tsv").write_text("a\ta\n")
    commands = [["predict", broken, "a"], ["evaluate", broken], ["score", broken, "--file", tmp_path / "in.tsv"],
                ["align", broken, "--file", tmp_path / "in.tsv"]]  # fmt: skip
    for command in commands:
        refused(xattend(*command), broken / name)
    assert contents(broken) == before


@pytest.mark.parametrize("pattern", STATE)
def test_a_flipped_byte_in_the_state(xattend: Xattend, broken: Path, pattern: str) -> None:
    for file in broken.glob(pattern):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0x01
        file.write_bytes(data)
    before = contents(broken)
    refused(xattend("train", "--resume", broken, "-s", "training.steps=130"), "no saved state is whole")
    assert contents(broken) == before


@pytest.mark.parametrize("name", MANIFEST)
def test_a_missing_or_empty_file(xattend: Xattend, broken: Path, name: str) -> None:
    (broken / name).write_bytes(b"")
    refused(xattend("predict", broken, "a"), broken / name)
    (broken / name).unlink()
    refused(xattend("predict", broken, "a"), "manifest.json" if name == "manifest.json" else broken / name)


def test_truncated_weights(xattend: Xattend, broken: Path) -> None:
    file = broken / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    refused(xattend("predict", broken, "a"), file, "damaged")


@pytest.mark.parametrize("content", ["[]", "{", '{"root": 3}', '{"root": "\\u0000"}'])
def test_a_damaged_note_of_places_is_no_harm(xattend: Xattend, broken: Path, content: str) -> None:
    (broken / "places.json").write_text(content)
    assert xattend("evaluate", broken, "--beam", "1").code == 0


def test_what_is_not_a_run(xattend: Xattend, tmp_path: Path) -> None:
    refused(xattend("predict", tmp_path, "a"), tmp_path, "not a run")
    refused(xattend("predict", tmp_path / "none", "a"), tmp_path / "none", "no such directory")
    refused(xattend("train", "--resume", tmp_path), tmp_path, "not a run")
    (tmp_path / "file").write_text("x")
    refused(xattend("predict", tmp_path / "file", "a"), tmp_path / "file")
    refused(xattend("evaluate", tmp_path / "file"), tmp_path / "file")


def test_places_where_no_run_can_go(xattend: Xattend, broken: Path, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(COPY + TINY)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    before = contents(tmp_path)
    refused(xattend("train", tmp_path / "r.toml", "--out", tmp_path / "mine"), "not empty and not a run")
    refused(xattend("train", tmp_path / "r.toml", "--out", tmp_path / "mine", "--overwrite"), "not empty and not a run")
    refused(xattend("train", tmp_path / "r.toml", "--out", broken), "holds a finished run")
    refused(xattend("train", tmp_path / "r.toml", "--out", tmp_path / "r.toml"), "is a file")
    refused(xattend("train", tmp_path / "r.toml", "--out", tmp_path / "r.toml" / "below"), tmp_path / "r.toml")
    refused(xattend("init", tmp_path / "mine" / "thesis.txt", "--out", tmp_path / "r.toml"), tmp_path / "r.toml", "is there already")
    refused(xattend("predict", broken, "a", f"--attention={tmp_path / 'mine' / 'thesis.txt'}"), ".svg or .png")
    refused(xattend("predict", broken, "a", "--attention", tmp_path / "none" / "a.svg"), "cannot write")
    assert contents(tmp_path) == before


def test_data_that_changed(xattend: Xattend, tmp_path: Path) -> None:
    (tmp_path / "rows.tsv").write_bytes(GOOD)
    (tmp_path / "r.toml").write_text(DATA + "split = { validation = 0.3 }\n" + TINY)
    assert xattend("train", tmp_path / "r.toml", "-s", "training.steps=1", "--out", tmp_path / "run").code == 0
    refused(xattend("evaluate", tmp_path / "run", "--split", "test"), "no test rows")
    (tmp_path / "rows.tsv").write_bytes(GOOD + b"more\tmore\n")
    refused(xattend("evaluate", tmp_path / "run"), "the data has changed")
    refused(xattend("train", "--resume", tmp_path / "run", "-s", "training.steps=2"), "the data")


# --- options

BAD_OPTIONS: dict[str, tuple[list[str], str]] = {
    "no recipe": (["train"], "either a recipe or --resume"),
    "recipe and resume": (["train", "copy", "--resume", "x"], "either a recipe or --resume"),
    "an unknown command": (["trian"], "trian"),
    "an unknown option": (["predict", "RUN", "a", "--beem", "3"], "--beem"),
    "beam of text": (["predict", "RUN", "a", "--beam", "many"], "many"),
    "beam of zero": (["predict", "RUN", "a", "--beam", "0"], "0"),
    "n-best over the beam": (["predict", "RUN", "a", "--beam", "2", "--nbest", "3"], "nbest 3 is more than the beam's size 2"),
    "n-best of greedy search": (["predict", "RUN", "a", "-s", "search.kind=greedy", "--nbest", "3"], "nbest"),
    "nothing to predict": (["predict", "RUN"], "either texts or --file"),
    "text and file": (["predict", "RUN", "a", "--file", "x"], "either texts or --file"),
    "a missing file": (["predict", "RUN", "--file", "none.txt"], "no such file"),
    "attention in a file": (["predict", "RUN", "--file", "x", "--attention"], "--json"),
    "tokens without JSON": (["predict", "RUN", "a", "--tokens"], "--json"),
    "a figure of two": (["predict", "RUN", "a", "b", "--attention", "x.svg"], "one text"),
    "columns without a file": (["predict", "RUN", "a", "--columns", "1"], "--file"),
    "three columns": (["score", "RUN", "--file", "x", "--columns", "1,2,3"], "SOURCE,TARGET"),
    "setting what is trained": (["predict", "RUN", "a", "-s", "encoder.size=3"], "only search.KEY=VALUE"),
    "an unknown search setting": (["predict", "RUN", "a", "-s", "search.sise=3"], "did you mean 'size'?"),
    "an unknown search": (["predict", "RUN", "a", "-s", "search.kind=beem"], "did you mean 'beam'?"),
    "beam twice": (["predict", "RUN", "a", "--beam", "2", "-s", "search.size=3"], "give one of them"),
    "split and file": (["evaluate", "RUN", "--split", "test", "--file", "x"], "either --split or --file"),
    "an unknown split": (["evaluate", "RUN", "--split", "dev"], "dev"),
    "no file to score": (["score", "RUN"], "--file"),
    "an unknown format": (["align", "RUN", "--file", "x", "--format", "giza"], "giza"),
    "the same part twice": (["grid", "copy", "--attention", "dot,dot"], "different names"),
    "an unknown part": (["grid", "copy", "--attention", "dott"], "did you mean 'dot'?"),
    "seeds of text": (["grid", "copy", "--attention", "dot", "--seeds", "one"], "whole numbers"),
    "a part set twice": (["grid", "copy", "--attention", "dot", "-s", "attention.kind=none"], "give one of them"),
    "a system without attention": (["grid", "lm", "--attention", "dot"], "has no [attention]"),
}


@pytest.mark.parametrize("kind", BAD_OPTIONS)
def test_bad_options(xattend: Xattend, copy_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    words, said = BAD_OPTIONS[kind]
    monkeypatch.chdir(tmp_path)
    refused(xattend(*[copy_run if word == "RUN" else word for word in words]), said)
    assert os.listdir(tmp_path) == []


def test_a_bad_line_of_a_file_to_predict(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"a b\ncaf\xe9\n")
    refused(xattend("predict", copy_run, "--file", tmp_path / "in.txt"), f"{tmp_path / 'in.txt'}:2: ", "not valid UTF-8")
    (tmp_path / "in.tsv").write_bytes(b"a b\ta\na\n")
    for command in ("score", "align", "evaluate"):
        refused(xattend(command, copy_run, "--file", tmp_path / "in.tsv"), f"{tmp_path / 'in.tsv'}:2: ", "1 column")


def test_parts_that_do_not_go_together(xattend: Xattend, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(COPY + TINY)
    words = ["grid", tmp_path / "r.toml", "--attention", "additive,dot", "-s", "decoder.tie=all", "-s", "decoder.readout_size=8"]
    refused(xattend(*words, "--out", tmp_path / "grid"), "additive: ", "decoder.tie")
    assert not (tmp_path / "grid").exists()


def test_output_that_cannot_be_written(copy_run: Path) -> None:
    command = [sys.executable, "-m", "xattend", "predict", str(copy_run), "a"]
    with open("/dev/full", "w") as full:
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (found.returncode, found.stderr) == (2, "xattend: No space left on device\n")
    found = subprocess.run(
        [*command, "--attention"], capture_output=True, text=True, env=os.environ | {"PYTHONIOENCODING": "ascii"}
    )
    assert (found.returncode, found.stderr) == (0, "")  # the drawing has plain letters for such terminals
