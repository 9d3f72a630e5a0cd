"""`xattend view`: a page on this machine to ask a model, see where it looks, and lay a hand on it."""

from __future__ import annotations

from pathlib import Path

import click

from xattend.cli import options
from xattend.errors import UserError


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN [RUN2]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Where to listen on 127.0.0.1. Default: a free port.")
@click.option("--no-browser", is_flag=True, help="Say the address, and open no browser.")
@click.option("--seconds", type=click.FloatRange(min=0), metavar="S", help="Stop after so long. Default: when Ctrl-C is pressed.")
@options.plugin
def command(runs: tuple[Path, ...], port: int, no_browser: bool, seconds: float | None) -> None:
    """Open a page that shows what RUN writes and where it looks; with RUN2, both on one input.

    The page is served to this machine alone and loads nothing from anywhere.

    \b
    xattend view runs/names
    xattend view runs/names runs/others --port 8000
    """
    if len(runs) > 2:
        raise UserError(f"one run, or two to compare, not {len(runs)}")
    import threading
    import webbrowser

    from xattend.model import Model
    from xattend.viewer.host import Host

    models = [(_name(run), Model.load(run)) for run in runs]
    with Host(models, port) as host:
        click.echo(f"{' and '.join(name for name, _ in models)}: {host.url}   (Ctrl-C stops)")
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=(host.url,), daemon=True).start()
        if seconds is not None:
            threading.Timer(seconds, host.shutdown).start()
        try:
            host.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            click.echo("\nstopped")


def _name(run: Path) -> str:
    """What the page calls a run: its folder."""
    return run.resolve().name or str(run)
