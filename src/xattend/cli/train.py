"""xattend train: a recipe becomes a run."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from xattend.cli import options
from xattend.errors import UserError


@click.command()
@click.argument("recipe", required=False)
@options.settings
@click.option("--out", type=click.Path(path_type=Path), metavar="RUN", help="The run directory. Default: runs/RECIPE-DATE-TIME.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="RUN", help="Go on with this run.")
@click.option("--overwrite", is_flag=True, help="Replace the run that --out holds.")
@options.data
@options.plugin
def command(
    recipe: str | None, overrides: tuple[str, ...], out: Path | None, resume: Path | None, overwrite: bool, data_dir: Path | None
) -> None:
    """Train RECIPE (a file, or a name from `xattend recipes`), or go on with a run.

    \b
    xattend train transliterate -s training.minutes=2 --out runs/names
    xattend train --resume runs/names
    """
    if (recipe is None) == (resume is None):
        raise UserError("give either a recipe or --resume RUN")
    if resume is not None and (out is not None or overwrite):
        raise UserError("--resume goes on in its own directory: take --out and --overwrite away")
    from rich.console import Console

    from xattend import job

    console = Console()
    if resume is not None:
        path, result = resume, job.resume(resume, overrides=overrides, data_dir=data_dir, console=console)
    else:
        assert recipe is not None
        path = out or Path("runs") / f"{Path(recipe).stem}-{time.strftime('%Y%m%d-%H%M%S')}"
        _, result = job.start(recipe, out=path, overrides=overrides, data_dir=data_dir, overwrite=overwrite, console=console)
    if result.exit_code == 0 and os.environ.get("RANK", "0") == "0":  # of several processes one says it
        console.print(f"xattend evaluate {path}   xattend predict {path} TEXT", highlight=False)
    sys.exit(result.exit_code)
