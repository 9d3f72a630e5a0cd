"""Pen strokes as SVG: standing still, or drawing themselves at the pace of the pen; with the window over the text, if there is one.

    python -m xattend.report.strokes RUN "some text" text.svg --animated --bias 1 --seed 3

The upper half shows the strokes; below, each column is a point of the pen and each line a character of the text, the darker the more the
window weighs it. An animated drawing needs no script: the strokes are dashes that grow.

>>> drawing = svg(np.array([[0, 0, 0], [50, 0, 1], [0, 50, 0], [50, 0, 1]], np.float32))
>>> drawing.count("<polyline"), 'points="10,10 60,10"' in drawing
(2, True)

Shapes: T points, S characters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import click
import numpy as np

from xattend.errors import UserError
from xattend.types import Trace

MARGIN, LINE = 10, 14  # units round the strokes, and of a line of the window's map
PACE = 0.012  # seconds a point
WIDTH = 900  # pixels, at most
SHOWN = 0.02  # fainter weights are left out

Points = np.ndarray[Any, np.dtype[np.float32]]


def lines(points_T3: Points) -> list[list[tuple[float, float]]]:
    """Each stroke as the places that the pen goes to, from 0, 0 on.

    >>> lines(np.array([[1, 2, 0], [3, 0, 1], [1, 1, 1]], np.float32))
    [[(1.0, 2.0), (4.0, 2.0)], [(5.0, 3.0)]]
    """
    found: list[list[tuple[float, float]]] = [[]]
    for (x, y), up in zip(np.cumsum(points_T3[:, :2], axis=0).tolist(), points_T3[:, 2].tolist(), strict=True):
        found[-1].append((x, y))
        if up:
            found.append([])
    return [stroke for stroke in found if stroke]


def svg(points_T3: Points, *, weights_TS: Points | None = None, text: list[str] | None = None, animated: bool = False) -> str:
    """The drawing as a document."""
    strokes = lines(points_T3)
    every = np.array([place for stroke in strokes for place in stroke] or [(0.0, 0.0)])
    (left, top), (right, bottom) = every.min(axis=0), every.max(axis=0)
    width, height = right - left + 2 * MARGIN, bottom - top + 2 * MARGIN
    parts, begun = list[str](), 0
    for stroke in strokes:
        places = [(x - left + MARGIN, y - top + MARGIN) for x, y in stroke]
        if len(places) == 1:
            places *= 2  # a dot
        told = " ".join(f"{x:g},{y:g}" for x, y in np.round(places, 1).tolist())
        grows = ""
        if animated:
            grows = (
                ' pathLength="1" stroke-dasharray="1" stroke-dashoffset="1"><animate attributeName="stroke-dashoffset" '
                'from="1" to="0" '
                f'begin="{PACE * begun:.2f}s" dur="{PACE * len(stroke):.2f}s" fill="freeze"/></polyline'
            )
        parts.append(f'<polyline points="{told}"{grows}>' if animated else f'<polyline points="{told}"/>')
        begun += len(stroke)
    drawn = ['<g fill="none" stroke="#123" stroke-width="5" stroke-linecap="round" stroke-linejoin="round">', *parts, "</g>"]
    if weights_TS is not None and len(weights_TS):
        drawn += _window(weights_TS, text or [""] * weights_TS.shape[1], width, height)
        height += LINE * weights_TS.shape[1] + MARGIN
    pixels = min(WIDTH, round(width))
    size = f'width="{pixels}" height="{round(pixels * height / width)}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:g} {height:g}">',
        '<rect width="100%" height="100%" fill="#fff"/>', *drawn, "</svg>", "",
    ])  # fmt: skip


def _window(weights_TS: Points, text: list[str], width: float, top: float) -> list[str]:
    """A line a character; steps are squeezed into the width of the strokes."""
    found = [f'<g font-family="monospace" font-size="{LINE - 2}">']
    column = max(width - 3 * MARGIN, 1) / len(weights_TS)  # of a drawing hardly wider than its margins, too
    for place, character in enumerate(text):
        y = top + LINE * place
        found.append(f'<text x="2" y="{y + LINE - 3:g}">{escape("␣" if character == " " else character)}</text>')
        for step in np.flatnonzero(weights_TS[:, place] > SHOWN).tolist():
            dark = min(1.0, float(weights_TS[step, place]))
            x, size = f"{3 * MARGIN + step * column:.1f}", f'width="{column:.2f}" height="{LINE}"'
            found.append(f'<rect x="{x}" y="{y:g}" {size} fill="#123" fill-opacity="{dark:.2f}"/>')
    return [*found, "</g>"]


def of_trace(trace: Trace, *, animated: bool = False) -> str:
    """The drawing of a trace of kind "strokes"."""
    assert trace.points_T3 is not None
    return svg(trace.points_T3, weights_TS=trace.weights_THS.mean(axis=1), text=trace.source_tokens, animated=animated)


def save(trace: Trace, path: str | Path, *, animated: bool = False) -> None:
    """Writes an .svg file."""
    file = Path(path)
    if file.suffix.lower() != ".svg":
        raise UserError("strokes are drawn as .svg", file=file)
    try:
        file.write_text(of_trace(trace, animated=animated), "utf-8")
    except OSError as error:
        raise UserError(f"cannot write the figure: {error.strerror or error}", file=file) from None


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("text")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--animated", is_flag=True, help="The strokes draw themselves.")
@click.option("--bias", type=click.FloatRange(min=0), default=0.0, show_default=True, help="0: as varied as the data; 1 or more: neat.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the sample.")
@click.option("--prime", metavar="DRAWING", help="A drawing whose hand to go on in: 'handwriting:17 some text'.")
def main(run: Path, text: str, file: Path, animated: bool, bias: float, seed: int, prime: str | None) -> None:
    """Write TEXT with a RUN of the system write, and draw it into FILE (.svg)."""
    from xattend.model import Model
    from xattend.systems.write import Write

    try:
        model = Model.load(run)
        if not isinstance(model.system, Write):
            raise UserError("this run writes no strokes: its system is not write", file=run)
        model.system.bias, model.system.seed, model.system.prime = bias, seed, prime
        found = model.predict(text, attention=True)
        assert found.trace is not None
        save(found.trace, file, animated=animated)
    except UserError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    from xattend import cli

    cli.main(main)
