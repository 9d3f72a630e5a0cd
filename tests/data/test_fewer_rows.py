"""`data.rows`: training on the first rows alone, which are counted and said; held-out rows stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.test_more import get, sources
from xattend.errors import UserError


def test_the_first_training_rows_are_kept_and_the_others_counted(tmp_path: Path) -> None:
    shares = 'train = "rows.tsv"\nsplit = { validation = 0.3 }'
    whole, few = get(tmp_path, shares), get(tmp_path, f"{shares}\nrows = 10")
    assert sources(few, "train") == sources(whole, "train")[:10]
    assert sources(few, "validation") == sources(whole, "validation")
    assert f"{len(whole.splits['train']) - 10} train rows left out: rows = 10" in few.report.lines()
    assert few.fingerprint != whole.fingerprint


def test_no_more_than_there_are(tmp_path: Path) -> None:
    assert get(tmp_path, 'train = "rows.tsv"\nrows = 50').report.lines() == get(tmp_path, 'train = "rows.tsv"').report.lines()


def test_a_task_has_its_own(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'rows' goes with 'train'"):
        get(tmp_path, 'task = "copy"\nrows = 5')
