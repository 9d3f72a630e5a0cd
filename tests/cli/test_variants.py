"""Rows with the same source as one question with several right answers: the scores by hand, and the command's option."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.conftest import Xattend
from xattend.cli.scores import Scores, questions, score_rows
from xattend.data.fields.text import Text
from xattend.data.readers.base import Row
from xattend.model import Score
from xattend.types import Prediction

# word, pronunciation; what is written for the word
ROWS = [("TOMATO", "T AH M EY T OW"), ("CAFÉ", "K AH F EY"), ("TOMATO", "T AH M AA T OW"), ("THE", "DH AH"), ("THE", "DH IY"), ("ON", "AA N")]
WRITTEN = {"TOMATO": "T AH M AA T OW", "CAFÉ": "K AE F IY", "THE": "D IY", "ON": "AA N"}


class Written:
    """A model that writes what it was told to."""

    source, target, system = Text(), Text(unit="word"), SimpleNamespace(writes=True, terms=())

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.target.fit([target for _, target in ROWS])

    def predict_rows(self, rows: Iterable[Row], search: Any, **more: Any) -> Iterator[Prediction]:
        for row in rows:
            self.asked.append(row.source)
            yield Prediction(WRITTEN[row.source], [], 0.0, 0.0, [])

    def score_rows(self, rows: Iterable[Row], **more: Any) -> Iterator[Score]:
        for row in rows:
            assert row.target is not None
            count = len(row.target.split()) + 1
            yield Score(-float(count), ["x"] * count, [-1.0] * count)


def scored(variants: bool) -> tuple[Scores, list[str]]:
    model = Written()
    rows = [Row(source, target, "f", line) for line, (source, target) in enumerate(ROWS, 1)]
    return score_rows(model, lambda: rows, None, variants=variants), model.asked  # type: ignore[arg-type]


def test_every_row_alone_by_hand() -> None:
    """Edits: TOMATO 1, CAFÉ 2, TOMATO 0, THE 2 (D for DH, IY for AH) and 1, ON 0; of 6 + 4 + 6 + 2 + 2 + 2 phonemes."""
    scores, asked = scored(variants=False)
    assert asked == [source for source, _ in ROWS]
    assert scores.metrics["exact"] == pytest.approx(2 / 6)
    assert scores.metrics["per"] == pytest.approx(6 / 22)
    assert (scores.rows, scores.repeated) == (6, 2)


def test_variants_by_hand() -> None:
    """Four words. TOMATO and ON are right. Edits: TOMATO 0 of 6, CAFÉ 2 of 4, THE 1 of 2 (from DH IY, the nearer), ON 0 of 2."""
    scores, asked = scored(variants=True)
    assert asked == ["TOMATO", "CAFÉ", "THE", "ON"]
    assert scores.metrics["exact"] == pytest.approx(2 / 4)
    assert scores.metrics["per"] == pytest.approx(3 / 14)
    assert (scores.rows, scores.repeated) == (6, 2)
    assert scores.metrics["nll"] == scored(variants=False)[0].metrics["nll"] == 1.0  # of every given target


def test_a_source_is_the_same_in_either_unicode_form() -> None:
    rows = [Row("CAFÉ", "a", "f", 1), Row("CAFE\u0301", "b", "f", 2), Row("cafÉ", "c", "f", 3)]
    assert [found.answers for found in questions(rows, variants=True)] == [["a", "b"], ["c"]]
    assert [found.answers for found in questions(rows, variants=False)] == [["a"], ["b"], ["c"]]


def test_evaluate_with_variants(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    best = xattend("predict", copy_run, "a b").lines[0]
    (tmp_path / "in.tsv").write_text(f"a b\te e e e\nc\tc c c c c\na b\t{best}\n")
    alone = json.loads(xattend("evaluate", copy_run, "--file", tmp_path / "in.tsv", "--json").out)
    record = json.loads(xattend("evaluate", copy_run, "--file", tmp_path / "in.tsv", "--variants", "--show", "5", "--json").out)
    assert alone["exact"] == pytest.approx(1 / 3)
    assert record["exact"] == pytest.approx(1 / 2)
    assert (record["rows"], record["repeated_sources"], record["nll"]) == (3, 1, alone["nll"])
    assert [(one["source"], one["references"]) for one in record["examples"]] == [("a b", ["e e e e", best]), ("c", ["c c c c c"])]
    shown = xattend("evaluate", copy_run, "--file", tmp_path / "in.tsv", "--variants", "--show", "1").out
    assert shown.count("reference  ") == 2
    assert "1 of them have the source of an earlier row: scored as one with it" in shown
    assert "--variants takes them as one question" in xattend("evaluate", copy_run, "--file", tmp_path / "in.tsv").out


def test_evaluate_reads_a_layout(xattend: Xattend, copy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("IN: a b OUT: a b\nIN: c OUT: c\n")
    assert json.loads(xattend("evaluate", copy_run, "--file", tmp_path / "in.txt", "--format", "scan", "--json").out)["rows"] == 2
    assert "--format goes with --file" in xattend("evaluate", copy_run, "--format", "scan").err
    assert "did you mean 'scan'?" in xattend("evaluate", copy_run, "--file", tmp_path / "in.txt", "--format", "scna").err


def test_a_language_model_has_no_variants(xattend: Xattend, language_model: Path) -> None:
    assert "--variants needs a model that reads a source" in xattend("evaluate", language_model, "--variants").err
