"""docs/results.md is what results/*.json say."""

from __future__ import annotations

from pathlib import Path

import pytest

from xattend.errors import UserError
from xattend.reproductions.page import BEGIN, END, page, records, write

ROOT = Path(__file__).parents[2]
RECORD = {
    "name": "mine", "system": "a model", "paper": "somebody", "metric": "BLEU", "published": 30.0, "floor": 29.5, "ours": 28.25, "reached": False,
    "seeds": [1, 2], "seconds": 120.0, "command": "xattend reproduce mine", "commit": "0123456789", "machine": "x86", "changed": [], "differs": "all",
    "figures": {"bleu": {"a": 1.0, "b": 2.5}, "paper_bleu": {"a": 3.0, "b": 4.0}, "gain": 1.5, "table": {"x": {"p": 1.0}, "y": {"p": 2.0}}}, "trainings": {},
}  # fmt: skip


def test_the_page_is_up_to_date() -> None:
    text = (ROOT / "docs" / "results.md").read_text("utf-8")
    assert text.split(BEGIN + "\n")[1].split(END)[0] == page(records(ROOT / "results")), "run `make results`"


def test_a_missed_floor_is_said() -> None:
    lines = page([RECORD]).splitlines()
    assert lines[2] == "| [mine](#mine) | BLEU | 30 | 29.5 (missed) | **28.25** | 1, 2 | 2 |"
    assert "| bleu | 1 | 2.5 |" in lines
    assert lines.index("| paper bleu | 3 | 4 |") == lines.index("| bleu | 1 | 2.5 |") + 1  # side by side
    assert "- gain: 1.5" in lines
    assert "| y | 2 |" in lines
    assert "Not the reproduction" in page([{**RECORD, "changed": ["a.b=c"]}])


def test_marks_must_be_there(tmp_path: Path) -> None:
    file = tmp_path / "results.md"
    file.write_text("no marks\n")
    with pytest.raises(UserError, match="marks"):
        write(tmp_path, file)
