"""What a report shows of a model that writes no text: rows as it draws them, the least likely of them, and samples out of nothing.

DRAW and its control paint each row's picture again, a canvas a step; the system `write` draws the row's text with its pen, and beside it
stands how the row itself was written, with the model's window over it. A row's score is its log-likelihood: of a whole picture, or of a point.

>>> film_TBCHW = np.zeros((3, 4, 1, 28, 28), np.float32)
>>> painted(film_TBCHW, "4 pictures").pixels.shape
(3, 60, 60, 3)

Shapes: T steps, B pictures, C channels, H height, W width.
"""

from __future__ import annotations

import numpy as np

from xattend.data.readers.base import Row
from xattend.data.wanted import one_side
from xattend.model import Model, Score
from xattend.report.canvas import Shares, frames
from xattend.report.complete import complete
from xattend.report.page import Example
from xattend.report.strokes import lines
from xattend.systems.generative import Generative
from xattend.systems.write import Write
from xattend.types import EOS, Trace

PICTURES = 16  # samples that are painted out of nothing


def drawn(model: Model, rows: list[Row], scores: list[Score], count: int) -> tuple[list[Example], list[Example]]:
    """Rows equally spaced, after what was made out of nothing; and those that the model finds least likely."""
    each = [score.logprob / max(1, len(score.token_logprobs)) for score in scores]
    places = [number * len(rows) // count for number in range(count)] if count < len(rows) else list(range(len(rows)))
    worst = sorted(range(len(rows)), key=lambda place: (each[place], place))[:count]
    first = nothing(model) if count else []
    spaced, least = ([_shown(model, rows[place], each[place]) for place in chosen] for chosen in (places, worst))
    return first + spaced, least


def nothing(model: Model) -> list[Example]:
    """Pictures that a model paints by itself, all in one film."""
    if not isinstance(model.system, Generative):
        return []
    return [Example(painted(model.system.sample(PICTURES).numpy(), f"{PICTURES} pictures, painted out of nothing"), [])]


def painted(film_TBCHW: Shares, said: str) -> Trace:
    """A film of canvases, all pictures side by side: a trace without a look."""
    pixels = np.stack([np.asarray(frame) for frame in frames(film_TBCHW)])
    steps, nowhere = [str(step + 1) for step in range(len(pixels))], np.zeros((len(pixels), 0, 0), np.float32)
    return Trace([], steps, nowhere, (0,), kind="canvas", source_text="samples", target_text=said, pixels=pixels)


def _shown(model: Model, row: Row, each: float) -> Example:
    (found,) = model.predict_rows([row], model.search(), attention=True)
    what = "a point" if isinstance(model.system, Write) else "a row"
    given = _given(model, row) if isinstance(model.system, Write) else None
    return Example(complete(model, found, row.source), [], f"{-each:.2f} nats {what}", given)


def _given(model: Model, row: Row) -> Trace:
    """How a row was written, and where the window was while the model read it."""
    assert isinstance(model.system, Write)
    assert model.source is not None
    (weights_THS,) = model.system.align(model._batch([row]))
    source, target = model.source.as_source(model.source.encode(row.source)), model.target.encode(one_side(row))
    points_T3 = np.array(model.system.target.points(target), np.float32).reshape(-1, 3)
    return Trace(
        model.source.symbols(source), model.target.symbols([*target, EOS]), weights_THS.float().numpy(), (len(source),), kind="strokes",
        source_text=row.source, target_text=f"{len(points_T3):,} points, {len(lines(points_T3)):,} strokes", points_T3=points_T3,
        heads=["attention"],
    )  # fmt: skip
