"""`xattend report`: one file with all that is known of a run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Xattend
from xattend.report.trace_json import read_trace


def blocks(page: str) -> dict[str, object]:
    return {name: json.loads(data) for name, data in re.findall(r'<script type="application/json" id="data-([^"]*)">(.*?)</script>', page, flags=re.DOTALL)}


def test_a_run_as_one_file(xattend: Xattend, copy_run: Path) -> None:
    done = xattend("report", copy_run, "--rows", "3", "--split", "validation")
    assert done.code == 0, done.err
    assert f"Open it in a browser: {(copy_run / 'report.html').as_uri()}" in done.out
    page = (copy_run / "report.html").read_text("utf-8")
    found = blocks(page)
    evaluated = json.loads(xattend("evaluate", copy_run, "--split", "validation", "--json").out)
    for name in ("cer", "exact", "perplexity"):
        assert re.search(rf"{name}</bdi></td><td class=\"xa-number\">{evaluated[name]:.4f}</td>", page), name
    assert f"{evaluated['rows']:,} rows in" in page
    assert [chart["title"] for chart in found["curves"]][:1] == ["nats a token"]  # type: ignore[index, attr-defined]
    assert "120 updates" in page
    examples = [read_trace(document) for name, document in found.items() if name.startswith("example-")]
    assert len(examples) == 3
    assert all(trace.weights_THS.shape[0] == len(trace.logprobs) == len(trace.target_tokens) for trace in examples)
    assert all(trace.source_text and len(trace.nbest) > 1 for trace in examples)
    worst = [float(value) for value in re.findall(r'<span class="xa-faint">(?:cer|chrf) ([\d.]+)</span>', page)][3:]
    assert worst in (sorted(worst), sorted(worst, reverse=True))
    assert "statistical aligner" in page
    assert "[encoder]" in page


def test_the_worst_are_wrong_and_none_is_worse(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    file = tmp_path / "all.html"
    assert xattend("report", copy_run, "--rows", "1000", "--split", "validation", "--out", file).code == 0
    page = file.read_text("utf-8")
    found = blocks(page)
    scored = [(name, float(value)) for name, value in re.findall(r'<span class="xa-faint">(cer|chrf) ([\d.]+)</span>', page)]
    first, rest = scored[: sum(name.startswith("example-") for name in found)], scored[sum(name.startswith("example-") for name in found) :]
    sign = 1 if scored[0][0] == "chrf" else -1
    wrong = sorted(sign * value for name, value in first if value != (100.0 if name == "chrf" else 0.0))
    assert [sign * value for _, value in rest] == wrong


def test_models_that_look_nowhere_and_language_models(xattend: Xattend, blind_run: Path, language_model: Path, tmp_path: Path) -> None:
    for run, said in ((blind_run, "does not look at positions"), (language_model, "does not look at positions")):
        file = tmp_path / f"{run.name}.html"
        done = xattend("report", run, "--rows", "2", "--split", "validation", "--out", file)
        assert done.code == 0, done.err
        page = file.read_text("utf-8")
        assert said in page
        traces = [read_trace(document) for name, document in blocks(page).items() if name.startswith("example-")]
        assert len(traces) == 2
        assert all(len(trace.logprobs) == len(trace.target_tokens) > 0 for trace in traces)


@pytest.mark.parametrize(("words", "said"), [(["--split", "train"], "train"), (["--rows", "-1"], "rows")])
def test_mistakes(xattend: Xattend, copy_run: Path, words: list[str], said: str) -> None:
    done = xattend("report", copy_run, *words)
    assert done.code == 2
    assert said in done.err


def test_no_run_and_no_place(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    assert "not a run" in xattend("report", tmp_path / "none").err
    assert "is a folder" in xattend("report", copy_run, "--out", tmp_path).err
