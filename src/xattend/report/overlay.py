"""Where each word looked in a picture, as in Xu et al. 2015, fig. 3: a strip of the picture, once a word, bright where the weight is.

A step's brightest place is its largest weight, which is written beside the word; weights lie on a coarse grid and are drawn smoothly. Of a
film there is a row of its frames a word, as in Yao et al. 2015, fig. 4.

>>> trace = Trace(["0,0", "0,1"], ["dog"], np.array([[[0.9, 0.1]]], dtype=np.float32), (1, 2), media="dog.jpg")
>>> strip(trace, np.full((10, 20, 3), 200, np.uint8)).size
(332, 110)

Shape suffixes: T target, S source, H heads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from xattend.errors import UserError
from xattend.report.matrix import label
from xattend.types import Trace

TILE, GAP, LINE, ACROSS = 160, 4, 22, 6  # pixels: longer side of a tile, around it, height of a line of text; tiles in a row
FRAME, WORD = 64, 120  # pixels: longer side of a film's frame, width of the words beside them
DARK = 0.25  # what is left of the picture where nothing was looked at

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def fits(trace: Trace, picture: Pixels) -> bool:
    """Whether the weights lie on a picture's places, or on the frames of a film."""
    return len(trace.grid) == 2 if picture.ndim == 3 else trace.grid == (len(picture),)


def save(trace: Trace, picture: Pixels, path: str | Path) -> None:
    """Writes the strip of a picture, or of a film's frames, as .png."""
    file = Path(path)
    if file.suffix.lower() != ".png":
        raise UserError("where a model looked in a picture is drawn as .png", file=file)
    try:
        (film_strip if picture.ndim == 4 else strip)(trace, picture).save(file)
    except OSError as error:
        raise UserError(f"cannot write the figure: {error.strerror or error}", file=file) from None


def strip(trace: Trace, picture: Pixels) -> Image.Image:
    """The picture itself, then one tile a word, in rows."""
    height, width = trace.grid
    shown = Image.fromarray(picture)
    shown = shown.resize(_fit(shown.size), Image.Resampling.BICUBIC)
    tiles = [(shown, "")]
    for token, weights_S in zip(trace.target_tokens, trace.weights_THS.mean(axis=1), strict=True):
        tiles.append((_lit(shown, weights_S.reshape(height, width)), f"{label(token)}  {float(weights_S.max()):.2f}"))
    across, (wide, high) = min(ACROSS, len(tiles)), (shown.width + GAP, shown.height + LINE + GAP)
    page = Image.new("RGB", (GAP + across * wide, GAP + -(-len(tiles) // across) * high), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(14)
    for number, (tile, text) in enumerate(tiles):
        x, y = GAP + number % across * wide, GAP + number // across * high
        pen.text((x + 2, y + 2), text, fill="black", font=font)
        page.paste(tile, (x, y + LINE))
    return page


def film_strip(trace: Trace, frames: Pixels) -> Image.Image:
    """A film's frames in a row, then the same once a word, each as bright as its weight; the largest is written beside the word."""
    small = [Image.fromarray(frame) for frame in frames]
    small = [frame.resize(_fit(frame.size, FRAME), Image.Resampling.BICUBIC) for frame in small]
    weights_TS = trace.weights_THS.mean(axis=1)
    lines = [("", np.ones(len(small)))]
    for token, row_S in zip(trace.target_tokens, weights_TS, strict=True):
        most = float(row_S.max())
        lines.append((f"{label(token)}  {most:.2f}", row_S / max(most, 1e-9)))
    wide, high = small[0].width + GAP, small[0].height + GAP
    page = Image.new("RGB", (GAP + WORD + len(small) * wide, GAP + len(lines) * high), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(14)
    for down, (text, levels_S) in enumerate(lines):
        y = GAP + down * high
        pen.text((GAP, y + (high - LINE) // 2), text, fill="black", font=font)
        for across, (frame, level) in enumerate(zip(small, levels_S, strict=True)):
            page.paste(frame.point(lambda value, light=DARK + (1 - DARK) * level: value * light), (GAP + WORD + across * wide, y))
    return page


def _fit(size: tuple[int, int], longer: int = TILE) -> tuple[int, int]:
    scale = longer / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _lit(shown: Image.Image, weights_hw: np.ndarray[Any, np.dtype[np.float32]]) -> Image.Image:
    """The picture, bright where the weights are."""
    level = weights_hw / max(float(weights_hw.max()), 1e-9)
    smooth = np.asarray(Image.fromarray(level.astype(np.float32)).resize(shown.size, Image.Resampling.BICUBIC))
    light = DARK + (1 - DARK) * np.clip(smooth, 0.0, 1.0)
    return Image.fromarray((np.asarray(shown) * light[:, :, None]).astype(np.uint8))
