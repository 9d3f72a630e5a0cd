"""`xattend score`: how likely a model finds given targets."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import click

from xattend.cli import options


@click.command()
@options.run
@click.option("--file", required=True, metavar="F", help="Rows with source and target (a language model reads one side).")
@options.columns
@options.together
@options.int8
@options.as_json
@options.plugin
def command(run: Path, file: str, columns: dict[str, int | str] | None, others: tuple[Path, ...], int8: bool, as_json: bool) -> None:
    """Log-probability of given targets, a line a row: sum of the log-probabilities, tokens (the end mark included), perplexity.

    With --json each line is an object that has the tokens and their log-probabilities, too. With --with RUN they are those of all runs together.
    """
    from xattend.cli.progress import lines_of, progress
    from xattend.data.readers.base import Row, open_reader
    from xattend.data.wanted import one_side
    from xattend.metrics.likelihood import perplexity
    from xattend.types import UNK

    model = options.load(run, others, (), beam=None, int8=int8).here()
    rows = open_reader(file, columns, needs_target=model.source is not None)
    unknown = impossible = 0

    def counted() -> Iterator[Row]:
        nonlocal unknown
        for row in rows:
            unknown += model.target.encode(one_side(row)).count(UNK)
            yield row

    with progress("scoring", lines_of(file)) as tick:
        for found in model.score_rows(counted(), tick=tick):
            count = len(found.tokens)
            spread = perplexity(-found.logprob, count)
            impossible += math.isinf(found.logprob)
            if as_json:
                line = {
                    "logprob": _finite(found.logprob), "count": count, "perplexity": _finite(spread),
                    "tokens": found.tokens, "token_logprobs": [_finite(one) for one in found.token_logprobs],
                }  # fmt: skip
                click.echo(json.dumps(line, ensure_ascii=False))
            else:
                click.echo(f"{found.logprob:.6f}\t{count}\t{spread:.6g}")
    if impossible:
        click.echo(f"xattend: {impossible} targets cannot be written by the model at all (-inf; null in JSON): more labels than frames?", err=True)
    if unknown:
        click.echo(f"xattend: {unknown} target units are unknown to the model: it scores <unk> in their place", err=True)


def _finite(number: float) -> float | None:
    """JSON has no word for infinity."""
    return number if math.isfinite(number) else None
