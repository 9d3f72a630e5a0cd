"""Rows of any number through a model: sorted by length in windows, batched, answered in their own order.

>>> rows = [Row(text, None, "text", n) for n, text in enumerate(["ccc", "a", "bb"], 1)]
>>> list(stream(zip(rows, "xyz"), lambda of, more: [row.source + letter for row, letter in zip(of, more)]))
['cccx', 'ay', 'bbz']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

import torch

from xattend.data.readers.base import Row
from xattend.data.readers.lines import BadRow
from xattend.errors import UserError

WINDOW = 2048  # rows sorted by length together; what a stream of predictions holds in memory
BATCH_CHARACTERS = 16_384  # rows times the longest of them: 64 sentences or so
BATCH_ROWS = 256  # so that short rows with a large vocabulary stay within memory, too

Tick = Callable[[int], None]  # told of so many more rows that were answered
With = TypeVar("With")  # what goes with each row, such as phrases that its output must hold
Answered = TypeVar("Answered")


def stream(
    items: Iterable[tuple[Row, With]], answer: Callable[[list[Row], list[With]], list[Answered]], tick: Tick | None = None,
    extent: Callable[[str], int] = len,
) -> Iterator[Answered]:  # fmt: skip
    """Rows of like length, and what goes with each, to `answer` in batches; `extent` tells how long a source is."""
    items = iter(items)
    while window := list(islice(items, WINDOW)):
        lengths = [max(_extent(row, extent), len(row.target or "")) for row, _ in window]
        order = sorted(range(len(window)), key=lambda i: (lengths[i], i))
        answers: dict[int, Answered] = {}
        for places in _batches(order, lengths):
            with torch.inference_mode():
                found = answer([window[i][0] for i in places], [window[i][1] for i in places])
            answers.update(zip(places, found, strict=True))
            if tick is not None:
                tick(len(places))
        yield from (answers[i] for i in range(len(window)))


def _extent(row: Row, extent: Callable[[str], int]) -> int:
    """Of a source; what its header says is wrong is said of the first such row, before any is answered."""
    try:
        return extent(row.source)
    except BadRow as bad:
        raise UserError(bad.message, file=row.file, line=row.line) from None


def _batches(order: list[int], lengths: list[int]) -> Iterator[list[int]]:
    """Rows of like length, as many as the budget allows."""
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) == BATCH_ROWS or (len(batch) + 1) * lengths[i] > BATCH_CHARACTERS):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
