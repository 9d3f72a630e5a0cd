"""Tab-separated text: one row a line, source and target in columns 1 and 2 unless `columns` says otherwise.

Columns given by name mean that the first line is a header. A file of one column has no targets.
"""

from __future__ import annotations

from collections.abc import Iterator

from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow, lines
from xattend.errors import UserError
from xattend.registry import register


@register("reader", "tsv")
class Tsv(Reader):
    """.tsv and .txt, plain or .gz."""

    suffixes = (".tsv", ".txt", ".tab")

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        named = any(isinstance(column, str) for column in (self.columns or {}).values())
        width: int | None = None
        source, target = 0, None
        for number, found in lines(self.file):
            if isinstance(found, BadRow):
                if named and width is None:
                    raise UserError(f"the header: {found.message}", file=self.file, line=number)
                yield number, found
                continue
            cells = found.split("\t")
            if width is None:
                width = len(cells)
                source, target = self._sides(cells, number)
                if named:
                    continue
            if len(cells) != width:
                said = "an empty line" if found == "" else f"{len(cells)} column{'s' * (len(cells) != 1)}"
                yield number, BadRow("wrong number of columns", f"{said}, expected {width} columns")
                continue
            yield number, (cells[source], None if target is None else cells[target])

    def _sides(self, cells: list[str], line: int) -> tuple[int, int | None]:
        """Which cells hold the two sides, decided by the first line and `columns`."""
        width = len(cells)
        if self.columns is None:
            if width > 2:
                said = f"{width} columns, expected 2: say which with data.columns = {{ source = 1, target = 2 }}"
                raise UserError(said, file=self.file, line=line)
            if width == 1 and self.needs_target:
                said = "1 column, expected 2: put a tab between source and target"
                raise UserError(said, file=self.file, line=line)
            return 0, 1 if width == 2 else None
        wanted = {"source": 1, **({"target": 2} if self.needs_target else {}), **self.columns}
        found: dict[str, int] = {}
        for side, column in wanted.items():
            if isinstance(column, str):
                found[side] = cells.index(self.column(side, cells, line))
            elif 1 <= column <= width:
                found[side] = column - 1
            else:
                raise UserError(f"data.columns asks for column {column} of {width}", file=self.file, line=line)
        return found["source"], found.get("target")
