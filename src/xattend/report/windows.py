"""Windows that a model looked through, drawn into the picture: RAM's path with the patches of its retina, DRAW's reading and writing, and its canvas.

A .png is a strip, one tile a look; a .gif is the same as a film. For RAM a tile is the picture with the look's patches, and the path so far; for a
model that paints it is the canvas with the window that was read through (green) and that was written through (red). For one that looks first and
then writes words by attention to its looks (kind `picture`) a tile is a word: all windows, each as opaque as its weight, the largest weight's with its number.

>>> trace = Trace(["0,0"], ["1", "2"], np.ones((2, 1, 1), np.float32), (1, 1), boxes_TK4=np.array([[[0, 0, 0.5, 0.5]], [[0.5, 0.5, 1, 1]]], np.float32))
>>> lines(trace)
['1  across 0.25  down 0.25  wide 0.50', '2  across 0.75  down 0.75  wide 0.50']
>>> strip(trace, np.zeros((28, 28, 3), np.uint8)).size
(496, 190)

Shapes: T looks, or words; K boxes a look, or looks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from xattend.errors import UserError
from xattend.report.matrix import label
from xattend.types import Trace

TILE, GAP, LINE, ACROSS = 160, 4, 22, 8  # pixels: longer side of a tile, around it, height of a line of text; tiles in a row
MOST = 32  # tiles of a strip: of more looks some are left out, evenly
PACE, END = 250, 1500  # milliseconds a look of a film, and its last
COLOURS = {"read": (64, 220, 96), "write": (240, 64, 64)}
PATCHES = [(255, 220, 64), (255, 160, 64), (255, 96, 64), (220, 64, 128)]  # of a retina, finest first
FAINT = 0.12  # opacity of a window that a word gives no weight
LOOK = (220, 64, 128)  # of such windows

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def lines(trace: Trace) -> list[str]:
    """Each window of each look in words: its centre, and how wide it is, as shares of the picture. Of a retina's patches, round one centre, the first."""
    assert trace.boxes_TK4 is not None
    if trace.kind == "picture":  # a box a look, the same for every word
        return [f"look {_said(name, box)}" for boxes_K4 in trace.boxes_TK4[:1] for name, box in zip(trace.source_tokens, boxes_K4.tolist(), strict=True)]
    several = len(trace.heads) == trace.boxes_TK4.shape[1] > 1
    names = [f"  {head:{max(map(len, trace.heads))}}" for head in trace.heads] if several else [""]
    return [
        _said(step + name, box)
        for step, boxes_K4 in zip(trace.target_tokens, trace.boxes_TK4, strict=True)
        for name, box in zip(names, boxes_K4.tolist())
    ]


def _said(name: str, box: list[float]) -> str:
    left, top, right, bottom = box
    return f"{name}  across {(left + right) / 2:.2f}  down {(top + bottom) / 2:.2f}  wide {right - left:.2f}"


def save(trace: Trace, picture: Pixels, path: str | Path) -> None:
    """Writes a strip (.png) or a film (.gif)."""
    file = Path(path)
    if file.suffix.lower() not in (".png", ".gif"):
        raise UserError("windows into a picture are drawn as .png, or as .gif for a film", file=file)
    try:
        if file.suffix.lower() == ".gif":
            first, *rest = [_titled(tile, text) if trace.kind == "picture" else tile for tile, text in tiles(trace, picture)]
            first.save(file, save_all=True, append_images=rest, duration=[PACE] * len(rest) + [END], loop=0)
        else:
            strip(trace, picture).save(file)
    except OSError as error:
        raise UserError(f"cannot write the figure: {error.strerror or error}", file=file) from None


def _titled(tile: Image.Image, text: str) -> Image.Image:
    """Below its name: a film of words must say which."""
    page = Image.new("RGB", (tile.width, tile.height + LINE), "white")
    ImageDraw.Draw(page).text((2, 2), text, fill="black", font=ImageFont.load_default(14))
    page.paste(tile, (0, LINE))
    return page


def strip(trace: Trace, picture: Pixels) -> Image.Image:
    """The picture, then one tile a look, in rows; of many looks some, the last among them."""
    every = tiles(trace, picture)
    looks = every[1:]
    kept = looks if len(looks) <= MOST else [looks[place] for place in np.linspace(0, len(looks) - 1, MOST).round().astype(int)]
    shown = [every[0], *kept]
    across, (wide, high) = min(ACROSS, len(shown)), (every[0][0].width + GAP, every[0][0].height + LINE + GAP)
    page = Image.new("RGB", (GAP + across * wide, GAP + -(-len(shown) // across) * high), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(14)
    for number, (tile, text) in enumerate(shown):
        x, y = GAP + number % across * wide, GAP + number // across * high
        pen.text((x + 2, y + 2), text, fill="black", font=font)
        page.paste(tile, (x, y + LINE))
    return page


def tiles(trace: Trace, picture: Pixels) -> list[tuple[Image.Image, str]]:
    """The picture itself, and each look, or each word, with its name."""
    assert trace.boxes_TK4 is not None
    if trace.kind == "picture":
        return _words(trace, _large(picture))
    shown = _large(picture)
    grounds = [shown] * len(trace.boxes_TK4) if trace.kind != "canvas" or trace.pixels is None else [_large(canvas) for canvas in trace.pixels]
    found, path = [(shown, "")], list[tuple[float, float]]()
    for step, ground, boxes_K4 in zip(trace.target_tokens, grounds, trace.boxes_TK4, strict=True):
        tile = ground.copy()
        pen = ImageDraw.Draw(tile)
        colours = [COLOURS.get(head, PATCHES[0]) for head in trace.heads] if len(trace.heads) == len(boxes_K4) else PATCHES
        for number, (left, top, right, bottom) in enumerate(boxes_K4.tolist()):
            corners = (left * tile.width, top * tile.height, right * tile.width - 1, bottom * tile.height - 1)
            if trace.kind == "canvas":  # a window that is wider than the picture is seen at its edge
                corners = (max(corners[0], 0), max(corners[1], 0), min(corners[2], tile.width - 1), min(corners[3], tile.height - 1))
            if corners[2] > corners[0] and corners[3] > corners[1]:
                pen.rectangle(corners, outline=colours[number % len(colours)], width=2)
        if trace.kind != "canvas":
            left, top, right, bottom = boxes_K4[0].tolist()
            path.append(((left + right) / 2 * tile.width, (top + bottom) / 2 * tile.height))
            _walk(pen, path)
        found.append((tile, step))
    return found


def _words(trace: Trace, shown: Image.Image) -> list[tuple[Image.Image, str]]:
    """The picture, and once a word with all windows as opaque as their share of its largest weight, that one on top."""
    assert trace.boxes_TK4 is not None
    found, font = [(shown, "")], ImageFont.load_default(14)
    for word, weights_S, boxes_S4 in zip(trace.target_tokens, trace.weights_THS.mean(axis=1), trace.boxes_TK4, strict=True):
        tile, order = shown.convert("RGBA"), np.argsort(weights_S, kind="stable").tolist()
        for look in order:
            sheet = Image.new("RGBA", tile.size)
            pen, share = ImageDraw.Draw(sheet), float(weights_S[look]) / max(float(weights_S.max()), 1e-9)
            colour = (*LOOK, round(255 * (FAINT + (1 - FAINT) * share)))
            left, top, right, bottom = np.clip(boxes_S4[look], 0, 1).tolist()  # a window that is wider than the picture is seen at its edge
            corners = (left * tile.width, top * tile.height, right * tile.width - 1, bottom * tile.height - 1)
            if corners[2] > corners[0] and corners[3] > corners[1]:
                pen.rectangle(corners, outline=colour, width=2)
                if look == order[-1]:
                    pen.text((corners[0] + 5, corners[1] + 3), trace.source_tokens[look], fill=colour, font=font, stroke_width=2, stroke_fill="white")
            tile = Image.alpha_composite(tile, sheet)
        most = f"look {trace.source_tokens[order[-1]]}: {float(weights_S.max()):.2f}" if order else ""
        found.append((tile.convert("RGB"), f"{label(word)}  {most}"))
    return found


def _walk(pen: ImageDraw.ImageDraw, path: list[tuple[float, float]]) -> None:
    """Where it has looked so far."""
    if len(path) > 1:
        pen.line(path, fill=(96, 160, 255), width=2)
    x, y = path[-1]
    pen.ellipse((x - 3, y - 3, x + 3, y + 3), fill=(96, 160, 255))


def _large(picture: Pixels) -> Image.Image:
    found = Image.fromarray(picture)
    scale = TILE / max(found.size)
    return found.resize((max(1, round(found.width * scale)), max(1, round(found.height * scale))), Image.Resampling.NEAREST)
