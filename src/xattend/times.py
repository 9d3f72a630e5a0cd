"""When each word of a given text is said: forced alignment, in seconds.

CTC has a likeliest path through the text, and a label's frames are where that path says it (lattices/ctc.py). Of any other model a unit
lies where its weights are: around their largest, as far as they are at least half of it.

>>> lying(np.array([[0.1, 0.5, 0.4, 0.0], [0.0, 0.0, 0.2, 0.8]]))
[(1, 3), (3, 4)]

Shape suffixes: T target, S source positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from xattend.data.fields.sound import Sound
from xattend.data.readers.base import Row
from xattend.errors import UserError
from xattend.model import Model
from xattend.stream import Tick, stream
from xattend.systems.ctc import CTC

Span = tuple[int, int]


class Timed(NamedTuple):
    """A word, or a unit, and when it begins and ends, in seconds."""

    start: float
    end: float
    text: str


def lying(weights_TS: np.ndarray[Any, Any]) -> list[Span]:
    """For each unit the first position it looks at, and the one behind the last."""
    found = []
    for weights_S in weights_TS:
        first = last = int(weights_S.argmax())
        enough = weights_S >= weights_S[first] / 2
        while first > 0 and enough[first - 1]:
            first -= 1
        while last + 1 < len(weights_S) and enough[last + 1]:
            last += 1
        found.append((first, last + 1))
    return found


def time_rows(model: Model, rows: Iterable[Row], *, words: bool = True, tick: Tick | None = None) -> Iterator[list[Timed]]:
    """Of each row its words, or the model's units, with their times. A row that is too short for its text is the user's error."""
    if not isinstance(model.source, Sound) or model.others:
        raise UserError("times are of one model that reads sounds")
    model.must_look("aligning")
    source = model.source

    def answer(of: list[Row], _: list[None]) -> list[list[Timed]]:
        batch = model._batch(of)
        assert batch.target is not None
        weights = [weights_THS.float().mean(dim=1).numpy()[:-1] for weights_THS in model.system.align(batch)]
        paths = model.system.spans(batch) if isinstance(model.system, CTC) else [lying(weights_TS) for weights_TS in weights]
        found = []
        for row, ids, length, spans, weights_TS in zip(of, batch.target.values.tolist(), batch.target.lengths_B.tolist(), paths, weights, strict=True):
            if spans is None:
                raise UserError("the sound is too short for so many labels", file=row.file, line=row.line)
            each = source.seconds(row.source) / weights_TS.shape[1]
            found.append(_named(model, model.target.normalise(row.target or ""), ids[1 : length - 1], spans, each, words))
        return found

    return stream(zip(rows, repeat(None)), answer, tick, source.extent)


def _named(model: Model, text: str, ids: list[int], spans: list[Span], each: float, words: bool) -> list[Timed]:
    """`each` is the seconds of a position. What they are called is taken from the row's own text, in which nothing is unknown."""
    units = list(text) if len(text) == len(ids) else model.target.symbols(ids)
    if not words:
        return [Timed(each * start, each * end, unit) for unit, (start, end) in zip(units, spans, strict=True) if unit.strip()]
    numbers, own = _words(text) if len(text) == len(ids) else model.target.words(ids), text.split()
    found = []
    for number in dict.fromkeys(number for number in numbers if number >= 0):
        of = [place for place, other in enumerate(numbers) if other == number]
        named = own[number] if len(own) == max(numbers) + 1 else model.target.decode([ids[place] for place in of]).strip()
        if named:
            found.append(Timed(each * spans[of[0]][0], each * spans[of[-1]][1], named))
    return found


def _words(text: str) -> list[int]:
    """Of each character the number of its word, -1 between words.

    >>> _words("to be")
    [0, 0, -1, 1, 1]
    """
    numbers, number = [], -1
    for before, now in zip(" " + text, text, strict=False):
        number += before.isspace() and not now.isspace()
        numbers.append(-1 if now.isspace() else number)
    return numbers
