"""Noisy runs of symbols, each to be named once: what online alignment is about, in small.

    a a d a c c c b c a a    ->  a c a

A run is `shortest` to `longest` symbols of one kind, some of them exchanged for any other; two runs in a row are of different kinds. When
a run is over can only be seen when the next one has begun.

>>> next(Segments(rows=20).splits()["train"])
('e e e e f f f g d c c c c c c a a a a a a', 'e f c a')
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, ClassVar

import pydantic

from xattend.data.tasks.base import Task, split_sizes
from xattend.data.tasks.sequences import Rows, Seed, name
from xattend.errors import UserError
from xattend.registry import register

Count = Annotated[int, pydantic.Field(ge=1, le=100)]


@register("task", "segments")
class Segments(Task):
    """Rows such as `a a d a c c` -> `a c`."""

    source: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}

    def __init__(
        self, *,
        symbols: Annotated[int, pydantic.Field(ge=2, le=100), "how many different symbols there are"] = 8,
        runs: Annotated[Count, "runs of a row at most; 2 at least"] = 5,
        shortest: Annotated[Count, "symbols of a run at least"] = 3,
        longest: Annotated[Count, "symbols of a run at most"] = 7,
        noise: Annotated[float, pydantic.Field(ge=0, le=0.5), "share of symbols that are any other"] = 0.15,
        rows: Rows = 4_000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        if shortest > longest:
            raise UserError(f"shortest = {shortest} is more than longest = {longest}")
        self.symbols, self.runs, self.lengths, self.noise = symbols, max(2, runs), (shortest, longest), noise
        self.seed, self.sizes = seed, split_sizes(rows)

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        draw, seen = Random(f"{self.seed} segments"), set[str]()
        found: dict[str, Iterator[tuple[str, str]]] = {}
        for split, size in self.sizes.items():
            rows: list[tuple[str, str]] = []
            misses = 0
            while len(rows) < size:
                row = self._row(draw)
                misses = misses + 1 if row[0] in seen else 0
                if misses > 1000:
                    raise UserError("there are not so many different rows: set fewer 'rows', more 'symbols' or a larger 'longest'")
                if not misses:
                    seen.add(row[0])
                    rows.append(row)
            found[split] = iter(rows)
        return found

    def _row(self, draw: Random) -> tuple[str, str]:
        source: list[str] = []
        kinds: list[int] = []
        for _ in range(draw.randint(2, self.runs)):
            kinds.append(draw.choice([kind for kind in range(self.symbols) if not kinds or kind != kinds[-1]]))
            for _ in range(draw.randint(*self.lengths)):
                source.append(name(draw.randrange(self.symbols) if draw.random() < self.noise else kinds[-1]))
        return " ".join(source), " ".join(map(name, kinds))
