"""An attention matrix for the terminal: a column a source token, a row a target token, darker = looked at more.

Columns line up for wide (East Asian) letters, too. A source that does not fit the width goes on in further panels;
what does not fit those either is counted in a note. `ascii=True` is for terminals that do not speak UTF-8.

>>> trace = Trace(list("abc"), list("xy"), np.array([[[0.9, 0.1, 0.0]], [[0.0, 0.4, 0.6]]], dtype=np.float32), (3,))
>>> print(draw(trace, ascii=True).replace(" ", "~"))  # doctest cannot see spaces
~~a~b~c
x~#~.
y~~~+~*
#~=~0.90

Shape suffixes: T target, S source.
"""

from __future__ import annotations

import numpy as np
from rich.cells import cell_len, set_cell_size

from xattend.report.matrix import Matrix, matrix
from xattend.types import Trace

SHADES, ASCII_SHADES = " ░▒▓█", " .+*#"
STEPS = (0.05, 0.3, 0.55, 0.8)  # shares of the largest weight from which on each shade is used


def shades(matrix: Matrix, *, ascii: bool) -> list[list[str]]:
    """A shade a cell, relative to the largest weight, so that flat attention is seen as well."""
    level_TS = np.digitize(matrix.weights_TS / matrix.full, STEPS)
    ramp = ASCII_SHADES if ascii else SHADES
    return [[ramp[level] for level in row] for row in level_TS.tolist()]


def draw(trace: Trace, *, width: int = 80, ascii: bool = False, widest_token: int = 10, panels: int = 4) -> str:
    """The matrix as lines of text, none wider than `width` cells; at most so many panels one below the other."""
    drawn = matrix(trace, ascii=ascii)
    cells = shades(drawn, ascii=ascii)
    source = [_clip(token, widest_token, ascii) for token in drawn.source]
    target = [_clip(token, widest_token, ascii) for token in drawn.target]
    margin = max(map(cell_len, target), default=0)
    lines: list[str] = []
    first = 0
    for panel in range(panels):
        if first >= len(source) and panel:
            break
        after, used = first, margin
        while after < len(source) and (after == first or used + 1 + cell_len(source[after]) <= width):
            used += 1 + cell_len(source[after])
            after += 1
        lines += [""] * bool(panel)
        lines += _panel(source[first:after], target, [row[first:after] for row in cells], margin)
        first = after
    lines.append(f"{(ASCII_SHADES if ascii else SHADES)[-1]} = {drawn.full:.2f}" + _heads(drawn))
    if first < len(source):
        left = len(source) - first
        lines.append(f"{left} of {len(source)} source positions are not shown: they do not fit {panels} panels")
    return "\n".join(lines)


def compact(trace: Trace, *, ascii: bool = False) -> str:
    """For one name: a line of source letters, then a line a target letter; no gaps, no legend, as wide as it needs."""
    drawn = matrix(trace, ascii=ascii)
    margin = max(map(cell_len, drawn.target), default=0)
    return "\n".join(_panel(drawn.source, drawn.target, shades(drawn, ascii=ascii), margin, gap=""))


def _panel(source: list[str], target: list[str], cells: list[list[str]], margin: int, gap: str = " ") -> list[str]:
    lines = [" " * margin + " " * (not gap) + "".join(gap + token for token in source)]
    for token, row in zip(target, cells):
        blocks = "".join(gap + shade * cell_len(word) for word, shade in zip(source, row))
        lines.append(set_cell_size(token, margin) + " " * (not gap) + blocks)
    return [line.rstrip() for line in lines]


def _clip(token: str, widest: int, ascii: bool) -> str:
    """A long token cut, with a sign that it was."""
    if cell_len(token) <= widest:
        return token
    return set_cell_size(token, widest - 1).rstrip() + ("~" if ascii else "…")


def _heads(drawn: Matrix) -> str:
    return f", mean of {drawn.heads} heads" if drawn.heads > 1 else ""
