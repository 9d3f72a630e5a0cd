"""`xattend reproduce` from end to end, on a reproduction of seconds."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = '''
from xattend.registry import register
from xattend.reproductions.base import OneRecipe

@register("reproduction", "tiny")
class Tiny(OneRecipe):
    recipe, key, seeds = "copy", "exact", (1, 2)
    system, paper, metric, published, floor = "copy", "nobody", "exact", 1.0, 2.0

    def plans(self):
        return [plan._replace(overrides=(*plan.overrides, "training.steps=2", "data.task.rows=60")) for plan in super().plans()]
'''


@pytest.fixture
def reproduce(tmp_path: Path):
    (tmp_path / "tiny.py").write_text(PLUGIN)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "xattend", "reproduce", *words, "--plugin", "tiny.py"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def test_runs_to_the_end_and_is_not_done_again(reproduce, tmp_path: Path) -> None:
    part = reproduce("tiny", "--trial", "seed2")
    assert part.returncode == 0, part.stderr
    assert "done: seed2. Without --trial the figure is made from all 2 trainings" in part.stderr
    assert not (tmp_path / "results").exists()
    whole = reproduce("tiny", "--json")
    assert whole.returncode == 0, whole.stderr
    record = json.loads((tmp_path / "results" / "tiny.json").read_text())
    assert json.loads(whole.stdout) == record
    wanted = {"name", "system", "paper", "metric", "higher_is_better", "published", "floor", "ours", "seeds", "seconds", "command", "commit"}
    assert wanted <= set(record)
    assert (record["seeds"], record["reached"], record["changed"]) == ([1, 2], False, [])
    assert set(record["trainings"]) == {"seed1", "seed2"}
    model = (tmp_path / "runs/reproduce-tiny/seed1/model.safetensors").read_bytes()
    again = reproduce("tiny", "--figures", "pictures")
    assert again.returncode == 0
    assert "floor 2: missed" in again.stdout
    assert again.stderr.count("trained before") == 2
    assert (tmp_path / "pictures/tiny-learning.svg").exists()
    assert (tmp_path / "runs/reproduce-tiny/seed1/model.safetensors").read_bytes() == model


def test_what_is_changed_is_said(reproduce, tmp_path: Path) -> None:
    assert "not the reproduction" in reproduce("tiny", "-s", "encoder.size=8").stdout
    assert json.loads((tmp_path / "results" / "tiny.json").read_text())["changed"] == ["encoder.size=8"]
    other = reproduce("tiny")  # the runs there are of another recipe
    assert other.returncode == 2
    assert "another recipe" in other.stderr


def test_another_search_is_scored_without_another_training(reproduce, tmp_path: Path) -> None:
    kept = tmp_path / "runs/reproduce-tiny/seed1.scores.json"
    assert reproduce("tiny", "--trial", "seed1").returncode == 0
    first = json.loads(kept.read_text())
    again = reproduce("tiny", "--trial", "seed1", "-s", "search.kind=greedy", "-s", "search.max_extra=0", "-s", "search.max_ratio=0.5")
    assert again.returncode == 0, again.stderr
    assert "trained before" in again.stderr
    second = json.loads(kept.read_text())
    assert (first["search"]["max_ratio"], second["search"]["max_ratio"]) == (3.0, 0.5)
    assert second["found"]["test"]["cut"] > first["found"]["test"]["cut"] or second["found"]["test"]["cer"] != first["found"]["test"]["cer"]


def test_a_long_table_is_filled_in_from_scores_whose_runs_are_gone(reproduce, tmp_path: Path) -> None:
    (tmp_path / "tiny.py").write_text(PLUGIN.replace('seeds = "copy"', 'seeds, from_scores = "copy"').replace("(1, 2)", "(1, 2), True"))
    kept, runs = tmp_path / "results/unfinished/tiny", tmp_path / "runs/reproduce-tiny"
    assert reproduce("tiny", "--trial", "seed1", "-s", "encoder.size=8", "--out", "other").returncode == 0
    assert not kept.exists()  # not the reproduction
    assert reproduce("tiny", "--trial", "seed1").returncode == 0
    assert [file.name for file in kept.iterdir()] == ["seed1.json"]
    shutil.rmtree(runs)
    stale = json.loads((kept / "seed1.json").read_text())
    (kept / "seed2.json").write_text(json.dumps({**stale, "of": "another recipe"}))
    whole_file = (kept / "seed1.json").read_text()
    (kept / "seed1.json").write_text(whole_file[:40])
    assert "seed1.json: is damaged" in reproduce("tiny").stderr
    (kept / "seed1.json").write_text(whole_file)
    whole = reproduce("tiny", "--figures", "pictures")
    assert whole.returncode == 0, whole.stderr
    assert "seed1: scored before" in whole.stderr
    assert "training seed2" in whole.stderr
    assert not (runs / "seed1").exists()
    record = json.loads((tmp_path / "results/tiny.json").read_text())
    assert record["trainings"]["seed1"]["test"] == stale["test"]
    assert not kept.exists()  # all of it is in the record now


def test_mistakes_are_one_line(reproduce) -> None:
    unknown = reproduce("tinny")
    assert unknown.returncode == 2
    assert "tiny" in unknown.stderr
    trial = reproduce("tiny", "--trial", "seed9")
    assert trial.returncode == 2
    assert "seed1, seed2" in trial.stderr
    assert "tiny" in reproduce().stdout
