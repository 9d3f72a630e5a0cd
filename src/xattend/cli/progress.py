"""How far a long command is, on stderr, if that is a terminal: what is written to stdout stays as it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Gives a function to be told of so many more rows that are done."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda rows: None
        return
    import rich.progress as bars

    parts = (
        bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
    )  # fmt: skip
    with bars.Progress(*parts, console=console, transient=True, refresh_per_second=4) as bar:
        task = bar.add_task(what, total=total)
        yield lambda rows: bar.advance(task, rows)


def lines_of(file: str) -> int | None:
    """How many rows a file of text has, to know how much is left; None if nobody watches or it cannot be known cheaply."""
    path = Path(file)
    if not sys.stderr.isatty() or path.suffix in (".gz", ".zip", ".parquet") or not path.is_file():
        return None
    with path.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
