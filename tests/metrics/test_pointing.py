"""The pointing game on grids small enough to see."""

from __future__ import annotations

import numpy as np
import pytest

from xattend.errors import UserError
from xattend.metrics.pointing import Box, pointing_game, points


def looking_at(*cells: int, of: int) -> np.ndarray:  # type: ignore[type-arg]
    return np.eye(of)[list(cells)] * 0.5 + 0.1


def test_hits_are_counted_where_there_is_a_box() -> None:
    # a grid of 2 rows and 3 columns; cell 5 is the right one of the lower row
    right_below: Box = (0.7, 0.5, 1.0, 1.0)
    assert points(looking_at(5, 5, 2, 4, of=6), [right_below, None, right_below, right_below], (2, 3)) == (1, 3)


def test_rows_and_columns_are_not_exchanged() -> None:
    # 4 columns in one row: the box covers the second; on a grid of 4 rows the same box covers a bit of all of them
    box: Box = (0.25, 0.0, 0.5, 1.0)
    assert [points(looking_at(cell, of=4), [box], (1, 4)).hits for cell in range(4)] == [0, 1, 0, 0]
    assert [points(looking_at(cell, of=4), [(0.0, 0.25, 1.0, 0.5)], (4, 1)).hits for cell in range(4)] == [0, 1, 0, 0]


def test_a_box_too_small_for_a_centre_belongs_to_the_cell_it_lies_in() -> None:
    box: Box = (0.55, 0.55, 0.6, 0.6)  # in cell 3 of 2 x 2, away from its centre at .75
    assert [points(looking_at(cell, of=4), [box], (2, 2)).hits for cell in range(4)] == [0, 0, 0, 1]


def test_a_large_box_holds_every_cell_whose_centre_it_covers() -> None:
    box: Box = (0.0, 0.0, 0.6, 1.0)
    assert [points(looking_at(cell, of=4), [box], (2, 2)).hits for cell in range(4)] == [1, 0, 1, 0]


def test_the_share_is_of_words_not_of_captions() -> None:
    left: Box = (0.0, 0.0, 0.5, 1.0)
    captions = [(looking_at(0, of=2), [left]), (looking_at(1, 1, 1, of=2), [left, left, left])]
    assert pointing_game(captions, (1, 2)) == 0.25  # type: ignore[arg-type]


def test_the_step_of_the_end_mark_needs_no_box() -> None:
    assert points(looking_at(0, 1, of=2), [(0.0, 0.0, 0.5, 1.0)], (1, 2)) == (1, 1)


def test_mistakes_are_said() -> None:
    with pytest.raises(UserError, match="do not fit"):
        points(looking_at(0, of=4), [None], (2, 3))
    with pytest.raises(UserError, match="do not fit"):
        points(looking_at(0, of=4), [None, None], (2, 2))
    with pytest.raises(UserError, match="no word has a box"):
        pointing_game([(looking_at(0, of=4), [None])], (2, 2))
