"""A layout: one row a line, both sides in a notation of its own. A subclass says how to take one line apart.

`columns` may turn the sides round or pick one of them, by the numbers 1 and 2 or the names 'source' and 'target'.
"""

from __future__ import annotations

from collections.abc import Iterator

from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow, lines

SIDES = ["source", "target"]


class Layout(Reader):
    """Lines of text, plain, .gz or .zip."""

    def parse(self, line: str) -> tuple[str, str] | None:
        """Both sides; None for a line that is no row (a comment). Raises BadRow."""
        raise NotImplementedError

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        source, target = self._sides()
        for number, found in lines(self.file):
            if isinstance(found, BadRow):
                yield number, found
                continue
            try:
                parts = self.parse(found)
            except BadRow as bad:
                yield number, bad
                continue
            if parts is not None:
                yield number, (parts[source], None if target is None else parts[target])

    def _sides(self) -> tuple[int, int | None]:
        """Which part is the source, and which the target if one is asked for."""
        wanted = self.columns is None or self.needs_target or "target" in self.columns
        source = SIDES.index(self.column("source", SIDES))
        return source, SIDES.index(self.column("target", SIDES)) if wanted else None
