"""The pointing game of a model on rows of a task that knows what words speak of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from xattend.attention import Additive
from xattend.cli.scores import pointing
from xattend.data.fields.text import Text
from xattend.data.readers.base import Row
from xattend.decoders.hops import Hops
from xattend.types import Space

SCENE = "questions:red circle 16 16 8;blue square 48 48 8"  # of 64 x 64: top left, bottom right
ROWS = [
    Row(f"{SCENE}|what shape is the red thing", "circle", "f", 1),
    Row(f"{SCENE}|what shape is nearest to the red thing", "square", "f", 2),
    Row(f"{SCENE}|how many circles are there", "1", "f", 3),  # speaks of no one thing
    Row("photo.png|what is this", "circle", "f", 4),  # drawn by no task
    Row(f"{SCENE}|what shape is the green thing", "circle", "f", 5),  # no question of the task
]


def model(cells: list[int], grid: tuple[int, ...] = (2, 2), looks: bool = True, unit: Any = "word") -> Any:
    """Looks at the given cells, one a row."""
    target = Text(unit=unit)
    target.fit([row.target or "" for row in ROWS])
    return SimpleNamespace(
        source=SimpleNamespace(media=True), target=target, others=[], looks=looks,
        look_rows=lambda rows: iter([(np.eye(4)[[cell]], grid) for _, cell in zip(rows, cells, strict=True)]),
    )  # fmt: skip


def test_rows_with_boxes_count() -> None:
    assert pointing(model([0, 3]), ROWS) == 1.0
    assert pointing(model([0, 1]), ROWS) == 0.5
    assert pointing(model([3, 0]), ROWS) == 0.0


def test_there_is_none_where_there_is_nothing_to_point_at() -> None:
    assert pointing(model([], looks=False), ROWS) is None
    assert pointing(model([]), ROWS[2:]) is None
    assert pointing(model([0, 0], grid=(4,)), ROWS) is None
    assert pointing(model([], unit="character"), ROWS) is None  # boxes are of words


def test_of_several_hops_the_last_counts() -> None:
    decoder = Hops(Space(vocabulary=9), 6, lambda query: Additive(query, 6), size=8, hops=2)
    weights_BTHS = torch.tensor([[[[0.9, 0.1], [0.2, 0.8]]]])
    assert decoder.look(weights_BTHS).tolist() == [[pytest.approx([0.2, 0.8])]]
