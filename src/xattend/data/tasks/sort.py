"""The target is the source in the order of the alphabet: attention must search, not walk.

>>> source, target = next(Sort(rows=100).splits()["train"])
>>> len(source.split()) == len(target.split())
True
"""

from __future__ import annotations

from xattend.data.tasks.sequences import Length, Rows, Seed, Sequences, Symbols
from xattend.registry import register


@register("task", "sort")
class Sort(Sequences):
    """Rows such as `c a d` -> `a c d`."""

    def __init__(
        self, *, symbols: Symbols = 26, min_length: Length = 3, max_length: Length = 10, rows: Rows = 10_000, seed: Seed = 1
    ) -> None:
        super().__init__(sorted, symbols, min_length, max_length, rows, seed)
