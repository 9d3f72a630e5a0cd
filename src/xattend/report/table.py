"""A table as aligned text: numbers to the right, words to the left, wide letters counted as wide, nothing cut.

>>> print(table(["attention", "BLEU"], [["additive", 31.25], ["none", None]]))
attention   BLEU
----------------
additive   31.25
none           -
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, decimals: int = 2) -> str:
    """Rows of text and numbers; None is shown as a dash. A column is right-aligned if it holds numbers alone."""
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise ValueError(f"row {number} has {len(row)} cells for {len(columns)} columns")
    lines = [list(columns), *[[_cell(value, decimals) for value in row] for row in rows]]
    for place in range(len(columns)):
        values = [row[place] for row in rows if row[place] is not None]
        right = bool(values) and all(isinstance(value, (int, float)) for value in values)
        width = max(cell_len(line[place]) for line in lines)
        for line in lines:
            gap = " " * (width - cell_len(line[place]))
            line[place] = gap + line[place] if right else line[place] + gap
    head, *body = ["  ".join(line) for line in lines]
    return "\n".join(line.rstrip() for line in [head, "-" * cell_len(head), *body])


def _cell(value: object, decimals: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{decimals}f}" if isinstance(value, float) else str(value)
