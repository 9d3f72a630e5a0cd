"""Lines, bars and points as a picture: what a reproduction's figures are made of. Needs matplotlib (the extra `figures`).

>>> plot = Plot("BLEU by length", "words", "BLEU", lines={"search": [(5, 30.0), (10, 29.0)]})
>>> save(plot, "bleu.pdf")
Traceback (most recent call last):
xattend.errors.UserError: bleu.pdf: a figure's name must end in .svg or .png
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xattend.errors import UserError

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # Okabe and Ito: told apart by everyone
MARKS = "os^Dv<>"


@dataclass(frozen=True)
class Plot:
    """lines    by name: (x, y) points that are joined
    bars     by name: a value and its spread, 0 for none
    points   by group: (x, y, label)
    """

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    bars: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    points: Mapping[str, Sequence[tuple[float, float, str]]] = field(default_factory=dict)
    log_y: bool = False


def save(plot: Plot, path: str | Path) -> None:
    """Writes the picture; the name's ending says which kind: .svg or .png."""
    file = Path(path)
    if file.suffix.lower() not in (".svg", ".png"):
        raise UserError("a figure's name must end in .svg or .png", file=file)
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("plots need matplotlib: pip install 'xattend[figures]'") from None
    # the same picture gives the same file: no date in it, and ids from a fixed salt
    with rc_context({"svg.hashsalt": "xattend", "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.add_subplot()
        _draw(plot, axes)
        axes.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
        if plot.log_y:
            axes.set_yscale("log")
        if len(plot.lines) + len(plot.points) > 1:
            axes.legend(frameon=False, fontsize="small")
        try:
            figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix.lower() == ".svg" else None)
        except OSError as error:
            raise UserError(f"cannot write the figure: {error.strerror or error}", file=file) from None


def _draw(plot: Plot, axes: Any) -> None:
    for number, (name, line) in enumerate(plot.lines.items()):
        axes.plot(*zip(*line, strict=True), color=COLOURS[number % len(COLOURS)], marker=MARKS[number % len(MARKS)], markersize=4, label=name)
    for number, (name, (value, spread)) in enumerate(plot.bars.items()):
        axes.bar(name, value, yerr=spread or None, color=COLOURS[number % len(COLOURS)], capsize=3)
    if plot.bars:
        axes.tick_params(axis="x", rotation=30)
    for number, (name, group) in enumerate(plot.points.items()):
        axes.scatter([x for x, _, _ in group], [y for _, y, _ in group], color=COLOURS[number % len(COLOURS)],
                     marker=MARKS[number % len(MARKS)], label=name)  # fmt: skip
        for x, y, label in group:
            axes.annotate(label.replace("$", r"\$"), (x, y), fontsize=7, xytext=(3, 3), textcoords="offset points")
