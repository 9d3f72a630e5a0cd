"""Where each word looked in a picture, as in Xu et al. 2015, fig. 3: a strip of the picture, once a word, bright where the weight is.

A step's brightest place is its largest weight, which is written beside the word; weights lie on a coarse grid and are drawn smoothly.

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
DARK = 0.25  # what is left of the picture where nothing was looked at

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def save(trace: Trace, picture: Pixels, path: str | Path) -> None:
    """Writes the strip as .png."""
    file = Path(path)
    if file.suffix.lower() != ".png":
        raise UserError("where a model looked in a picture is drawn as .png", file=file)
    try:
        strip(trace, picture).save(file)
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


def _fit(size: tuple[int, int]) -> tuple[int, int]:
    scale = TILE / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _lit(shown: Image.Image, weights_hw: np.ndarray[Any, np.dtype[np.float32]]) -> Image.Image:
    """The picture, bright where the weights are."""
    level = weights_hw / max(float(weights_hw.max()), 1e-9)
    smooth = np.asarray(Image.fromarray(level.astype(np.float32)).resize(shown.size, Image.Resampling.BICUBIC))
    light = DARK + (1 - DARK) * np.clip(smooth, 0.0, 1.0)
    return Image.fromarray((np.asarray(shown) * light[:, :, None]).astype(np.uint8))
