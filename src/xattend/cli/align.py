"""`xattend align`: which source word each word of a given target looked at, and how good such alignments are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from xattend.alignment.symmetrise import HEURISTICS, Heuristic
from xattend.cli import options, times
from xattend.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from xattend.alignment.links import Gold, Links
    from xattend.alignment.statistical import TwoWay
    from xattend.data.readers.base import Row
    from xattend.model import Model

    Sides = tuple[list[str], list[str]]
    Columns = dict[str, int | str] | None


class Found(NamedTuple):
    """One row, aligned."""

    source: list[str]
    target: list[str]
    links: Links
    weights_TS: np.ndarray[Any, Any]


@click.command()
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--file", required=True, metavar="F", help="Rows with source and target.")
@options.columns
@click.option(
    "--format", "form", type=click.Choice(["pharaoh", "json"]), default="pharaoh", show_default=True,
    help="Pairs source-target counted from 0, or objects with the weights.",
)  # fmt: skip
@click.option(
    "--words/--units", default=True, show_default=True,
    help="Put subwords together into words, or keep the model's units (without RUN: characters).",
)  # fmt: skip
@click.option("--heads", metavar="NAME", help='Go by one layer or head alone, called as in reports: "layer 3", "layer 3, head 1", "head 2".')
@click.option(
    "--gold", type=click.Path(path_type=Path), metavar="GOLD",
    help="Score the links: a line a row, 0-0 a sure link, 0?0 or 0p0 a possible one.",
)  # fmt: skip
@click.option("--statistical", is_flag=True, help="Learn an alignment from the rows themselves (IBM 1, then HMM) and compare with it.")
@click.option(
    "--with", "more", multiple=True, metavar="MORE", help="More rows for --statistical to learn from; --columns holds for them, too."
)
@click.option(
    "--symmetrise", "heuristic", type=click.Choice(HEURISTICS),
    help="How --statistical joins its two directions. Default: grow-diag-final-and.",
)  # fmt: skip
@click.option("--scores", is_flag=True, help="Write the scores of --gold and --statistical as one JSON object, and no alignments.")
@options.plugin
def command(
    run: Path | None, file: str, columns: Columns, form: str, words: bool, heads: str | None, gold: Path | None, statistical: bool,
    more: tuple[str, ...], heuristic: Heuristic | None, scores: bool,
) -> None:  # fmt: skip
    """Align given targets with their sources, a line a row: by a model's attention, or without RUN by statistics alone.

    Each target word is paired with the source word it looked at most; the end marks take no part. Of several heads the
    mean is taken; of a Transformer, the mean over all heads of all layers, unless --heads names one. A source word has the sum of its subwords'
    weights, a target word the mean of what its subwords say.

    With --gold or --statistical a line on stderr says how good the links are: precision, recall, alignment error rate
    (Och and Ney 2003), and F1 of the links of the attention and of the statistical aligner. For the error rate beside
    the latter, links of both its directions are sure, links of one of them possible.

    For a model that reads sounds: a line a word, with the row's number, when it begins and ends in seconds, and the word.

    \b
    xattend align runs/names --file names.tsv
    xattend align runs/x --file test.tsv --gold test.gold --scores
    xattend align runs/x --file test.tsv --statistical --with train.tsv
    xattend align --file pairs.tsv --statistical
    """
    _check(run, form, heads, gold, statistical, more, heuristic, scores)
    from xattend.cli.progress import lines_of, progress
    from xattend.data.readers.base import open_reader

    model = _loaded(run) if run is not None else None
    rows: Iterable[Row] = open_reader(file, columns)
    if model is not None and _hears(model):
        if gold is not None or statistical or heads is not None:
            raise UserError("--gold, --statistical and --heads link words, and this model reads sounds: it says when each word is said")
        times.write(model.here(), rows, words=words, as_json=form == "json", total=lines_of(file))
        return
    sides: list[Sides] = []
    references: list[Gold] = []
    ways: list[TwoWay] = []
    if gold is not None or statistical:  # then all are read before anything is written
        rows = list(rows)
        split = _splitter(model, words)
        sides = [split(row) for row in rows]
        if gold is not None:
            references = _references(gold, file, sides)
        if statistical:
            ways = _learned(sides, (row for name in more for row in open_reader(name, columns)), rows, split)
    joined = [_joined(way, heuristic) for way in ways]
    links: list[Links] = []
    with progress("aligning", lines_of(file)) as tick:
        found = _counted(sides, ways, joined) if model is None else _attended(model, rows, words, heads, tick)
        for one in found:
            if not scores:
                click.echo(_line(one, form))
            if references or ways:
                links.append(one.links)
    if references or ways:
        _say(run is not None, links, references, gold, ways, joined, as_json=scores)


def _check(
    run: Path | None, form: str, heads: str | None, gold: Path | None, statistical: bool, more: tuple[str, ...], heuristic: str | None,
    scores: bool,
) -> None:  # fmt: skip
    """Options that do not go together."""
    if run is None and not statistical:
        raise UserError("give the RUN whose attention aligns, or --statistical to align without a model")
    if run is None and heads is not None:
        raise UserError("--heads names heads of a model: give its RUN, too")
    if more and not statistical:
        raise UserError("--with has rows for --statistical to learn from: give that, too")
    if heuristic and not statistical:
        raise UserError("--symmetrise goes with --statistical")
    if scores and form != "pharaoh":
        raise UserError("--scores writes no alignments: leave --format out")
    if scores and gold is None and (run is None or not statistical):
        raise UserError("--scores needs something to compare with: --gold, or a RUN and --statistical")


def _loaded(run: Path) -> Model:
    from xattend.model import Model

    model = Model.load(run)
    model.must_look("aligning")
    return model


def _hears(model: Model) -> bool:
    from xattend.data.fields.sound import Sound

    return isinstance(model.source, Sound)


def _splitter(model: Model | None, words: bool) -> Callable[[Row], Sides]:
    """What cuts a row into the words that links count."""
    from xattend.alignment.words import of_field, of_text

    if model is None:
        return lambda row: (of_text(row.source, words=words), of_text(row.target or "", words=words))
    from xattend.data.fields.text import Text

    source, target = model.source, model.target
    if not isinstance(source, Text) or not isinstance(target, Text):
        raise UserError("--gold and --statistical count words: they need a model that reads text and writes text")
    return lambda row: (of_field(source, row.source, words=words), of_field(target, row.target or "", words=words))


def _references(gold: Path, file: str, sides: list[Sides]) -> list[Gold]:
    """The gold alignments, checked against the rows."""
    from xattend.alignment.links import read_gold

    references = read_gold(gold)
    if len(references) != len(sides):
        said = f"{len(references)} lines, but {file} has {len(sides)} rows: one line of links a row is expected"
        raise UserError(said, file=gold, line=min(len(references), len(sides)) + 1)
    for number, (reference, (source, target)) in enumerate(zip(references, sides, strict=True), 1):
        try:
            reference.must_fit(len(source), len(target))
        except UserError as error:
            raise error.at(gold, number) from None
    return references


def _learned(sides: list[Sides], more: Iterable[Row], rows: list[Row], split: Callable[[Row], Sides]) -> list[TwoWay]:
    """The statistical alignment of `rows`, cut into `sides`, learnt from `more` as well."""
    from xattend.alignment.statistical import LONGEST, STEPS, align
    from xattend.cli.progress import progress

    sentences = []
    for row, (source, target) in chain(zip(rows, sides, strict=True), ((row, split(row)) for row in more)):
        if max(len(source), len(target)) > LONGEST:
            said = f"{len(source)} and {len(target)} words: the statistical aligner takes up to {LONGEST} a side; split the row"
            raise UserError(said, file=row.file, line=row.line)
        sentences.append((source, target))
    with progress("learning to align", STEPS) as tick:
        return align(sentences, len(rows), tick)


def _joined(way: TwoWay, heuristic: Heuristic | None) -> Links:
    from xattend.alignment.symmetrise import symmetrise

    return symmetrise(way.forward, way.backward, heuristic or "grow-diag-final-and")


def _counted(sides: list[Sides], ways: list[TwoWay], joined: list[Links]) -> Iterator[Found]:
    """Rows as the statistical aligner has them."""
    for (source, target), way, links in zip(sides, ways, joined, strict=True):
        yield Found(source, target, links, way.weights_TS)


def _attended(model: Model, rows: Iterable[Row], words: bool, heads: str | None, tick: Callable[[int], None]) -> Iterator[Found]:
    """Rows as a model's attention has them."""
    from xattend.alignment.links import hard_alignment

    for found in model.align_rows(rows, words=words, heads=heads, tick=tick):
        yield Found(found.source, found.target, hard_alignment(found.weights_TS), found.weights_TS)


def _line(found: Found, form: str) -> str:
    from xattend.alignment.links import format_pharaoh

    if form == "pharaoh":
        return format_pharaoh(found.links)
    weights = found.weights_TS.astype("float64").round(6).tolist()
    line = {"source": found.source, "target": found.target, "pairs": sorted(found.links), "weights": weights}
    return json.dumps(line, ensure_ascii=False)


def _say(
    attends: bool, links: list[Links], references: list[Gold], gold: Path | None, ways: list[TwoWay], joined: list[Links], *, as_json: bool
) -> None:
    """How good the links are, on stderr or as an object on stdout."""
    from xattend.alignment.links import agreement, alignment_error_rate

    compared: dict[str, tuple[str, dict[str, float]]] = {}
    if references:
        who = "attention" if attends else "statistical aligner"
        compared["gold"] = f"{who} beside {gold}", asdict(alignment_error_rate(links, references))
    if attends and ways:
        score = {"f1": agreement(links, joined), **asdict(alignment_error_rate(links, [way.as_gold() for way in ways]))}
        compared["statistical"] = "attention beside the statistical aligner", score
        if references:
            score = asdict(alignment_error_rate(joined, references))
            compared["statistical_beside_gold"] = f"statistical aligner beside {gold}", score
    if as_json:
        counts = {"rows": len(links), "links": sum(map(len, links))}
        click.echo(json.dumps({**counts, **{key: score for key, (_, score) in compared.items()}}, ensure_ascii=False))
        return
    names = {"f1": "F1", "error_rate": "AER"}
    for title, score in compared.values():
        said = ", ".join(f"{names.get(key, key)} {value:.4f}" for key, value in score.items())
        click.echo(f"{title}: {said} ({len(links)} rows)", err=True)
