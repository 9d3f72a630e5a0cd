"""A contact sheet: the first pictures of a task's test rows with their targets, in one PNG.

    python -m xattend.drawing.sheet words words.png --pictures 12 --set curved=0.5

>>> from xattend.data.tasks.scenes import Scenes
>>> contact_sheet(Scenes(rows=10), pictures=2, columns=2).size[0]
264
"""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from xattend import registry
from xattend.data.tasks.base import Frame, Task
from xattend.errors import UserError

if TYPE_CHECKING:
    from PIL.Image import Image

LINE, NARROWEST, MARGIN = 11, 128, 4  # pixels of a line of text, of a column, and around each picture
COLOURS = 128  # of the file
FILM = 5  # frames that stand for a film


def contact_sheet(task: Task, pictures: int = 8, columns: int = 4) -> Image:
    """Each picture of the first test rows once, above its first caption or all of its questions."""
    from PIL import Image, ImageDraw

    said: dict[str, list[str]] = {}
    for source, target in task.splits()["test"]:
        picture, _, question = source.partition("|")
        if picture not in said and len(said) == pictures:
            break
        told = said.setdefault(picture, [])
        if question or not told:  # one of its captions, all of its questions
            told.append(f"{question}? {target}" if question else target)
    strips = [strip(task.draw(picture.partition(":")[2])) for picture in said]
    wide, high = max(NARROWEST, *(shown.shape[1] for shown in strips)), max(shown.shape[0] for shown in strips)
    lines = [[line for text in told for line in textwrap.wrap(text, wide // 5)] for told in said.values()]
    below = LINE * max(map(len, lines))
    rows = -(-len(said) // columns)
    sheet = Image.new("RGB", (columns * (wide + MARGIN), rows * (high + below + MARGIN)), "white")
    write = ImageDraw.Draw(sheet)
    for number, (shown, text) in enumerate(zip(strips, lines, strict=True)):
        x, y = number % columns * (wide + MARGIN), number // columns * (high + below + MARGIN)
        sheet.paste(Image.fromarray(shown), (x, y))
        for line, part in enumerate(text):
            write.text((x, y + high + line * LINE), part, fill="black", font_size=10)
    return sheet


def strip(frames: list[Frame]) -> Frame:
    """A picture as it is, a film as some of its frames side by side."""
    if len(frames) == 1:
        return frames[0]
    chosen = [frames[round(part * (len(frames) - 1) / (FILM - 1))] for part in range(FILM)]
    return np.concatenate([np.pad(frame, ((0, 0), (0, 2), (0, 0)), constant_values=255) for frame in chosen], axis=1)


@click.command()
@click.argument("task", metavar="TASK")
@click.argument("file", metavar="FILE.png", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--pictures", default=8, type=click.IntRange(1, 1000), help="How many.")
@click.option("--columns", default=4, type=click.IntRange(1, 100), help="How many side by side.")
@click.option("-s", "--set", "given", multiple=True, metavar="KEY=VALUE", help="A setting of the task.")
def main(task: str, file: Path, pictures: int, columns: int, given: tuple[str, ...]) -> None:
    """Draw the first test pictures of TASK, with what is said of them."""
    from PIL.Image import Dither, Quantize

    try:
        sheet = contact_sheet(registry.build("task", task, **_settings(given)), pictures, columns)
    except UserError as error:
        raise click.ClickException(str(error)) from None
    # grain does not compress: with fewer colours the file is a third as large
    sheet.quantize(COLOURS, method=Quantize.FASTOCTREE, dither=Dither.NONE).save(file, optimize=True)


def _settings(given: tuple[str, ...]) -> dict[str, Any]:
    try:
        return tomllib.loads("\n".join(given))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"--set takes KEY=VALUE, the value as in a recipe: {error}") from None


if __name__ == "__main__":
    main()
