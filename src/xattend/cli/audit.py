"""`xattend audit`: does beam search find what the model finds likeliest?

Two things may go wrong when a model writes: the search misses the likeliest output (a search error), or the likeliest output
is not a good one (a model error). Stahlberg and Byrne (2019) told them apart by exact search and found translation models whose
likeliest output is empty for half of all sentences, which only search errors hide. This decodes each row both ways, without
a length penalty, so that both look for the same thing: the largest log P(y | x).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend.cli import options
from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.answer import Answer

BEAMS = (1, 2, 5, 10)
EQUAL = 1e-4  # log-probabilities closer than this are the same, computed in batches of other sizes


@click.command()
@options.run
@click.option("--file", required=True, metavar="F", help="One input a line (- for stdin), as in `xattend predict`.")
@options.columns
@click.option(
    "--beam", "beams", type=click.IntRange(min=1), multiple=True, default=BEAMS, metavar="K",
    help="Beam size; repeat for more. Default: 1, 2, 5, 10.",
)  # fmt: skip
@click.option(
    "--budget", type=click.IntRange(min=1), default=1000, show_default=True, metavar="N", help="Decoder steps a row for exact search."
)
@options.as_json
@options.plugin
def command(
    run: Path, file: str, columns: dict[str, int | str] | None, beams: tuple[int, ...], budget: int, as_json: bool
) -> None:
    """Compare beam search with exact search, row by row.

    A beam missed if exact search found a likelier output. Where exact search gave up, its budget spent, it may have found
    one too, without proof that it is the likeliest. The gap is the mean of log P(exact) - log P(beam) over the rows with
    proof in which the beam finished. Limits on length are the recipe's. Exact search is slow: a few hundred rows will do.

    \b
    xattend audit runs/names --file names.txt --beam 1 --beam 10
    """
    from xattend.cli.predict import answers, lines_to_read
    from xattend.cli.progress import progress
    from xattend.model import Model
    from xattend.report.table import table

    model = Model.load(run).here()
    if model.source is None:
        raise UserError("an audit compares outputs for a source, and a language model reads none", file=run)
    asked = [(row, ()) for row in lines_to_read(file, columns)]

    def decoded(what: str, **settings: Any) -> list[Answer]:
        with progress(what, len(asked)) as tick:
            return [one for one in answers(model, asked, model.search(nbest=1, **settings), tick=tick) if one is not None]

    exact = decoded("exact search", kind="exact", budget=budget)
    if not exact:
        raise UserError("every input is empty", file=file)
    plain = {"penalty": "none", "coverage_penalty": 0.0}
    by_beam = [_compared(exact, decoded(f"beam {beam}", kind="beam", beam=beam, **plain), beam) for beam in dict.fromkeys(beams)]
    rows, gave_up = len(exact), sum(not _proven(one) for one in exact)
    mode_empty = sum(_proven(one) and not one.tokens for one in exact)
    if as_json:
        counts = {"rows": rows, "empty_inputs": len(asked) - rows, "budget": budget, "gave_up": gave_up, "mode_empty": mode_empty}
        click.echo(json.dumps({"run": str(run), "file": file, **counts, "beams": by_beam}, ensure_ascii=False))
        return
    click.echo(table(["beam", "missed", "share", "gap", "empty", "cut"], [list(one.values()) for one in by_beam], decimals=4))
    click.echo(f"{rows} rows; exact search gave up on {gave_up} of them after {budget} steps (--budget)")
    click.echo(f"the likeliest output is empty for {mode_empty} of the {rows - gave_up} others")
    if len(asked) > rows:
        click.echo(f"{len(asked) - rows} inputs are empty and were left out")


def _compared(exact: Sequence[Answer], found: Sequence[Answer], beam: int) -> dict[str, Any]:
    """What one beam size found, beside exact search."""
    pairs = list(zip(exact, found, strict=True))
    missed = sum(best.finished and (not one.finished or best.logprob > one.logprob + EQUAL) for best, one in pairs)
    gaps = [best.logprob - one.logprob for best, one in pairs if _proven(best) and one.finished]
    return {
        "beam": beam, "missed": missed, "share": missed / len(pairs), "gap": sum(gaps) / len(gaps) if gaps else None,
        "empty": sum(one.finished and not one.tokens for one in found), "cut": sum(not one.finished for one in found),
    }  # fmt: skip


def _proven(found: Answer) -> bool:
    """Whether exact search proved that nothing is likelier."""
    from xattend.search.exact import ExactHypothesis

    return isinstance(found.hypothesis, ExactHypothesis) and found.hypothesis.complete
