"""`xattend align`: which source word each word of a given target looked at."""

from __future__ import annotations

import json
from pathlib import Path

import click

from xattend.cli import options


@click.command()
@options.run
@click.option("--file", required=True, metavar="F", help="Rows with source and target.")
@options.columns
@click.option(
    "--format", "form", type=click.Choice(["pharaoh", "json"]), default="pharaoh", show_default=True,
    help="Pairs source-target counted from 0, or objects with the weights.",
)  # fmt: skip
@click.option("--words/--units", default=True, show_default=True, help="Put subwords together into words, or keep the model's units.")
@options.plugin
def command(run: Path, file: str, columns: dict[str, int | str] | None, form: str, words: bool) -> None:
    """Align given targets with their sources by attention, a line a row.

    Each target word is paired with the source word it looked at most; the end marks take no part.

    \b
    xattend align runs/names --file names.tsv
    0-0 1-1 2-1
    """
    import numpy as np

    from xattend.cli.progress import lines_of, progress
    from xattend.data.readers.base import open_reader
    from xattend.metrics.alignment import format_pharaoh, hard_alignment
    from xattend.model import Model

    model = Model.load(run)
    model.must_look("aligning")
    with progress("aligning", lines_of(file)) as tick:
        for found in model.align_rows(open_reader(file, columns), words=words, tick=tick):
            links = hard_alignment(found.weights_TS)
            if form == "pharaoh":
                click.echo(format_pharaoh(links))
            else:
                weights = np.round(found.weights_TS.astype(np.float64), 6).tolist()
                line = {"source": found.source, "target": found.target, "pairs": sorted(links), "weights": weights}
                click.echo(json.dumps(line, ensure_ascii=False))
