"""Training rows of an embedded task beside those of files: `data.more`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xattend.data.corpus import Data, prepare
from xattend.errors import UserError
from xattend.recipe import parse

COPY = '{ kind = "copy", rows = 30, symbols = 4, max_length = 4 }'


def get(folder: Path, text: str) -> Data:
    (folder / "rows.tsv").write_text("".join(f"x{n}\ty{n}\n" for n in range(40)))
    return prepare(parse(f"[data]\n{text}", "mine.toml").resolve(), folder / "cache", root=folder)


def sources(found: Data, split: str) -> list[Any]:
    return [found.splits[split].texts(row)[0] for row in range(len(found.splits[split]))]


def test_its_training_rows_are_added_to_train_and_to_nothing_else(tmp_path: Path) -> None:
    alone = get(tmp_path, 'train = "rows.tsv"\nsplit = { validation = 0.3 }')
    both = get(tmp_path, f'train = "rows.tsv"\nsplit = {{ validation = 0.3 }}\nmore = {COPY}')
    assert sources(both, "validation") == sources(alone, "validation")
    assert sources(both, "train")[: len(alone.splits["train"])] == sources(alone, "train")
    assert len(both.splits["train"]) == len(alone.splits["train"]) + 30
    assert both.fingerprint != alone.fingerprint
    assert both.target.encode("a") != [1]  # its letters are in the vocabulary


def test_other_rows_are_other_data(tmp_path: Path) -> None:
    one, other = (get(tmp_path, f'train = "rows.tsv"\nmore = {COPY.replace("30", count)}') for count in ("30", "31"))
    assert one.fingerprint != other.fingerprint


def test_mistakes_are_placed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="task 'copy' has no setting 'row'"):
        get(tmp_path, 'train = "rows.tsv"\nmore = { kind = "copy", row = 3 }')
    with pytest.raises(UserError, match="'more' goes with 'train'"):
        get(tmp_path, f'task = "copy"\nmore = {COPY}')
