"""Looking at data: counts, lengths and sensible suggestions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xattend.data.inspect import inspect, quantiles
from xattend.data.report import Report


def summary(tmp_path, rows):
    path = tmp_path / "a.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return inspect(str(path))


def test_counts(tmp_path):
    found = summary(tmp_path, [("ab", "x y"), ("ab", "x y"), ("abc", "z"), ("", "q"), ("ab", "z")])
    assert (found.rows, found.duplicates, found.empty_sides) == (4, 1, 1)
    assert found.source.alphabet == set("abc")
    assert found.target.types == {"x", "y", "z"}
    assert quantiles(found.source.characters) == [2, 2, 3, 3, 3]
    assert found.lines()[0] == "4 rows, 1 of them repeat an earlier row"
    assert found.lines()[-1] == f"1 row skipped: an empty side (first at {tmp_path / 'a.tsv'}:4)"


def test_one_column(tmp_path):
    found = summary(tmp_path, [("ein",), ("zwei",)])
    assert found.target is None
    assert set(found.suggest()) == {"source"}


def test_suggestions(tmp_path):
    phonemes = ["AA", "B", "CH", "D", "EH", "F", "G", "HH", "IY"]
    words = [f"word{n % 50}{chr(97 + n % 26)}" for n in range(400)]
    draw = np.random.default_rng(0)
    g2p = [(word, " ".join(draw.choice(phonemes, 5))) for word in words]
    assert summary(tmp_path, g2p).suggest() == {
        "source": {"kind": "text", "unit": "character"},
        "target": {"kind": "text", "unit": "word"},
    }
    vocabulary = [f"w{n}" for n in range(3000)]
    text = [(" ".join(row), "日本語の文は空白がない" * 5) for row in draw.choice(vocabulary, (6000, 12))]
    assert summary(tmp_path, text).suggest() == {
        "source": {"kind": "text", "unit": "bpe", "size": 4000},
        "target": {"kind": "text", "unit": "bpe", "size": 4000},
    }


@given(st.lists(st.integers(0, 20), min_size=1))
def test_quantiles_against_sorting(lengths):
    expected = np.quantile(lengths, [0, 0.5, 0.9, 0.99, 1], method="higher")
    assert quantiles(Counter(lengths)) == expected.tolist()


def test_report_round_trip():
    report = Report(notes=["n"], warnings=["w"])
    report.skip("r", "f", 3)
    assert Report.from_json(report.to_json()) == report
    assert report.lines() == ["n", "1 row skipped: r (first at f:3)", "warning: w"]
    assert Report.from_json({**report.to_json(), "skipped": {"r": [1, "f:3"]}}) == report  # as it was written before


def test_rows_are_named_one_by_one_and_none_is_dropped_unsaid():
    report = Report()
    for line in range(1, 151):
        report.skip("r", "f", line, message=f"m{line}")
    assert report.lines() == ["150 rows skipped: r (first at f:1, then f:2 and 148 more: xattend check names them)"]
    counted, *each, rest = report.lines(each=True)
    assert (counted, each[99], len(each), rest) == ("150 rows skipped: r", "  f:100: m100", 100, "  and 50 more")


def test_nothing_to_see(tmp_path):
    from xattend.errors import UserError

    with pytest.raises(UserError, match="empty"):
        summary(tmp_path, [])
