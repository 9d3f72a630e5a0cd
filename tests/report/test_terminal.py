"""Drawings of attention, compared letter by letter; a column is as wide as its token in terminal cells."""

from __future__ import annotations

import numpy as np
import pytest
from rich.cells import cell_len

from xattend.report.matrix import label, matrix
from xattend.report.table import table
from xattend.report.terminal import compact, draw
from xattend.types import Trace


def trace(source: list[str], target: list[str], weights: list[list[float]]) -> Trace:
    return Trace(source, target, np.array(weights, dtype=np.float32)[:, None, :], (len(source),))


TOKYO = trace(
    ["T", "o", "k", "y", "o", "</s>"],
    ["ト", "ウ", "キョ", "ー", "</s>"],
    [
        [0.9, 0.1, 0.0, 0.0, 0.0, 0.0],
        [0.35, 0.65, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.5, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.25, 0.75, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    ],
)


def test_wide_letters_line_up() -> None:
    assert draw(TOKYO).split("\n") == [
        "     T o k y o </s>",
        "ト   █ ░",
        "ウ   ▒ ▓",
        "キョ     ▒ ▒",
        "ー         ░ ▓",
        "</s>           ████",
        "█ = 1.00",
    ]


def test_wide_source() -> None:
    back = trace(["東", "京", "</s>"], ["T", "o"], [[0.95, 0.05, 0.0], [0.0, 0.6, 0.4]])
    assert draw(back).split("\n") == [
        "  東 京 </s>",
        "T ██ ░░",
        "o    ▓▓ ▒▒▒▒",
        "█ = 0.95",
    ]
    for line in draw(back).split("\n")[1:-1]:
        assert cell_len(line) <= cell_len("  東 京 </s>")


def test_compact() -> None:
    back = trace(["東", "京"], ["T", "o", "k"], [[0.95, 0.05], [0.5, 0.5], [0.0, 1.0]])
    assert compact(back).split("\n") == ["  東京", "T ██░░", "o ▒▒▒▒", "k   ██"]


def test_ascii_only() -> None:
    drawn = draw(TOKYO, ascii=True)
    assert drawn.isascii()
    assert drawn.split("\n")[1] == r"\u30c8     # ."
    assert drawn.split("\n")[3].startswith(r"\u30ad\u3~ ")
    assert compact(TOKYO, ascii=True).isascii()


def test_heads_are_averaged_and_said() -> None:
    weights = np.zeros((1, 2, 2), dtype=np.float32)
    weights[0, 0, 0] = weights[0, 1, 1] = 1.0
    drawn = draw(Trace(["a", "b"], ["x"], weights, (2,)))
    assert drawn.split("\n") == ["  a b", "x █ █", "█ = 0.50, mean of 2 heads"]


def test_a_long_source_goes_on_below_and_the_rest_is_counted() -> None:
    positions = 100
    long = Trace([str(n % 10) for n in range(positions)], ["x"], np.eye(1, positions, 47, dtype=np.float32)[:, None], (positions,))
    lines = draw(long, width=41, panels=3).split("\n")
    assert max(map(cell_len, lines[:-1])) == 41
    assert lines[0] == "  " + " ".join("01234567890123456789")
    assert lines[1] == "x"
    assert lines[7] == "x" + " " * 15 + "█"  # column 47 is the 8th of the third panel
    assert lines[-1] == "40 of 100 source positions are not shown: they do not fit 3 panels"
    assert "not shown" not in draw(long, width=41, panels=5)


def test_long_tokens_are_cut_visibly() -> None:
    drawn = draw(trace(["Donaudampfschifffahrt"], ["東京東京東京東京"], [[1.0]]), widest_token=6)
    assert drawn.split("\n")[:2] == ["      Donau…", "東京… ██████"]


def test_tokens_cannot_rule_the_terminal() -> None:
    drawn = draw(trace(["\x1b[31m", "\u202e", "a\nb"], ["\u0301"], [[0.5, 0.2, 0.3]]))
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn
    assert len(drawn.split("\n")) == 3
    assert label("\u202e") == r"\u202e"


def test_nothing_to_draw() -> None:
    assert draw(Trace([], [], np.zeros((0, 1, 0), dtype=np.float32), (0,))).split("\n") == ["", "█ = 1.00"]
    pixels = Trace([], ["cat"], np.full((1, 1, 4), 0.25, dtype=np.float32), (2, 2))
    assert matrix(pixels).source == ["0", "1", "2", "3"]
    with pytest.raises(ValueError, match="1 steps and 4 positions, but 2 target"):
        draw(Trace([], ["a", "b"], pixels.weights_THS, (2, 2)))


def test_table() -> None:
    shown = table(["名前", "CER", "minutes"], [["東京", 0.1234, 3], ["b", None, 12]], decimals=3)
    assert shown.split("\n") == ["名前    CER  minutes", "--------------------", "東京  0.123        3", "b         -       12"]
    assert table(["a", "b"], []).split("\n") == ["a  b", "----"]
    with pytest.raises(ValueError, match="row 1 has 1 cells for 2 columns"):
        table(["a", "b"], [["x"]])
