"""Every number a model reaches on given rows: what `evaluate` prints and `grid` compares.

Outputs are decoded free-running and scored by every registered metric. Rows with the same source may be taken as one
question with several right answers (`questions`; rows that name the same picture always are): exact match then counts it once, right if any answer is written, and an
error rate takes the nearest answer. The likelihood is always of all given targets:
`nll` and `perplexity` a token, the end mark included; `bits_per_character` a character of the target text. Where an embedded task
drew the pictures and knows what each word speaks of, `pointing` is the share of words that look there (metrics/pointing.py), given the
right words before them. Of stories whose rows name supporting facts, `facts_found` is the share of facts that some hop looks at most, and
`hops_on_facts` that of hops which look at one (metrics/facts.py).
"""

from __future__ import annotations

import math
import time
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from xattend import registry
from xattend.cli.progress import progress
from xattend.data.fields.story import Story
from xattend.data.readers.base import Row
from xattend.data.wanted import one_side
from xattend.errors import UserError
from xattend.metrics import score_all
from xattend.metrics.facts import Looks, looked_at
from xattend.metrics.likelihood import bits_per_character, perplexity
from xattend.metrics.pointing import Box, of_words, points
from xattend.model import Model
from xattend.search.base import Search
from xattend.types import UNK


@dataclass(frozen=True)
class Scores:
    """metrics   by name
    rows      how many there were
    repeated  rows whose source an earlier row has, too
    unknown   target units that the model's vocabulary does not have
    cut       outputs that the length limit cut
    impossible  targets that the model cannot write at all, left out of the likelihood
    seconds   for decoding and scoring
    """

    metrics: dict[str, float]
    rows: int
    repeated: int
    unknown: int
    cut: int
    seconds: float
    impossible: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            **self.metrics, "rows": self.rows, "repeated_sources": self.repeated, "unknown_units": self.unknown, "cut": self.cut,
            "seconds": round(self.seconds, 3), **({"impossible": self.impossible} if self.impossible else {}),
        }  # fmt: skip


def _source(row: Row) -> str:
    """What makes two rows variants of each other: the same text, whatever its Unicode form."""
    return unicodedata.normalize("NFC", row.source)


class Question(NamedTuple):
    """A row to be decoded, and the targets that are right for it."""

    row: Row
    answers: list[str]


def questions(rows: Iterable[Row], *, variants: bool) -> list[Question]:
    """One question a row; with `variants` one a different source, in the order of their first rows.

    >>> rows = [Row("TOMATO", "T AH M EY T OW", "f", 1), Row("BY", "B AY", "f", 2), Row("TOMATO", "T AH M AA T OW", "f", 3)]
    >>> [(found.row.line, found.answers) for found in questions(rows, variants=True)]
    [(1, ['T AH M EY T OW', 'T AH M AA T OW']), (2, ['B AY'])]
    """
    found: dict[str | int, Question] = {}
    for number, row in enumerate(rows):
        key = _source(row) if variants else number
        found.setdefault(key, Question(row, [])).answers.append(one_side(row))
    return list(found.values())


def pointing(model: Model, rows: Iterable[Row]) -> float | None:
    """The pointing game on given targets; None if no row has boxes, or the model does not look at places of a picture."""
    if model.source is None or not model.source.media or model.others or not model.looks:
        return None
    kept: list[Row] = []
    boxes: list[list[Box | None]] = []
    for row in rows:
        found = _boxes(row)
        if any(found) and max(model.target.words(model.target.encode(one_side(row))), default=-1) + 1 == len(found):
            kept.append(row)
            boxes.append(found)
    if not kept:
        return None
    hits = words = 0
    for row, gold, (weights_TS, grid) in zip(kept, boxes, model.look_rows(kept), strict=True):
        if len(grid) != 2:
            return None
        looks_WS = of_words(weights_TS, model.target.words(model.target.encode(one_side(row))))
        one = points(looks_WS, gold, (grid[0], grid[1]))
        hits, words = hits + one.hits, words + one.words
    return hits / words if words else None


def _boxes(row: Row) -> list[Box | None]:
    """What the words of a row's target speak of, if its picture is drawn by a task that can tell."""
    task, colon, _ = row.source.partition(":")
    if not colon or task not in registry.names("task"):
        return []
    try:
        found: list[Box | None] = registry.build("task", task).gold(row.source, one_side(row))
    except UserError:  # the task did not write this row
        return []
    return found


def score_rows(
    model: Model, rows: Callable[[], Iterable[Row]], search: Search, *, copy_unknown: bool = False, variants: bool = False,
    total: int | None = None,
) -> Scores:  # fmt: skip
    """`rows` gives the same rows each time it is called. A language model is not decoded."""
    began = time.monotonic()
    outputs: list[str] = []
    references: list[list[str]] = []
    cut = 0
    # stories whose rows may name the sentences that the answer follows from
    told, looks = model.source if isinstance(model.source, Story) and model.looks and not model.others else None, Looks()
    if model.source is not None and model.system.writes:
        asked = questions(rows(), variants=variants or model.source.media)
        references = [[model.target.raw(answer) for answer in question.answers] for question in asked]
        with progress("decoding", len(asked)) as tick:
            found_by = model.predict_rows((question.row for question in asked), search, attention=told is not None, copy_unknown=copy_unknown, tick=tick)
            for question, found in zip(asked, found_by, strict=True):
                outputs.append(found.text)
                gold = told.facts(question.row.source) if told is not None else []
                if gold and found.trace is not None:
                    looks = looks.and_also(looked_at(found.trace.weights_THS[0], gold))
                cut += not found.finished
    nll, tokens, characters, unknown, count, impossible = 0.0, 0, 0, 0, 0, 0
    sources: set[str] = set()
    terms = dict.fromkeys(model.system.terms, 0.0)
    with progress("scoring", total) as tick:
        for row, score in zip(rows(), model.score_rows(rows(), tick=tick), strict=True):
            text = one_side(row)
            count += 1
            terms = {term: terms[term] - value for term, value in zip(terms, score.token_logprobs)}
            if math.isinf(score.logprob):
                impossible += 1
            else:
                nll, tokens = nll - score.logprob, tokens + len(score.token_logprobs)
                characters += len(model.target.normalise(text))
            unknown += model.target.encode(text).count(UNK)
            sources.add(_source(row))
    metrics = score_all(outputs, references) if outputs else {}
    if not model.system.writes:  # a picture's bound in nats: there are no tokens
        return Scores({"nll": nll / (count if terms else tokens), **{term: value / count for term, value in terms.items()}}, count, count - len(sources), 0, 0, time.monotonic() - began)
    metrics |= dict.fromkeys(("nll", "perplexity", "bits_per_character"), math.inf)
    if tokens:
        metrics |= {"nll": nll / tokens, "perplexity": perplexity(nll, tokens), "bits_per_character": bits_per_character(nll, characters)}
    if (pointed := pointing(model, rows())) is not None:
        metrics["pointing"] = pointed
    if looks.facts:
        metrics |= looks.shares()
    repeated = 0 if model.source is None else count - len(sources)
    return Scores(metrics, count, repeated, unknown, cut, time.monotonic() - began, impossible)

