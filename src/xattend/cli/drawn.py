"""Where a model looked, drawn: in the terminal, and into a picture or film."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.data.fields.sound import Sound
    from xattend.model import Model
    from xattend.types import Prediction, Trace


def endings(trace: Trace) -> tuple[str, tuple[str, ...]]:
    """What a trace is drawn as, in words, and what the names of files for that may end in."""
    if trace.points_T3 is not None:
        return "strokes are drawn", (".svg",)
    if trace.boxes_TK4 is not None and trace.kind != "picture":
        return "windows into a picture are drawn", (".png", ".gif")
    if trace.boxes_TK4 is not None:
        return "looks and their weights are drawn", (".png", ".gif", ".svg")
    if trace.kind == "machine":
        return "the heads of a machine are drawn", (".png",)
    return "this model looks at positions, not through windows, and is drawn", (".svg", ".png")


def must_fit(trace: Trace, figure: Path) -> None:
    """Refuses a file of a kind that this trace cannot be drawn as."""
    said, fitting = endings(trace)
    if figure.suffix.lower() not in fitting:
        raise UserError(f"{said} as {' or '.join(fitting)}: end the file's name so", file=figure)


def draw(model: Model, found: Prediction, figure: Path | None, *, shown: bool) -> None:
    """One prediction's trace, by what it is a trace of: into the file, and in the terminal if it is to be `shown`."""
    from xattend.data.fields.media import Media
    from xattend.data.fields.sound import Sound
    from xattend.report import figure as figures
    from xattend.report import machine, overlay, sentences, windows

    trace = found.trace
    assert trace is not None
    if figure is not None:
        must_fit(trace, figure)
    if trace.points_T3 is not None and figure is not None:
        from xattend.report import strokes

        strokes.save(trace, figure)
        return
    if trace.boxes_TK4 is not None:
        if shown and trace.kind == "picture":
            draw_in_terminal(trace)
        if shown:
            click.echo("\n".join(windows.lines(trace)))
        if figure is not None and figure.suffix.lower() == ".svg":
            figures.save(trace, figure)  # words and looks, as a matrix
        elif figure is not None:
            assert isinstance(model.source, Media)
            pixels = model.source.shown(trace.media or "")
            windows.save(trace, pixels if pixels.ndim == 3 else pixels[0], figure)  # a film of one frame is a picture
        return
    if isinstance(model.source, Sound):
        if _draw_sound(model.source, trace, figure, shown=shown):
            return
        shown = False
    if shown:
        draw_in_terminal(trace)
    if figure is None:
        return
    if trace.kind == "machine":
        machine.save(trace, figure)
        return
    if isinstance(model.source, Media) and trace.media is not None and figure.suffix.lower() == ".png":
        seen = model.source.shown(trace.media)
        if overlay.fits(trace, seen):
            overlay.save(trace, seen, figure)
            return
    figures.save(sentences.by_hop(trace) if trace.kind == "memory" else trace, figure)


def _draw_sound(source: Sound, trace: Trace, figure: Path | None, *, shown: bool) -> bool:
    """Along time instead of position by position; True if nothing is left to draw."""
    import sys
    from dataclasses import replace

    from rich.console import Console

    from xattend.report import sound

    trace = replace(trace, seconds=source.seconds(trace.media or ""))
    if shown:
        click.echo("\n".join(sound.lines(trace, width=Console().width, ascii="utf" not in (sys.stdout.encoding or "").lower())))
    if figure is not None and figure.suffix.lower() == ".png":
        sound.save(trace, source.shown(trace.media or ""), figure)
        return True
    return figure is None


def draw_in_terminal(trace: Trace) -> None:
    """The attention matrix, as wide as the terminal; of a story its sentences, with what each hop saw in them."""
    import sys

    from rich.console import Console

    from xattend.report import machine, sentences, terminal

    if trace.kind == "memory":
        click.echo(sentences.listed(trace))
        return
    picture = machine.draw if trace.kind == "machine" else terminal.draw
    click.echo(picture(trace, width=Console().width, ascii="utf" not in (sys.stdout.encoding or "").lower()))
