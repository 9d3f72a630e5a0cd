"""Symmetrisation on drawn matrices: rows are source words, columns target words; / is forward alone, \\ backward alone, X both."""

from __future__ import annotations

import pytest

from xattend.alignment.links import Links
from xattend.alignment.symmetrise import Heuristic, symmetrise


def drawn(*rows: str) -> tuple[Links, Links]:
    places = [(s, t, mark) for s, row in enumerate(rows) for t, mark in enumerate(row)]
    return {(s, t) for s, t, mark in places if mark in "/X"}, {(s, t) for s, t, mark in places if mark in "\\X"}


def kept(*rows: str) -> Links:
    return {(s, t) for s, row in enumerate(rows) for t, mark in enumerate(row) if mark == "#"}


DRAWING = drawn("X/...",
                ".\\...",
                "...X.",
                "\\...\\")  # fmt: skip


@pytest.mark.parametrize(("heuristic", "wanted"), [
    ("intersection", kept("#....", ".....", "...#.", ".....")),
    ("union", kept("##...", ".#...", "...#.", "#...#")),
    # grow: 0-1 (beside 0-0, target 1 free), 1-1 (beside 0-1, source 1 free), 3-4 (diagonal to 2-3); 3-0 has no neighbour, and
    # at last both of its words have links, so it stays out
    ("grow-diag-final-and", kept("##...", ".#...", "...#.", "....#")),
])  # fmt: skip
def test_each(heuristic: Heuristic, wanted: Links) -> None:
    assert symmetrise(*DRAWING, heuristic) == wanted


def test_a_neighbour_whose_words_both_have_links_stays_out() -> None:
    ways = drawn("X/", ".X")  # 0-1 lies between two sure links
    assert symmetrise(*ways, "grow-diag-final-and") == kept("#.", ".#")


def test_final_adds_far_links_of_either_way_if_both_words_are_free() -> None:
    ways = drawn("X....",
                 "..../",
                 "..\\..",
                 "..\\..",
                 "/....")  # fmt: skip
    # 1-4 from the forward way, 2-2 from the backward way; then 3-2 finds target 2 taken, 4-0 target 0
    assert symmetrise(*ways, "grow-diag-final-and") == kept("#....", "....#", "..#..", ".....", ".....")


def test_growth_goes_back_to_what_it_passed() -> None:
    # 1-1 is reached from 2-2 only, and 0-0 from 1-1: both lie before the link that the growth starts from
    ways = drawn("/..", ".\\.", "..X")
    assert symmetrise(*ways, "grow-diag-final-and") == kept("#..", ".#.", "..#")


def test_nothing() -> None:
    for heuristic in ("intersection", "union", "grow-diag-final-and"):
        assert symmetrise(set(), set(), heuristic) == set()
    assert symmetrise({(0, 0)}, set(), "grow-diag-final-and") == {(0, 0)}


def test_the_ways_themselves_stay_as_they_are() -> None:
    forward, backward = drawn("X/", "..")
    symmetrise(forward, backward, "grow-diag-final-and")
    assert (forward, backward) == drawn("X/", "..")
