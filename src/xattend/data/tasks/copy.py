"""The target is the source: attention need only walk along.

>>> source, target = next(Copy(rows=100).splits()["train"])
>>> len(source.split()) == len(target.split())
True
"""

from __future__ import annotations

from xattend.data.tasks.sequences import Length, Rows, Seed, Sequences, Symbols
from xattend.registry import register


@register("task", "copy")
class Copy(Sequences):
    """Rows such as `c a d` -> `c a d`."""

    def __init__(
        self, *, symbols: Symbols = 26, min_length: Length = 3, max_length: Length = 10, rows: Rows = 10_000, seed: Seed = 1
    ) -> None:
        super().__init__(list, symbols, min_length, max_length, rows, seed)
