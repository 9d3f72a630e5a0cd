"""`xattend predict`: outputs for texts or for a file of any length."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend.cli import options
from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.answer import Answer
    from xattend.data.fields.base import Field
    from xattend.data.fields.story import Story
    from xattend.data.readers.base import Row
    from xattend.model import Model
    from xattend.search.base import Search
    from xattend.stream import Tick

    Asked = tuple[Row, Sequence[str]]  # a row, and the phrases its output must hold

PICTURES = (".svg", ".png", ".gif")
NAMED = 20  # unknown words that are listed; the others are counted


class _Predict(click.Command):
    """`--attention FILE` is `--figure FILE` if the name is a picture's; without one, what follows is a text."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words: list[str] = []
        for word in args:
            if words and words[-1] == "--attention" and Path(word).suffix.lower() in PICTURES:
                words[-1] = "--figure"
            words += ["--figure", word.partition("=")[2]] if word.startswith("--attention=") else [word]
        return super().parse_args(ctx, words)


@click.command(cls=_Predict)
@options.run
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--file", metavar="F", help="One input a line (- for stdin; .gz, .jsonl and .parquet too). Of a .tsv the first column is read.")
@options.columns
@options.beam
@click.option("--nbest", type=click.IntRange(min=1), metavar="N", help="Write N outputs an input, each as: input number, score, text, with tabs between.")
@click.option("--must", multiple=True, metavar="PHRASE", help="Every output must hold this phrase; repeat for more.")
@click.option(
    "--must-file", type=click.Path(path_type=Path), metavar="FILE",
    help="With --file: phrases that each output must hold, a line a row, with tabs between.",
)  # fmt: skip
@click.option("--never", multiple=True, metavar="PHRASE", help="No output may hold this phrase; repeat for more.")
@options.as_json
@click.option("--tokens", is_flag=True, help="With --json: the tokens of each output and their log-probabilities.")
@click.option("--attention", is_flag=True, help="Draw where the model looked, or into a .svg or .png file that follows (one TEXT); with --json: the weights, target x source.")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", hidden=True)
@options.copy_unknown
@options.together
@options.int8
@options.settings
@options.plugin
def command(
    run: Path, texts: tuple[str, ...], file: str | None, columns: dict[str, int | str] | None, beam: int | None, nbest: int | None,
    must: tuple[str, ...], must_file: Path | None, never: tuple[str, ...], as_json: bool, tokens: bool, attention: bool,
    figure: Path | None, copy_unknown: bool, others: tuple[Path, ...], int8: bool, overrides: tuple[str, ...],
) -> None:  # fmt: skip
    """Write an output line for each TEXT, or for each line of a file, in order.

    For a model that reads pictures a TEXT names a picture's file; for one that answers stories it is sentences with the question last.
    An empty line gives an empty line. A line end inside an output is written as \\n, so that line counts agree.
    A language model goes on from each text. Search is set by --beam, or by -s search.key=value; --must and --must-file
    use the search 'constrained' with the recipe's settings.

    \b
    xattend predict runs/names London --attention
    xattend predict runs/names London --attention london.svg
    xattend predict runs/names --file names.txt > outputs.txt
    xattend predict runs/names Oslo --nbest 3 -s search.length_penalty=0.6
    xattend predict runs/names Oslo --must os --never sl
    """
    _check(texts, file, columns, figure, attention, as_json, tokens)
    required = bool(must) or must_file is not None
    _check_phrases(file, must_file, overrides if required else ())
    from xattend.cli.drawn import draw, must_fit
    from xattend.cli.progress import lines_of, progress
    from xattend.data.fields.story import Story

    model = options.load(run, others, overrides, beam=beam, int8=int8).here()
    search = model.search(kind="constrained" if required else None, beam=beam, nbest=nbest, never=never)
    if copy_unknown or ((attention or figure is not None) and not model.system.glimpses):
        model.must_look("--copy-unknown" if copy_unknown else "--attention")
    rows = _texts(texts) if file is None else lines_to_read(file, columns)
    bad: dict[int, str] = {}  # inputs that cannot be read, by number, if the run's recipe skips such
    if file is not None and model.recipe.data.bad_rows == "skip":
        rows = _blanked(model, rows, bad)
    unknown: dict[str, str] = {}  # words of stories, by what the model would read of them
    if isinstance(model.source, Story):
        rows = _noting(model.source, rows, unknown)
    asked = _asked(model, rows, must, must_file)
    looks = attention or figure is not None
    number = empty = cut = lacking = 0
    with progress("predicting", len(texts) if file is None else lines_of(file)) as tick:
        found_by = answers(model, asked, search, required=required, looks=looks, copy_unknown=copy_unknown, tick=tick)
        for number, found in enumerate(found_by, 1):
            if figure is not None and found is not None and found.trace is not None:
                must_fit(found.trace, figure)  # before anything is written
            empty += found is None
            cut += found is not None and not found.finished
            lacking += found is not None and bool(found.missing)
            if as_json:
                record = _record(found, model.target, attention=attention, nbest=nbest, tokens=tokens, required=required)
                record |= {"error": bad[number]} if number in bad else {}
                click.echo(json.dumps(record, ensure_ascii=False))
            elif nbest is None:
                click.echo("" if found is None else one_line(found.text))
            else:
                for text, score in [("", 0.0)] if found is None else found.nbest:
                    click.echo(f"{number}\t{score:.6f}\t{one_line(text)}")
            if found is not None and looks:
                draw(model, found, figure, shown=attention and not as_json)
    for place, wrong in bad.items():
        click.echo(f"xattend: input {place} cannot be read, and its output is empty: {wrong}", err=True)
    if unknown:
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        click.echo(f"xattend: words unknown to the model, read as <unk>: {', '.join([*unknown.values()][:NAMED])}{more}", err=True)
    empty -= len(bad)
    if empty:
        click.echo(f"xattend: {empty} of {number} inputs are empty, and so are their outputs", err=True)
    if cut:
        said = "raise search.max_ratio, max_extra or max_length with -s"
        click.echo(f"xattend: warning: {cut} of {number} outputs were cut by the length limit ({said})", err=True)
    if lacking:
        click.echo(f"xattend: warning: {lacking} of {number} outputs are unfinished and lack a phrase they must hold", err=True)


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
        raise UserError("--attention FILE draws one text: give one TEXT")
    if figure is not None and figure.suffix.lower() not in PICTURES:
        raise UserError("a figure's name must end in .svg or .png, or in .gif for a film of windows", file=figure)


def _check_phrases(file: str | None, must_file: Path | None, overrides: tuple[str, ...]) -> None:
    if must_file is not None and file is None:
        raise UserError("--must-file goes with --file; for texts there is --must")
    for word in overrides:
        key, _, kind = word.partition("=")
        if key.strip() == "search.kind" and kind.strip() != "constrained":
            raise UserError(f"-s {word}: phrases that must be written need the search 'constrained'")


def _asked(model: Model, rows: Iterator[Row], must: tuple[str, ...], must_file: Path | None) -> Iterator[Asked]:
    """Each row with the phrases its output must hold: those of all rows, and those of its own line in the file."""
    for phrase in must:
        model.phrase(phrase)  # at once, before anything is written
    return zip(rows, repeat(must)) if must_file is None else _line_by_line(model, rows, must, must_file)


def _line_by_line(model: Model, rows: Iterator[Row], must: tuple[str, ...], must_file: Path) -> Iterator[Asked]:
    from xattend.data.readers.base import find_file
    from xattend.data.readers.lines import BadRow, lines

    path = find_file(str(must_file), None)
    for count, (row, line) in enumerate(zip_longest(rows, lines(path)), 1):
        if row is None or line is None:
            fewer = "ends here, and there are more inputs" if line is None else "has more lines than there are inputs"
            raise UserError(f"{fewer}: one line of phrases an input is expected", file=path, line=count)
        number, found = line
        if isinstance(found, BadRow):
            raise UserError(found.message, file=path, line=number)
        phrases = tuple(phrase for phrase in found.split("\t") if phrase.strip())
        try:
            for phrase in phrases:
                model.phrase(phrase)
        except UserError as error:
            raise error.at(path, number) from None
        yield row, must + phrases


def one_line(text: str) -> str:
    """Line ends made visible, so that one output is one line.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return text.replace("\n", "\\n").replace("\r", "\\r")


def _texts(texts: tuple[str, ...]) -> Iterator[Row]:
    from xattend.data.readers.base import Row

    return (Row(text, None, "text", number) for number, text in enumerate(texts, 1))


def lines_to_read(file: str, columns: dict[str, int | str] | None) -> Iterator[Row]:
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


def _blanked(model: Model, rows: Iterator[Row], bad: dict[int, str]) -> Iterator[Row]:
    """Rows, those that cannot be read as empty ones, and what is wrong with them."""
    for number, row in enumerate(rows, 1):
        wrong = None if model.source is None or model.source.blank(row.source) else model.source.problem(row.source)
        if wrong is not None:
            bad[number] = f"{row.file}:{row.line}: {wrong}"
        yield row if wrong is None else row._replace(source="")


def _noting(source: Story, rows: Iterator[Row], unknown: dict[str, str]) -> Iterator[Row]:
    """The same rows, and each word that the model has never seen once."""
    for row in rows:
        for word in source.unknown(row.source):
            unknown.setdefault(source.text.normalise(word), word)
        yield row


def answers(
    model: Model, asked: Iterable[Asked], search: Search, *, required: bool = False, looks: bool = False, copy_unknown: bool = False,
    tick: Tick = lambda rows: None,
) -> Iterator[Answer | None]:  # fmt: skip
    """An answer for each row, None for those that have nothing to read. A language model can start from nothing."""
    waiting: deque[bool] = deque()  # of each row that was read and not answered yet, whether it is a real one
    phrases: deque[Sequence[str]] = deque()  # of the real row that was read last

    def real() -> Iterator[Row]:
        for row, must in asked:
            waiting.append(model.source is None or not model.source.blank(row.source))
            if waiting[-1]:
                phrases.append(must)
                # a file's second column is not looked at: a language model would take it for the text
                yield row._replace(target=None)
            else:
                tick(1)

    def its_phrases() -> Iterator[Sequence[str]]:
        while phrases:
            yield phrases.popleft()

    must = its_phrases() if required else None
    for found in model.predict_rows(real(), search, attention=looks, copy_unknown=copy_unknown, must=must, tick=tick):
        while not waiting.popleft():
            yield None
        yield found
    yield from (None for _ in waiting)


def _record(
    found: Answer | None, target: Field, *, attention: bool, nbest: int | None, tokens: bool, required: bool
) -> dict[str, Any]:  # fmt: skip
    import numpy as np

    from xattend.types import EOS

    record: dict[str, Any] = {"text": "", "score": 0.0, "logprob": 0.0, "finished": True}
    if found is not None:
        record = {"text": found.text, "score": found.score, "logprob": found.logprob, "finished": found.finished}
    if required:
        record["missing"] = found.missing if found else []
    if nbest is not None:
        record["nbest"] = []
        for text, one in zip([text for text, _ in found.nbest], found.hypotheses, strict=True) if found else []:
            listed: dict[str, Any] = {"text": text, "score": one.score, "logprob": one.logprob, "finished": one.finished}
            if tokens:
                listed["tokens"] = target.symbols([*one.tokens, *[EOS] * one.finished])
                listed["token_logprobs"] = one.token_logprobs
            record["nbest"].append(listed)
    if tokens or attention:
        record["tokens"] = [*found.tokens, *target.symbols([EOS] * found.finished)] if found else []
    if tokens:
        record["token_logprobs"] = found.hypothesis.token_logprobs if found and found.hypothesis else []
    if attention:
        record["source"] = found.trace.source_tokens if found and found.trace else []
        record["attention"] = np.round(found.attention.astype(np.float64), 6).tolist() if found else []
        if found and found.trace and found.trace.kind in ("memory", "machine"):  # their heads do different things: a mean says little
            weights_THS = found.trace.weights_THS[: 1 if found.trace.kind == "memory" else None]  # the end of an answer looks nowhere
            record["heads"] = found.trace.heads or [f"hop {number + 1}" for number in range(weights_THS.shape[1])]
            record["looks"] = np.round(weights_THS.astype(np.float64), 6).tolist()
            if found.trace.kind == "memory":
                record["facts"] = [found.trace.source_tokens[place] for place in weights_THS[0].argmax(axis=1).tolist()]
        if found and found.trace and found.trace.boxes_TK4 is not None:
            record["boxes"] = np.round(found.trace.boxes_TK4.astype(np.float64), 4).tolist()
    return record
