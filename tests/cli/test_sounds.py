"""Rows that name sounds, on the command line: bad ones are named one by one, and refused or skipped as the run's recipe says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.cli.conftest import Xattend
from xattend import job

RECIPE = """
[data]
train = "rows.tsv"
bad_rows = "{bad}"
split = {{ validation = 0.3 }}
source = {{ kind = "sound", rate = 8000, size = 20 }}
target = {{ unit = "character" }}
[system]
kind = "ctc"
[encoder]
kind = "listen"
size = 8
layers = 1
halve = 2
[training]
steps = 3
sentences = 4
[search]
max_ratio = 0.5
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("sounds")
    time = np.arange(2400) / 8000
    for number in range(12):
        soundfile.write(made / f"{number}.wav", 0.4 * np.sin(2 * np.pi * (200 + 100 * number) * time), 8000)
    (made / "cut.wav").write_bytes((made / "1.wav").read_bytes()[:900])
    soundfile.write(made / "nan.wav", np.full(2400, np.nan), 8000, subtype="FLOAT")
    names = [*[f"{number}.wav" for number in range(12)], "cut.wav", "gone.wav", "cut.wav", "nan.wav"]
    (made / "rows.tsv").write_text("".join(f"{name}\ta b\n" for name in names))
    (made / "good.tsv").write_text("".join(f"{name}\ta b\n" for name in names[:12]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XATTEND_CACHE", str(made / "cache"))
        for bad in ("skip", "stop"):
            text = RECIPE.format(bad=bad)
            (made / f"{bad}.toml").write_text(text if bad == "skip" else text.replace("rows.tsv", "good.tsv"))
            job.start(made / f"{bad}.toml", out=made / bad)
        patch.chdir(made)
        yield made


def test_check_names_each_row_and_how_to_mend_it(xattend: Xattend, folder: Path) -> None:
    (folder / "strict.toml").write_text(RECIPE.format(bad="stop"))
    said = xattend("check", "strict.toml")
    assert said.code == 2
    at = said.lines.index("problem: 2 rows: a sound cut off or damaged")
    for line, row in zip(said.lines[at + 1 : at + 3], (13, 15), strict=True):
        assert f"rows.tsv:{row}, cut.wav: " in line
        assert line.endswith("get it again")
    assert any("rows.tsv:16, nan.wav: " in line and "take the row out" in line for line in said.lines)
    said = xattend("check", "skip.toml")
    assert "2 rows skipped: a sound cut off or damaged" in said.lines
    assert sum("cut.wav: " in line for line in said.lines) == 2


def test_predict_keeps_lines_in_step(xattend: Xattend, folder: Path) -> None:
    said = xattend("predict", "skip", "--file", "rows.tsv")
    assert (said.code, len(said.out.split("\n")) - 1) == (0, 16)
    assert said.lines[12:16] == ["", "", "", ""]
    assert [f"input {number} cannot be read, and its output is empty: " in said.err for number in (12, 13, 14, 15, 16)] == [False, True, True, True, True]
    records = [json.loads(line) for line in xattend("predict", "skip", "--file", "rows.tsv", "--json").lines]
    assert ["error" in record for record in records] == [False] * 12 + [True] * 4
    assert "rows.tsv:16: " in records[15]["error"]
    strict = xattend("predict", "stop", "--file", "rows.tsv")
    assert (strict.code, strict.out) == (2, "")
    assert "rows.tsv:13: " in strict.err  # the first that is wrong


def test_evaluate_skips_and_counts_as_the_recipe_says(xattend: Xattend, folder: Path) -> None:
    said = xattend("evaluate", "skip", "--file", "rows.tsv", "--json")
    found = json.loads(said.out)
    assert (found["rows"], found["skipped_rows"]) == (12, 4)
    assert "4 rows skipped: a source that cannot be read" in said.err
    assert "rows.tsv:14, gone.wav: " in said.err
    strict = xattend("evaluate", "stop", "--file", "rows.tsv")
    assert (strict.code, "rows.tsv:13: " in strict.err) == (2, True)


def test_a_text_that_no_path_writes_spoils_no_figure(xattend: Xattend, folder: Path) -> None:
    (folder / "long.tsv").write_text("1.wav\ta b\n2.wav\t" + "ab" * 60 + "\n")
    (folder / "short.tsv").write_text("1.wav\ta b\n")
    both, one = (json.loads(xattend("evaluate", "stop", "--file", name, "--json").out) for name in ("long.tsv", "short.tsv"))
    assert both["impossible"] == 1
    assert "impossible" not in one
    assert both["nll"] == pytest.approx(one["nll"])
    assert "1 targets cannot be written by the model" in xattend("evaluate", "stop", "--file", "long.tsv").out
    said = xattend("score", "stop", "--file", "long.tsv", "--json")
    records = [json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is no JSON")) for line in said.lines]
    assert [record["logprob"] is None for record in records] == [False, True]
    assert "1 targets cannot be written" in said.err
    assert xattend("score", "stop", "--file", "long.tsv").lines[1].startswith("-inf\t")


def test_align_writes_the_words_of_the_row_known_or_not(xattend: Xattend, folder: Path) -> None:
    (folder / "unknown.tsv").write_text("1.wav\tab z\n")
    said = xattend("align", "stop", "--file", "unknown.tsv")
    assert [line.split("\t")[3] for line in said.lines] == ["ab", "z"]
    assert "1 target units are unknown" in said.err
    assert [line.split("\t")[3] for line in xattend("align", "stop", "--file", "unknown.tsv", "--units").lines] == ["a", "b", "z"]
