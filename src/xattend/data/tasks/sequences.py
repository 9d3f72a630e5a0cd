"""Sequences of symbols, drawn at random and all different: what copy, reverse and sort are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Annotated, Any, ClassVar

import pydantic

from xattend.data.tasks.base import Task, split_sizes
from xattend.errors import UserError

Symbols = Annotated[int, pydantic.Field(ge=2, le=1000), "how many different symbols there are"]
Length = Annotated[int, pydantic.Field(ge=1, le=1000), "symbols of a sequence"]
Rows = Annotated[int, pydantic.Field(ge=1), "rows to train on; a tenth as many (10 to 1000) each to validate and test"]
Seed = Annotated[int, "of the random draw"]


def name(number: int) -> str:
    """a, b, ... z, aa, ab, ...

    >>> name(0), name(25), name(26), name(52)
    ('a', 'z', 'aa', 'ba')
    """
    return (name(number // 26 - 1) if number >= 26 else "") + chr(ord("a") + number % 26)


class Sequences(Task):
    """`answer` turns the drawn sequence into the target, both as lists of symbol numbers."""

    source: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}

    def __init__(
        self, answer: Callable[[list[int]], list[int]], symbols: int, min_length: int, max_length: int, rows: int, seed: int
    ) -> None:
        if min_length > max_length:
            raise UserError(f"min_length = {min_length} is more than max_length = {max_length}")
        self.answer = answer
        self.symbols = symbols
        self.lengths = (min_length, max_length)
        self.seed = seed
        self.sizes = split_sizes(rows)
        there_are, wanted = sum(symbols**length for length in range(min_length, max_length + 1)), sum(self.sizes.values())
        if there_are < 2 * wanted:  # drawing different ones would take forever
            raise UserError(
                f"only {there_are} different sequences for {wanted} rows: set fewer 'rows', more 'symbols' or a larger 'max_length'"
            )

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        draw = Random(self.seed)
        seen: set[str] = set()
        found: dict[str, Iterator[tuple[str, str]]] = {}
        for split, size in self.sizes.items():
            rows: list[tuple[str, str]] = []
            while len(rows) < size:
                numbers = [draw.randrange(self.symbols) for _ in range(draw.randint(*self.lengths))]
                source = " ".join(map(name, numbers))
                if source not in seen:
                    seen.add(source)
                    rows.append((source, " ".join(map(name, self.answer(numbers)))))
            found[split] = iter(rows)
        return found
