"""`xattend predict`: outputs for texts or for a file of any length."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend.cli import options
from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.data.readers.base import Row
    from xattend.model import Model, Tick
    from xattend.search.base import Search
    from xattend.types import Prediction, Trace


@click.command()
@options.run
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--file", metavar="F", help="One input a line (- for stdin; .gz, .jsonl and .parquet too). Of a .tsv the first column is read.")
@options.columns
@options.beam
@click.option("--nbest", type=click.IntRange(min=1), metavar="N", help="Write N outputs an input, each as: input number, score, text, with tabs between.")
@options.as_json
@click.option("--tokens", is_flag=True, help="With --json: the output's tokens and their log-probabilities.")
@click.option("--attention", is_flag=True, help="Draw where the model looked; with --json: the weights, target x source.")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw where the model looked into a .svg or .png file (one TEXT).")
@options.copy_unknown
@options.int8
@options.settings
@options.plugin
def command(
    run: Path, texts: tuple[str, ...], file: str | None, columns: dict[str, int | str] | None, beam: int | None, nbest: int | None,
    as_json: bool, tokens: bool, attention: bool, figure: Path | None, copy_unknown: bool, int8: bool, overrides: tuple[str, ...],
) -> None:  # fmt: skip
    """Write an output line for each TEXT, or for each line of a file, in order.

    An empty line gives an empty line. A line end inside an output is written as \\n, so that line counts agree.
    A language model goes on from each text. Search is set by --beam, or by -s search.key=value.

    \b
    xattend predict runs/names London --attention
    xattend predict runs/names --file names.txt > outputs.txt
    xattend predict runs/names Oslo --nbest 3 -s search.length_penalty=0.6
    """
    _check(texts, file, columns, figure, attention, as_json, tokens)
    from xattend.cli.progress import lines_of, progress
    from xattend.model import Model

    model = Model.load(run, options.search_only(overrides, beam))
    if int8:
        model.to_int8()
    search = model.search(beam=beam, nbest=nbest)
    if attention or figure is not None or copy_unknown:
        model.must_look("--copy-unknown" if copy_unknown else "--figure" if figure else "--attention")
    rows = _texts(texts) if file is None else _lines(file, columns)
    looks = attention or figure is not None
    number = empty = cut = 0
    with progress("predicting", len(texts) if file is None else lines_of(file)) as tick:
        for number, found in enumerate(_answers(model, rows, search, looks, copy_unknown, tick), 1):
            empty += found is None
            cut += found is not None and not found.finished
            if as_json:
                click.echo(json.dumps(_record(found, attention, nbest, tokens), ensure_ascii=False))
            elif nbest is None:
                click.echo("" if found is None else one_line(found.text))
            else:
                for text, score in [("", 0.0)] if found is None else found.nbest:
                    click.echo(f"{number}\t{score:.6f}\t{one_line(text)}")
            if found is not None and looks:
                _draw(found, figure, drawn=attention and not as_json)
    if empty:
        click.echo(f"xattend: {empty} of {number} inputs are empty, and so are their outputs", err=True)
    if cut:
        said = "raise search.max_ratio, max_extra or max_length with -s"
        click.echo(f"xattend: warning: {cut} of {number} outputs were cut by the length limit ({said})", err=True)


def _check(
    texts: tuple[str, ...], file: str | None, columns: object, figure: Path | None, attention: bool, as_json: bool, tokens: bool
) -> None:
    if bool(texts) == (file is not None):
        raise UserError("give either texts or --file F (- for stdin)")
    if columns is not None and file is None:
        raise UserError("--columns goes with --file")
    if tokens and not as_json:
        raise UserError("--tokens goes with --json")
    if attention and file is not None and not as_json:
        raise UserError("--attention draws between the output lines of a file: add --json to get the weights")
    if figure is not None and len(texts) != 1:
        raise UserError("--figure draws one text: give one TEXT")
    if figure is not None and figure.suffix.lower() not in (".svg", ".png"):
        raise UserError("a figure's name must end in .svg or .png", file=figure)


def one_line(text: str) -> str:
    """Line ends made visible, so that one output is one line.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return text.replace("\n", "\\n").replace("\r", "\\r")


def _texts(texts: tuple[str, ...]) -> Iterator[Row]:
    from xattend.data.readers.base import Row

    return (Row(text, None, "text", number) for number, text in enumerate(texts, 1))


def _lines(file: str, columns: dict[str, int | str] | None) -> Iterator[Row]:
    """Rows of a file, the empty ones too: readers stop at those, as a row to train on must not be empty."""
    from xattend.data.readers.base import Row, find_file, open_reader, reader_for
    from xattend.data.readers.lines import BadRow, lines

    path = Path("/dev/stdin") if file == "-" else find_file(file, None)
    if columns is not None or reader_for(path) != "tsv":
        yield from open_reader(str(path), columns, needs_target=False)
        return
    for number, found in lines(path):
        if isinstance(found, BadRow):
            raise UserError(found.message, file=path, line=number)
        yield Row(found.split("\t")[0], None, str(path), number)


def _answers(
    model: Model, rows: Iterator[Row], search: Search, looks: bool, copy_unknown: bool, tick: Tick
) -> Iterator[Prediction | None]:
    """A prediction for each row, None for those that have nothing to read. A language model can start from nothing."""
    waiting: deque[bool] = deque()  # of each row that was read and not answered yet, whether it is a real one

    def real() -> Iterator[Row]:
        for row in rows:
            waiting.append(model.source is None or bool(row.source.strip() and model.source.encode(row.source)))
            if waiting[-1]:
                # a file's second column is not looked at: a language model would take it for the text
                yield row._replace(target=None)
            else:
                tick(1)

    for found in model.predict_rows(real(), search, attention=looks, copy_unknown=copy_unknown, tick=tick):
        while not waiting.popleft():
            yield None
        yield found
    yield from (None for _ in waiting)


def _record(found: Prediction | None, attention: bool, nbest: int | None, tokens: bool) -> dict[str, Any]:
    import numpy as np

    from xattend.types import EOS, SPECIALS

    record: dict[str, Any] = {"text": "", "score": 0.0, "logprob": 0.0, "finished": True}
    if found is not None:
        record = {"text": found.text, "score": found.score, "logprob": found.logprob, "finished": found.finished}
    if nbest is not None:
        record["nbest"] = [{"text": text, "score": score} for text, score in (found.nbest if found else [])]
    if tokens or attention:
        record["tokens"] = [*found.tokens, *[SPECIALS[EOS]] * found.finished] if found else []
    if tokens:
        record["token_logprobs"] = found.hypothesis.token_logprobs if found and found.hypothesis else []
    if attention:
        record["source"] = found.trace.source_tokens if found and found.trace else []
        record["attention"] = np.round(found.attention.astype(np.float64), 6).tolist() if found else []
    return record


def _draw(found: Prediction, figure: Path | None, *, drawn: bool) -> None:
    from xattend.report import figure as figures

    assert found.trace is not None
    if drawn:
        draw_in_terminal(found.trace)
    if figure is not None:
        figures.save(found.trace, figure)


def draw_in_terminal(trace: Trace) -> None:
    """The attention matrix, as wide as the terminal."""
    import sys

    from rich.console import Console

    from xattend.report.terminal import draw

    click.echo(draw(trace, width=Console().width, ascii="utf" not in (sys.stdout.encoding or "").lower()))
