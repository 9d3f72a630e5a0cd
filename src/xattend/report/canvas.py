"""Pictures that a model paints out of nothing, the canvas after every step:

    python -m xattend.report.canvas RUN samples.gif --pictures 64 --seed 1
    python -m xattend.report.canvas RUN samples.png --pictures 8

A .gif is a film of all pictures side by side; a .png has a row a picture, and a column a step.

>>> film_TBCHW = np.zeros((3, 4, 1, 28, 28), np.float32)
>>> sheet(film_TBCHW).size, [frame.size for frame in frames(film_TBCHW)]
((90, 120), [(60, 60), (60, 60), (60, 60)])
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
import numpy as np
from PIL import Image

from xattend.errors import UserError

GAP = 2  # pixels between pictures
MOST = 16  # columns of a sheet: of more steps some are left out, evenly
PACE, END = 150, 2000  # milliseconds a step of a film, and its last

Shares = np.ndarray[Any, np.dtype[np.float32]]


def sheet(film_TBCHW: Shares) -> Image.Image:
    """A row a picture, a column a step."""
    steps = film_TBCHW if len(film_TBCHW) <= MOST else film_TBCHW[np.linspace(0, len(film_TBCHW) - 1, MOST).round().astype(int)]
    return _tiled(np.swapaxes(steps, 0, 1).reshape(-1, *steps.shape[2:]), len(steps))


def frames(film_TBCHW: Shares) -> list[Image.Image]:
    """All pictures side by side, a frame a step."""
    across = math.ceil(math.sqrt(film_TBCHW.shape[1]))
    return [_tiled(canvas_BCHW, across) for canvas_BCHW in film_TBCHW]


def _tiled(pictures_NCHW: Shares, across: int) -> Image.Image:
    count, _, height, width = pictures_NCHW.shape
    page = np.full((-(-count // across) * (height + GAP), across * (width + GAP), 3), 96, np.uint8)
    for number, picture_CHW in enumerate(pictures_NCHW):
        y, x = number // across * (height + GAP), number % across * (width + GAP)
        page[y : y + height, x : x + width] = np.moveaxis(np.broadcast_to((255 * picture_CHW).round(), (3, height, width)), 0, -1)
    return Image.fromarray(page)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--pictures", type=click.IntRange(min=1, max=1024), default=16, show_default=True, help="How many.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the codes that are drawn.")
def main(run: Path, file: Path, pictures: int, seed: int) -> None:
    """Sample pictures from a RUN of the systems draw or vae into FILE (.png or .gif)."""
    from xattend.model import Model
    from xattend.systems.generative import Generative

    try:
        if file.suffix.lower() not in (".png", ".gif"):
            raise UserError("samples are drawn as .png, or as .gif for a film", file=file)
        system = Model.load(run).system
        if not isinstance(system, Generative):
            raise UserError("this run paints no pictures: its system is neither draw nor vae", file=run)
        film_TBCHW = system.sample(pictures, seed).numpy()
        if file.suffix.lower() == ".gif":
            first, *rest = frames(film_TBCHW)
            first.save(file, save_all=True, append_images=rest, duration=[PACE] * len(rest) + [END], loop=0)
        else:
            sheet(film_TBCHW).save(file)
    except UserError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{file}: cannot write: {error.strerror or error}") from None


if __name__ == "__main__":
    from xattend import cli

    cli.main(main)
