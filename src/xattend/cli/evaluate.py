"""`xattend evaluate`: every metric of a run on held-out rows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend.cli import options
from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.cli.scores import Question
    from xattend.data.readers.base import Row
    from xattend.data.split import Split
    from xattend.model import Model
    from xattend.types import Prediction


@click.command()
@options.run
@click.option("--split", type=click.Choice(["train", "validation", "test"]), help="Rows of the run's own data. Default: validation.")
@click.option("--file", metavar="F", help="Rows of a file with source and target.")
@click.option("--format", metavar="NAME", help="How F is laid out: scan, cmudict, ... Default: its suffix says.")
@options.columns
@click.option("--variants", is_flag=True, help="Rows with the same source are one question with several right answers.")
@options.beam
@click.option("--show", type=click.IntRange(min=0), default=0, metavar="N", help="Show the first N rows: source, output, reference, attention.")
@options.copy_unknown
@options.together
@options.int8
@options.as_json
@options.settings
@options.data
@options.plugin
def command(
    run: Path, split: str | None, file: str | None, format: str | None, columns: dict[str, int | str] | None, variants: bool,
    beam: int | None, show: int, copy_unknown: bool, others: tuple[Path, ...], int8: bool, as_json: bool, overrides: tuple[str, ...],
    data_dir: Path | None,
) -> None:  # fmt: skip
    """Decode held-out rows and print every metric.

    Error rates and exact are shares (0.1 is 10 %), BLEU and chrF go to 100. nll and perplexity are a token of the given
    targets, the end mark included; bits_per_character a character of their text. A language model has these three only.
    pointing, for pictures that an embedded task drew, is the share of words that look at what they speak of. Of stories that name their
    supporting facts, facts_found is the share that some hop looks at most, hops_on_facts the share of hops that look at one.

    With --variants a source that several rows share (a word with two pronunciations, a sentence with three translations)
    is decoded once: exact counts it right if any of them is written, error rates take the nearest, BLEU and chrF all.
    Rows that name the same picture always are scored so.

    \b
    xattend evaluate runs/names --split test --json
    xattend evaluate runs/names --file more.tsv --show 3
    xattend evaluate runs/names --with runs/more-names
    """
    if split is not None and file is not None:
        raise UserError("give either --split or --file")
    for option, given in (("--columns", columns), ("--format", format)):
        if given is not None and file is None:
            raise UserError(f"{option} goes with --file")
    from xattend.cli.progress import lines_of
    from xattend.cli.scores import questions, score_rows
    from xattend.report.table import table

    model = options.load(run, others, overrides, beam=beam, int8=int8)
    search = model.search(beam=beam)
    if copy_unknown:
        model.must_look("--copy-unknown")
    if variants and model.source is None:
        raise UserError("--variants needs a model that reads a source")
    variants = variants or (model.source is not None and model.source.media)
    rows: Callable[[], Iterable[Row]]
    of_file: _RowsOfFile | None = None
    if file:
        model = model.here()
        rows = of_file = _RowsOfFile(model, file, format, columns, data_dir)
        total = lines_of(file)
    else:
        rows, total = _rows_of_split(model, run, split or "validation", data_dir)
    scores = score_rows(model, rows, search, copy_unknown=copy_unknown, variants=variants, total=total)
    asked = questions(rows(), variants=True)[:show] if variants else questions(islice(rows(), show), variants=False)
    shown = list(model.predict_rows((one.row for one in asked), search, attention=model.looks, copy_unknown=copy_unknown))
    what = {"file": file} if file else {"split": split or "validation"}
    for line in of_file.skipped if of_file is not None else []:
        click.echo(f"xattend: {line}", err=True)
    if as_json:
        record = {"run": str(run), **({"with": list(map(str, others))} if others else {}), **what, **scores.to_json()}
        if of_file is not None and of_file.count:
            record["skipped_rows"] = of_file.count
        if show:
            record["examples"] = [
                {"source": one.row.source, "text": found.text, **({"references": one.answers} if variants else {"reference": one.row.target})}
                for one, found in zip(asked, shown)
            ]
        click.echo(json.dumps({key: _finite(value) for key, value in record.items()}, ensure_ascii=False))
        return
    for one, found in zip(asked, shown):
        _show(one, found)
    click.echo(table(["metric", "value"], list(scores.metrics.items()), decimals=4))
    click.echo(f"{scores.rows} rows of {file or what['split']} in {scores.seconds:.1f} s")
    if scores.repeated:
        what_now = "scored as one with it" if variants else "--variants takes them as one question with several right answers"
        click.echo(f"{scores.repeated} of them have the source of an earlier row: {what_now}")
    if scores.unknown:
        click.echo(f"{scores.unknown} target units are unknown to the model")
    if scores.impossible:
        click.echo(f"{scores.impossible} targets cannot be written by the model at all (more labels than frames?): left out of nll, perplexity and bits_per_character")
    if scores.cut:
        click.echo(f"{scores.cut} outputs were cut by the length limit")


def _rows_of_split(model: Model, run: Path, split: str, data_dir: Path | None) -> tuple[Callable[[], Iterable[Row]], int]:
    from xattend import job
    from xattend.data.fields.media import Media

    opened, _, data = job.reopen(run, data_dir=data_dir)
    if data.fingerprint != opened.fingerprint:
        raise UserError("the data has changed since this run began: restore it, or give --file", file=run)
    if split not in data.splits:
        raise UserError(f"the run's data has no {split} rows ({', '.join(data.splits)} only): give --file", file=run)
    for each in [model, *model.others]:
        if each.source is not None and isinstance(data.source, Media):
            each.source.settle(data.source.places)  # --data may have moved the pictures
    found = data.splits[split]
    return lambda: rows_of(found), len(found)


def rows_of(split: Split) -> Iterable[Row]:
    """The rows of a split as they were read."""
    from xattend.data.readers.base import Row

    for number in range(len(split)):
        source, target = split.texts(number)
        yield Row(target, None, split.name, number + 1) if source is None else Row(source, target, split.name, number + 1)


class _RowsOfFile:
    """A file's rows, as often as they are asked for; with a run whose recipe skips bad rows they are skipped here, too, and counted."""

    def __init__(self, model: Model, file: str, format: str | None, columns: dict[str, int | str] | None, data_dir: Path | None) -> None:
        self.model, self.file, self.format, self.columns, self.data_dir = model, file, format, columns, data_dir
        self.skipped: list[str] = []  # what was said of them, the last time
        self.count = 0

    def __call__(self) -> Iterator[Row]:
        from xattend.data.readers.base import open_reader
        from xattend.data.report import Report

        report, source, bad_rows = Report(), self.model.source, self.model.recipe.data.bad_rows
        read = open_reader(
            self.file, self.columns, data_dir=self.data_dir, format=self.format, needs_target=source is not None, bad_rows=bad_rows, report=report,
        )  # fmt: skip
        for row in read:
            wrong = None if source is None or bad_rows == "stop" else source.problem(row.source)
            if wrong is None:
                yield row
            else:
                report.skip("a source that cannot be read", row.file, row.line, row.source, wrong)
        self.skipped = report.lines(each=True)
        self.count = sum(one.count for one in report.skipped.values())


def _show(one: Question, found: Prediction) -> None:
    from xattend.cli.drawn import draw_in_terminal

    click.echo(f"source     {one.row.source}\noutput     {found.text}")
    for answer in one.answers if one.row.target is not None else [""]:
        click.echo(f"reference  {answer}".rstrip())
    if found.trace is not None:
        draw_in_terminal(found.trace)
    click.echo()


def _finite(value: Any) -> Any:
    """JSON has no word for infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
