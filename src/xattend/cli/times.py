"""When each word is said: what `xattend align` writes for a model that reads sounds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from xattend.cli.progress import progress

if TYPE_CHECKING:
    from xattend.data.readers.base import Row
    from xattend.model import Model


def write(model: Model, rows: Iterable[Row], *, words: bool, as_json: bool, total: int | None) -> None:
    """A line a word: the row's number, when it begins and ends in seconds, the word. As JSON a line a row."""
    from xattend.times import time_rows
    from xattend.types import UNK

    unknown = 0

    def counted() -> Iterator[Row]:
        nonlocal unknown
        for row in rows:
            unknown += model.target.encode(row.target or "").count(UNK)
            yield row

    with progress("aligning", total) as tick:
        for number, found in enumerate(time_rows(model, counted(), words=words, tick=tick), 1):
            if as_json:
                listed = [{"start": round(one.start, 3), "end": round(one.end, 3), "text": one.text} for one in found]
                click.echo(json.dumps({"row": number, "words": listed}, ensure_ascii=False))
                continue
            for one in found:
                click.echo(f"{number}\t{one.start:.3f}\t{one.end:.3f}\t{one.text}")
    if unknown:
        click.echo(f"xattend: {unknown} target units are unknown to the model: their times are those of <unk>", err=True)
