"""The other commands: their happy paths and documented options."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

from tests.cli.conftest import COPY, TINY, WORDS, Xattend
from xattend import recipe as recipes
from xattend.cli import COMMANDS
from xattend.run import Run

# --- help


@pytest.mark.parametrize("words", [["--help"], *[[command, "--help"] for command in COMMANDS], ["recipes"]])
def test_help_and_recipes_do_not_import_torch(words: list[str]) -> None:
    script = (
        "import sys\nfrom xattend.cli import cli\n"
        f"try: cli.main({words!r}, standalone_mode=False)\nfinally: assert 'torch' not in sys.modules, 'torch'\n"
        + ("assert 'pydantic' not in sys.modules and 'numpy' not in sys.modules" if words[-1] == "--help" else "")
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout


def test_every_command_is_there(xattend: Xattend) -> None:
    shown = xattend("--help").out
    for command, said in COMMANDS.items():
        assert command in shown
        assert xattend(command, "--help").code == 0
        assert said


# --- recipes


def test_recipes(xattend: Xattend) -> None:
    listed = json.loads(xattend("recipes", "--json").out)
    assert {"copy", "transliterate", "translate"} <= {one["name"] for one in listed}
    lines = xattend("recipes").lines
    assert len(lines) == 2 + len(listed)
    assert lines[0].split() == ["name", "system", "task", "minutes", "result"]
    text = xattend("recipes", "copy").out
    assert tomllib.loads(text)["data"]["task"] == "copy"
    record = json.loads(xattend("recipes", "copy", "--json").out)
    assert record["name"] == "copy"
    assert record["text"].strip() == text.strip()


# --- init and check


def names(file: Path, rows: int = 300) -> Path:
    lines = [f"{number:x}ab\t{'xyz'[number % 3]}{number:o}" for number in range(rows)]
    file.write_text("".join(line + "\n" for line in lines))
    return file


def test_init_writes_a_recipe_that_trains(xattend: Xattend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names(tmp_path / "names.tsv")
    answer = xattend("init", "names.tsv")
    assert answer.code == 0
    assert "300 rows" in answer.out
    assert "xattend train names.toml" in answer.out
    text = (tmp_path / "names.toml").read_text()
    recipe = tomllib.loads(text)
    assert recipe["data"]["train"] == "names.tsv"
    assert recipe["data"]["split"] == {"validation": 0.05, "test": 0.05}
    assert recipe["data"]["source"]["unit"] == recipe["data"]["target"]["unit"] == "character"
    assert recipe["training"]["metric"] == "cer"
    assert recipe["training"]["minutes"] == 3.0
    assert "patience" not in recipe["training"]
    assert recipe["search"] == {"kind": "minimum-risk", "size": 5}
    shipped = tomllib.loads(xattend("recipes", "transliterate").out)
    assert {key: recipe["encoder"][key] for key in shipped["encoder"]} == shipped["encoder"]
    assert "# width of the word vectors" in text
    trained = xattend("train", "names.toml", "-s", "training.steps=1", "--out", "run")
    assert trained.code == 0, trained.err
    assert xattend("evaluate", "run", "--split", "test", "--beam", "1").code == 0


@pytest.mark.parametrize(("name", "target", "kind", "metric"), [
    ("media/{n}.wav", "{m}", "sound", "cer"), ("media/{n}.png", "a picture of {m} things", "image", "bleu-4"), ("media/{n}.png", "no{m}", "image", "cer"),
    ("Ada walked to the cellar. Boris saw {n} things. Where is Ada? #1", "cellar", "story", "exact"),
], ids=["sounds", "captions", "words", "stories"])  # fmt: skip
def test_init_knows_rows_that_name_files_or_tell_stories(
    xattend: Xattend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, target: str, kind: str, metric: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "media").mkdir()
    for number in range(24):
        soundfile.write(tmp_path / "media" / f"{number}.wav", 0.3 * np.sin(np.arange(2400) * (0.1 + 0.02 * number)), 8000)
        Image.new("RGB", (40, 30), (number * 8, 0, 99)).save(tmp_path / "media" / f"{number}.png")
    (tmp_path / "rows.tsv").write_text("".join(f"{name}\t{target}\n".format(n=number, m=number % 5) for number in range(24)))
    said = xattend("init", "rows.tsv", "--out", "made/r.toml")
    assert said.code == 0, said.err
    data = tomllib.loads((tmp_path / "made" / "r.toml").read_text())["data"]
    assert (data["source"]["kind"], data.get("folder")) == (kind, None if kind == "story" else "..")
    assert data["source"].get("rate") == (8000 if kind == "sound" else None)
    assert f"goes by {metric}" in said.out
    trained = xattend("train", "made/r.toml", "-s", "training.steps=1", "--out", "run")
    assert trained.code == 0, trained.err


def test_init_elsewhere_and_overwriting(xattend: Xattend, tmp_path: Path) -> None:
    names(tmp_path / "names.tsv", 30)
    out = tmp_path / "deep" / "mine.toml"
    assert xattend("init", tmp_path / "names.tsv", "--out", out).code == 0
    assert tomllib.loads(out.read_text())["data"]["train"] == "../names.tsv"
    out.write_text("# precious")
    refused = xattend("init", tmp_path / "names.tsv", "--out", out)
    assert refused.code == 2
    assert out.read_text() == "# precious"
    assert xattend("init", tmp_path / "names.tsv", "--out", out, "--force").code == 0
    assert xattend("check", out).code == 0


def test_init_phonemes_sentences_and_language_models(xattend: Xattend, tmp_path: Path) -> None:
    long = [" ".join(WORDS[(n * k) % 10] + str(n % 13) + str(k) for k in range(3, 12)) for n in range(60)]
    (tmp_path / "g2p.tsv").write_text("".join(f"w{n}\tK AE {'TDK'[n % 3]} AE\n" for n in range(60)))
    (tmp_path / "a.en").write_text("".join(line + "\n" for line in long))
    (tmp_path / "a.de").write_text("".join(line.upper() + "\n" for line in long))
    (tmp_path / "header.tsv").write_text("id\ten\tde\n" + "".join(f"{n}\tab{n}\tcd{n}\n" for n in range(40)))
    recipes = {}
    for name, words in {
        "g2p": ["g2p.tsv"], "mt": ["a.en", "--target", tmp_path / "a.de"], "lm": ["a.en"], "columns": ["header.tsv", "--columns", "en,de"],
    }.items():  # fmt: skip
        answer = xattend("init", tmp_path / words[0], *words[1:], "--out", tmp_path / f"{name}.toml")
        assert answer.code == 0, answer.err
        recipes[name] = tomllib.loads((tmp_path / f"{name}.toml").read_text())
    assert recipes["g2p"]["training"]["metric"] == "per"
    assert recipes["g2p"]["data"]["target"]["unit"] == "word"
    assert recipes["mt"]["training"]["metric"] == "bleu"
    assert recipes["mt"]["data"]["train"] == {"source": "a.en", "target": "a.de"}
    assert recipes["mt"]["training"]["minutes"] > 3
    assert recipes["lm"]["system"]["kind"] == "language-model"
    assert recipes["columns"]["data"]["columns"] == {"source": "en", "target": "de"}


def test_init_holds_out_few_rows_of_large_data(xattend: Xattend, tmp_path: Path) -> None:
    names(tmp_path / "names.tsv", 40_000)
    assert xattend("init", tmp_path / "names.tsv", "--out", tmp_path / "r.toml").code == 0
    recipe = tomllib.loads((tmp_path / "r.toml").read_text())
    assert recipe["data"]["split"] == {"validation": 0.025, "test": 0.025}
    assert recipe["training"]["minutes"] > 3


def test_init_of_very_little_data_still_trains(xattend: Xattend, tmp_path: Path) -> None:
    names(tmp_path / "names.tsv", 12)
    assert xattend("init", tmp_path / "names.tsv", "--out", tmp_path / "r.toml").code == 0
    assert xattend("train", tmp_path / "r.toml", "-s", "training.steps=1", "--out", tmp_path / "run").code == 0


def test_init_skips_and_counts_bad_rows(xattend: Xattend, tmp_path: Path) -> None:
    file = names(tmp_path / "names.tsv", 40)
    file.write_text(file.read_text() + "\tempty\n")
    answer = xattend("init", file, "--out", tmp_path / "r.toml")
    assert f"1 row skipped: an empty side (first at {file}:41)" in answer.out
    assert tomllib.loads((tmp_path / "r.toml").read_text())["data"]["bad_rows"] == "skip"


def test_check_tells_all(xattend: Xattend, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(COPY + TINY)
    answer = xattend("check", tmp_path / "r.toml", "-s", "training.epochs=1.0")
    assert answer.code == 0
    for said in (
        r"source vocabulary: 9", r"\b0 of \d+ source units of validation are unknown", r"no held-out source side is in train too",
        r"[\d,]+ weights", r"[\d.]+ % of a batch is padding", r"estimate: [\d.]+ minutes", r"[\d.]+ GiB of memory",
    ):  # fmt: skip
        assert re.search(said, answer.out), said


def test_check_finds_every_kind_of_problem(xattend: Xattend, tmp_path: Path) -> None:
    good = "".join(f"a{n}\tb\n" for n in range(20))
    (tmp_path / "train.tsv").write_text(good + "\tx\n" + "a\tb\tc\n" + "\ty\n" + "a0\tb\n")
    (tmp_path / "held.tsv").write_text("a0\tb\na1\tq\n")
    (tmp_path / "r.toml").write_text('[data]\ntrain = "train.tsv"\nvalidation = "held.tsv"\n' + TINY)
    answer = xattend("check", tmp_path / "r.toml")
    assert answer.code == 2
    at = answer.lines.index("problem: 2 rows: an empty side")
    assert answer.lines[at + 1 : at + 3] == [f"  {tmp_path / 'train.tsv'}:{line}: the source side is empty" for line in (21, 23)]
    at = answer.lines.index("problem: 1 row: wrong number of columns")
    assert answer.lines[at + 1].startswith(f"  {tmp_path / 'train.tsv'}:22: ")
    assert "warning: 2 of 2 validation rows have a source side that is in train too" in answer.lines
    assert "1 of 2 target units of validation are unknown (50 %)" in answer.lines
    assert answer.err.count("\n") == 1
    assert xattend("check", tmp_path / "r.toml", "-s", "data.bad_rows=skip").code == 0


def test_check_counts_what_max_length_leaves_out(xattend: Xattend, tmp_path: Path) -> None:
    names(tmp_path / "names.tsv", 30)
    data = '[data]\ntrain = "names.tsv"\nsource = { unit = "character", max_length = 3 }\n'
    (tmp_path / "r.toml").write_text(data + TINY)
    assert "14 train rows left out: the source side is longer than max_length = 3" in xattend("check", tmp_path / "r.toml").out


# --- evaluate


def test_evaluate_agrees_with_predict_and_score(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    pairs = [("a b c", "a b c"), ("d", "d"), ("e d c b a", "e d c b"), ("b b", "b")]
    (tmp_path / "in.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    record = json.loads(xattend("evaluate", copy_run, "--file", tmp_path / "in.tsv", "--json").out)
    outputs = xattend("predict", copy_run, *[source for source, _ in pairs]).lines
    scores = [line.split("\t") for line in xattend("score", copy_run, "--file", tmp_path / "in.tsv").lines]
    nll, tokens = -sum(float(line[0]) for line in scores), sum(int(line[1]) for line in scores)
    characters = sum(len(target) for _, target in pairs)
    assert record["rows"] == 4
    assert record["exact"] == sum(out == target for out, (_, target) in zip(outputs, pairs, strict=True)) / 4
    assert record["nll"] == pytest.approx(nll / tokens, abs=1e-4)
    assert record["perplexity"] == pytest.approx(math.exp(nll / tokens), rel=1e-4)
    assert record["bits_per_character"] == pytest.approx(nll / math.log(2) / characters, abs=1e-4)
    edits = sum(distance(out, target) for out, (_, target) in zip(outputs, pairs, strict=True))
    assert record["cer"] == pytest.approx(edits / characters)
    assert {"bleu", "chrf", "wer", "seconds", "unknown_units", "cut"} <= set(record)


def distance(left: str, right: str) -> int:
    """Levenshtein's, by the book."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


def test_evaluate_splits_and_shows(xattend: Xattend, copy_run: Path) -> None:
    answer = xattend("evaluate", copy_run, "--show", "2")
    assert "20 rows of validation" in answer.out
    assert answer.out.count("reference  ") == 2
    assert "</s>" in answer.out
    record = json.loads(xattend("evaluate", copy_run, "--split", "test", "--beam", "1", "--show", "1", "--json").out)
    assert record["split"] == "test"
    assert set(record["examples"][0]) == {"source", "text", "reference"}


def test_evaluate_a_language_model(xattend: Xattend, language_model: Path) -> None:
    record = json.loads(xattend("evaluate", language_model, "--json").out)
    assert {"perplexity", "bits_per_character", "nll"} <= set(record)
    assert "cer" not in record
    assert "perplexity" in xattend("evaluate", language_model, "--show", "1").out


def test_evaluate_copies_unknown_words(xattend: Xattend, unknowing_run: Path) -> None:
    plain = json.loads(xattend("evaluate", unknowing_run, "--json").out)
    copied = json.loads(xattend("evaluate", unknowing_run, "--json", "--copy-unknown").out)
    assert copied["unknown_units"] > 0
    assert copied["cer"] < plain["cer"]


# --- grid


@pytest.fixture(scope="module")
def gridded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grid")
    (folder / "r.toml").write_text(COPY + TINY)
    return folder


GRID = ["--attention", "additive,dot", "--cell", "gru,lstm", "--seeds", "1,2", "-s", "training.steps=3"]


def test_grid_trains_every_combination_once(xattend: Xattend, gridded: Path) -> None:
    words = ["grid", gridded / "r.toml", *GRID, "--out", gridded / "out"]
    first = xattend(*words)
    assert first.code == 0, first.err
    assert first.lines[0].split() == ["attention", "cell", "cer", "exact", "perplexity", "weights", "examples/s", "minutes"]
    assert len(first.lines) == 2 + 4 + 1
    assert "±" in first.lines[2]
    assert "validation" in first.lines[-1]
    cells = json.loads((gridded / "out" / "grid.json").read_text())["cells"]
    assert len(cells) == 8
    dates = {cell["run"]: (Path(cell["run"]) / "model.safetensors").stat().st_mtime_ns for cell in cells}
    again = xattend(*words, "--json")
    assert again.err.count("trained before") == 8
    assert {run: (Path(run) / "model.safetensors").stat().st_mtime_ns for run in dates} == dates
    same = json.loads(again.out)["cells"]
    assert [cell["metrics"] for cell in same] == [cell["metrics"] for cell in cells]
    lstm = tomllib.loads((Path(cells[2]["run"]) / "recipe.toml").read_text())
    assert (cells[2]["cell"], lstm["encoder"]["cell"], lstm["decoder"]["cell"]) == ("lstm", "lstm", "lstm")


def test_grid_goes_on_with_an_unfinished_training(xattend: Xattend, gridded: Path) -> None:
    words = ["grid", gridded / "r.toml", "--attention", "dot", "-s", "training.steps=3", "--out", gridded / "half"]
    assert xattend(*words).code == 0
    from xattend.run import Run

    Run(gridded / "half" / "dot_seed1").mark_finished(False)
    answer = xattend(*words)
    assert answer.code == 0
    assert "going on from step 3" in answer.err


def test_grid_refuses_a_run_of_another_recipe(xattend: Xattend, gridded: Path) -> None:
    words = ["grid", gridded / "r.toml", "--attention", "none", "--out", gridded / "other"]
    assert xattend(*words, "-s", "training.steps=2").code == 0
    answer = xattend(*words, "-s", "training.steps=3")
    assert answer.code == 2
    assert "another recipe" in answer.err
    other_machine = xattend(*words, "-s", "training.steps=2", "-s", "training.threads=1")
    assert other_machine.code == 0
    assert "trained before" in other_machine.err


# --- doctor


def test_doctor(xattend: Xattend, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = xattend("doctor")
    assert answer.code == 0
    for said in ("torch: 2", "cores:", "GFLOP/s", "XATTEND_DATA is not set", str(cache)):
        assert said in answer.out
    monkeypatch.setenv("XATTEND_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("xattend.cli.doctor.OPTIONAL", {"no_such_module": ("dreaming", "dreams")})
    answer = xattend("doctor")
    assert "which is no folder" in answer.out
    assert "pip install 'xattend[dreams]'" in answer.out
    monkeypatch.setattr("xattend.cli.doctor.REQUIRED", ("no_such_module",))
    assert xattend("doctor").code == 1


def test_settings_to_go_on_with_are_kept(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    """A second resume, after a kill, must not fall back on what the run began with; nor may settings that do not fit be kept."""
    longer = tmp_path / "longer"
    shutil.copytree(copy_run, longer)
    steps = recipes.load(longer / "recipe.toml").resolve().training.steps
    assert steps is not None
    assert xattend("train", "--resume", longer, "-s", f"training.steps={steps + 2}").code == 0
    assert recipes.load(longer / "recipe.toml").resolve().training.steps == steps + 2
    Run(longer).verify()
    before = (longer / "recipe.toml").read_bytes()
    assert xattend("train", "--resume", longer, "-s", "decoder.size=7").code == 2
    assert (longer / "recipe.toml").read_bytes() == before
