"""The target is the source backwards: attention must walk from the end to the start.

>>> source, target = next(Reverse(rows=100).splits()["train"])
>>> len(source.split()) == len(target.split())
True
"""

from __future__ import annotations

from xattend.data.tasks.sequences import Length, Rows, Seed, Sequences, Symbols
from xattend.registry import register


@register("task", "reverse")
class Reverse(Sequences):
    """Rows such as `c a d` -> `d a c`."""

    def __init__(
        self, *, symbols: Symbols = 26, min_length: Length = 3, max_length: Length = 10, rows: Rows = 10_000, seed: Seed = 1
    ) -> None:
        super().__init__(lambda numbers: numbers[::-1], symbols, min_length, max_length, rows, seed)
