"""Where each word looked in a sound: the spectrogram, and below it a row of weights a word, on one axis of time.

>>> trace = Trace(["0", "1", "2", "3"], ["3"], np.array([[[0.0, 0.9, 0.1, 0.0]]], dtype=np.float32), (4,), kind="sound", seconds=0.8)
>>> print(chr(10).join(lines(trace, width=12, ascii=True)).replace(" ", "~"))
0.0s~~~~0.8s
3~~~###...

Shape suffixes: T target, S source.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rich.cells import cell_len, set_cell_size

from xattend.errors import UserError
from xattend.report.matrix import label
from xattend.report.terminal import ASCII_SHADES, SHADES, STEPS
from xattend.times import lying
from xattend.types import Trace

WIDE, HIGH, LINE, MARGIN, WHEN = 900, 160, 26, 70, 110  # pixels: of the spectrogram, of a word's row, of what is written at the left and at the right

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def stretched(row_S: np.ndarray[Any, Any], cells: int) -> np.ndarray[Any, Any]:
    """A row of weights as so many cells: the largest that falls into each, or the one that it lies in."""
    edges = np.linspace(0, len(row_S), cells + 1)
    first, last = np.floor(edges[:-1]).astype(int), np.maximum(np.ceil(edges[1:]).astype(int), np.floor(edges[:-1]).astype(int) + 1)
    return np.array([row_S[a:b].max(initial=0.0) for a, b in zip(first, last, strict=True)])


def lines(trace: Trace, *, width: int = 80, ascii: bool = False) -> list[str]:
    """For the terminal: an axis of time, and a line a word."""
    words = [label(token) for token in trace.target_tokens]
    margin = max(map(cell_len, words), default=0)
    cells = max(1, width - margin - 1)
    ramp = ASCII_SHADES if ascii else SHADES
    end = f"{trace.seconds or 0.0:.1f}s"
    left = "0.0s".ljust(margin + 1)
    found = [left + end.rjust(max(len(end), width - len(left)))]
    for word, row_S in zip(words, trace.weights_THS.mean(axis=1), strict=True):
        level = np.digitize(stretched(row_S / max(float(row_S.max(initial=0.0)), 1e-9), cells), STEPS)
        found.append((set_cell_size(word, margin) + " " + "".join(ramp[one] for one in level)).rstrip())
    return found


def save(trace: Trace, spectrogram: Pixels, path: str | Path) -> None:
    """Writes a .png."""
    file = Path(path)
    if file.suffix.lower() != ".png":
        raise UserError("where a model looked in a sound is drawn as .png", file=file)
    try:
        picture(trace, spectrogram).save(file)
    except OSError as error:
        raise UserError(f"cannot write the figure: {error.strerror or error}", file=file) from None


def picture(trace: Trace, spectrogram: Pixels) -> Image.Image:
    """The spectrogram, low bands below, and the weights, dark where looked at; at the right when that is (times.py)."""
    words = [label(token) for token in trace.target_tokens]
    page = Image.new("RGB", (MARGIN + WIDE + WHEN, 10 + HIGH + LINE + LINE * len(words)), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(14)
    page.paste(Image.fromarray(np.ascontiguousarray(255 - spectrogram)).resize((WIDE, HIGH), Image.Resampling.BILINEAR), (MARGIN, 5))
    seconds = trace.seconds or 0.0
    for part in range(5):
        pen.text((MARGIN + part * WIDE // 4 - (30 if part == 4 else 0), HIGH + 8), f"{seconds * part / 4:.2f}s", fill="black", font=font)
    for number, (word, row_S) in enumerate(zip(words, trace.weights_THS.mean(axis=1), strict=True)):
        grey = 255 - np.rint(255 * stretched(row_S / max(float(row_S.max(initial=0.0)), 1e-9), WIDE)).astype(np.uint8)
        y = 10 + HIGH + LINE + LINE * number
        page.paste(Image.fromarray(np.repeat(grey[None], LINE - 2, axis=0)), (MARGIN, y))
        pen.text((4, y + 4), word[:8], fill="black", font=font)
        if len(row_S):
            ((first, last),) = lying(row_S[None])
            pen.text((MARGIN + WIDE + 6, y + 4), f"{seconds * first / len(row_S):.2f} to {seconds * last / len(row_S):.2f}s", fill="black", font=font)
    return page
