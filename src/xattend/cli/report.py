"""`xattend report`: a run as one HTML file, to be looked at anywhere, without a network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend.cli import options
from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.cli.scores import Question
    from xattend.data.readers.base import Row
    from xattend.model import Model
    from xattend.report.page import Example, Facts
    from xattend.search.base import Search

NBEST = 5  # outputs that are listed for an example
ALIGNED = 300  # rows whose alignment is compared with the statistical aligner's
CELLS = 2_000_000  # source times target units of those rows, above which that is not cheap
DRAWN = "Samples, and rows of the split, equally spaced, as the model draws them."


@click.command()
@options.run
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Where to write it. Default: RUN/report.html.")
@click.option("--rows", type=click.IntRange(min=0), default=6, show_default=True, metavar="N", help="Examples, and as many worst errors.")
@click.option("--split", type=click.Choice(["validation", "test"]), help="Which rows are measured. Default: test if there is one.")
@options.data
@options.plugin
def command(run: Path, out: Path | None, rows: int, split: str | None, data_dir: Path | None) -> None:
    """Write a report of RUN: model card, learning curves, metrics, examples with their attention, worst errors, recipe.

    It is one file that loads nothing from anywhere: open it in a browser, send it by mail. All rows of the split are
    decoded and measured anew. A model that writes no text (draw, vae, write) shows what it paints or draws instead.

    \b
    xattend report runs/names
    xattend report runs/names --split validation --rows 10 --out names.html
    """
    file = out or run / "report.html"
    if file.is_dir():
        raise UserError("is a folder: name a file", file=file)
    from xattend.report.page import report
    from xattend.run import write_atomic

    page = report(gather(run, split, rows, data_dir)).encode("utf-8")
    write_atomic(file, page)
    click.echo(f"{file}: {len(page) / 1e6:.1f} MB. Open it in a browser: {file.resolve().as_uri()}")


def gather(run: Path, split: str | None, count: int, data_dir: Path | None) -> Facts:
    """All that the report says."""
    from xattend import job
    from xattend.cli.evaluate import rows_of
    from xattend.cli.scores import questions, score_rows
    from xattend.data.fields.media import Media
    from xattend.model import Model
    from xattend.report import card, curves
    from xattend.report.page import Facts

    opened, recipe, data = job.reopen(run, data_dir=data_dir)
    if data.fingerprint != opened.fingerprint:
        raise UserError("the data has changed since this run began: restore it", file=run)
    split = split or ("test" if "test" in data.splits else "validation")
    if split not in data.splits or not len(data.splits[split]):
        raise UserError(f"the run's data has no {split} rows ({', '.join(data.splits)} only): choose another --split", file=run)
    model = Model.load(run)
    if model.source is not None and isinstance(data.source, Media):
        model.source.settle(data.source.places)  # --data may have moved the pictures
    search, held_out = model.search(), data.splits[split]
    heard = listening(model)
    scores = score_rows(heard, lambda: rows_of(held_out), search, total=len(held_out))
    log, unread = curves.read_log(opened.metrics)
    variants = model.source is not None and model.source.media
    measured = [f"{scores.rows:,} rows in {scores.seconds:.1f} s, decoded by search {model.recipe.part('search')[0]}."]
    if model.system.writes:
        examples, worst = _examples(model, questions(rows_of(held_out), variants=variants), heard.heard, count)
    else:
        from xattend.report.samples import drawn

        examples, worst = drawn(model, list(rows_of(held_out)), heard.scored, count)
        compared = f"This model writes no text, so none is compared: nll is in nats {_unit(model)}."
        measured = [f"{scores.rows:,} rows in {scores.seconds:.1f} s. {compared}"]
    if scores.repeated:
        how = "they are scored as one with it" if variants and model.system.writes else "each is scored alone"
        measured.append(f"{scores.repeated:,} rows have the source of an earlier row: {how}.")
    about = model.recipe.about
    return Facts(
        title=about.title or run.name, run=str(run), card=card.card(model, opened, data, log),
        limits=card.limits(model, data, scores.unknown, scores.cut, scores.rows), charts=curves.charts(log, _unit(model)), data=card.lengths(data),
        notes=data.report.lines(), split=split, metrics={name: value if math.isfinite(value) else None for name, value in scores.metrics.items()},
        measured=measured, examples=examples, worst=worst, alignment=alignment(model, list(rows_of(held_out))[:ALIGNED]), recipe=recipe.dump(),
        unread=unread, shown=Facts.shown if model.system.writes else DRAWN,
    )  # fmt: skip


def _unit(model: Model) -> str:
    """What the likelihood is of."""
    from xattend.systems.generative import Generative

    return "a token" if model.system.writes else "a picture" if isinstance(model.system, Generative) else "a point"


def listening(model: Model) -> Any:
    """The model, which also keeps the texts that it writes (`heard`) and what it says of given drawings (`scored`): made once, needed twice."""
    from xattend.answer import Answer
    from xattend.model import Model, Score

    class Listening(Model):
        heard: list[str]
        scored: list[Score]

        def predict_rows(self, rows: Iterable[Row], search: Search, **more: Any) -> Iterator[Answer]:
            for found in super().predict_rows(rows, search, **more):
                self.heard.append(found.text)
                yield found

        def score_rows(self, rows: Iterable[Row], **more: Any) -> Iterator[Score]:
            for found in super().score_rows(rows, **more):
                self.scored += [] if self.system.writes else [found]
                yield found

    heard = Listening.__new__(Listening)  # nothing is loaded twice
    vars(heard).update(vars(model), heard=[], scored=[])
    return heard


def _examples(model: Model, asked: list[Question], outputs: list[str], count: int) -> tuple[list[Example], list[Example]]:
    """Rows equally spaced, and the worst ones."""
    places = [number * len(asked) // count for number in range(count)] if count < len(asked) else list(range(len(asked)))
    if model.source is None:
        return [_written(model, asked[place]) for place in places], []
    values, name, order = _row_scores(model, asked, outputs)
    wrong = [place for place in order if outputs[place] not in [model.target.raw(answer) for answer in asked[place].answers]]
    return _decoded(model, asked, places, values, name), _decoded(model, asked, wrong[:count], values, name)


def _row_scores(model: Model, asked: list[Question], outputs: list[str]) -> tuple[list[float], str, list[int]]:
    """A score a row, its name, and the rows from the worst on: the training's own metric if it means something for one row, else chrF."""
    from xattend import registry

    wanted = model.recipe.training.metric or ""
    metric = registry.build("metric", wanted if wanted in ("cer", "wer", "per") else "chrf")
    references = [[model.target.raw(answer) for answer in one.answers] for one in asked]
    values = [float(metric.value(row)) for row in metric.checked_statistics(outputs, references)]
    sign = 1 if metric.higher_is_better else -1
    return values, metric.name, sorted(range(len(values)), key=lambda place: (sign * values[place], place))


def _decoded(model: Model, asked: list[Question], places: list[int], values: list[float], name: str) -> list[Example]:
    from xattend.report.complete import complete, has_trace
    from xattend.report.page import Example

    search = _listing(model)
    rows = [asked[place].row for place in places]
    answers = model.predict_rows(rows, search, attention=has_trace(model))
    return [
        Example(complete(model, found, row.source, search), asked[place].answers, f"{name} {values[place]:.3f}")
        for place, row, found in zip(places, rows, answers, strict=True)
    ]


def _listing(model: Model) -> Search:
    """The recipe's search, with a few outputs instead of one where it can give them."""
    given = model.recipe.part("search")[1]
    if "nbest" not in given:
        return model.search()
    return model.search(nbest=max(1, min(NBEST, int(given.get("size", 1)))))


def _written(model: Model, one: Question) -> Example:
    """A language model decodes nothing: how likely it finds each token of a given text."""
    import numpy as np

    from xattend.report.page import Example
    from xattend.types import Trace

    score = next(iter(model.score_rows([one.row])))
    empty = np.zeros((len(score.tokens), 0, 0), dtype=np.float32)
    trace = Trace([], score.tokens, empty, (0,), target_text=one.answers[0], logprobs=score.token_logprobs)
    return Example(trace, [], f"log-probability {score.logprob:.2f}")


def alignment(model: Model, rows: list[Row]) -> list[str]:
    """How sharp the looks are on given targets, and how far their links agree with a statistical aligner's, if that is cheap."""
    from xattend.alignment.links import agreement, hard_alignment
    from xattend.alignment.statistical import align

    if not model.looks:
        return ["Left out: this model does not look at positions of its source."]
    if model.source is None or model.source.media or not model.system.writes:
        return ["Left out: links between words are for models that read and write text."]
    try:
        found = list(model.align_rows(rows, words=False))
    except UserError as error:
        return [f"Left out: {error}."]
    largest = [float(weight) for one in found for weight in one.weights_TS.max(axis=1, initial=0.0)]
    said = [
        f"On the given targets of {len(found):,} rows the largest weight of a step is {sum(largest) / max(1, len(largest)):.2f} in the mean "
        "(end marks left out, heads averaged).",
    ]
    cells = sum(len(one.source) * len(one.target) for one in found)
    if cells > CELLS:
        return [*said, f"The comparison with the statistical aligner is left out: {cells:,} pairs of units take long. See `xattend align --statistical`."]
    ways = align([(one.source, one.target) for one in found])
    alike = agreement([hard_alignment(one.weights_TS) for one in found], [way.forward for way in ways])
    return [*said, f"Its links agree with those of the statistical aligner (IBM model 1, then HMM, learnt from these rows alone) to F1 {alike:.2f}."]
