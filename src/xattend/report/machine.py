"""Where the heads of a machine with a memory were: for the terminal, and as a strip of pictures.

In the terminal a panel a head, a row a step and a column a slot; what the machine writes is marked `>`. As a picture time goes to the right:
slots of each head one below the other, how full they are, and what they hold, a block of colours a slot (blue below 0, red above).

>>> weights_THN = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.2], [0.0, 0.9]]], dtype=np.float32)
>>> trace = Trace(["0", "1"], ["01", "> 01"], weights_THN, (2,), kind="machine", heads=["write 1", "read 1"])
>>> print(draw(trace, ascii=True).replace(" ", "~"))  # doctest cannot see spaces
write~1
~~01~#
>~01~~.
read~1
~~01
>~01~~#
#~=~1.00

Shapes: T steps, H heads, N slots, M width of a slot.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from xattend.errors import UserError
from xattend.report.matrix import label
from xattend.report.terminal import ASCII_SHADES, SHADES, STEPS
from xattend.types import Trace

Floats = np.ndarray[Any, np.dtype[np.float32]]
Pixels = np.ndarray[Any, np.dtype[np.uint8]]
CELL, GAP, TITLE = 6, 10, 14  # pixels of a step and slot, between panels, of a panel's name
LIMIT = 32_000  # pixels of a side


def used(weights_THN: Floats, least: float = 0.05) -> int:
    """Slots up to the last that any head looked at."""
    looked_N = np.flatnonzero((weights_THN >= least).any(axis=(0, 1)))
    return int(looked_N[-1]) + 1 if len(looked_N) else 1


def draw(trace: Trace, *, width: int = 80, ascii: bool = False) -> str:
    """Lines of text, none wider than `width`; slots that no head came to and that stand after all others are left out and counted."""
    ramp = ASCII_SHADES if ascii else SHADES
    tokens = [label(token.removeprefix("> "), ascii=ascii) for token in trace.target_tokens]
    margin = max(map(len, tokens), default=0)
    marks = [">" if token.startswith("> ") else " " for token in trace.target_tokens]
    slots = trace.weights_THS.shape[2]
    shown = min(used(trace.weights_THS), max(1, width - margin - 3))
    lines = []
    for number, name in enumerate(trace.heads):
        level_TN = np.digitize(trace.weights_THS[:, number, :shown], STEPS)
        lines.append(name)
        lines += [
            f"{mark} {token:{margin}} {''.join(ramp[level] for level in row)}".rstrip() for mark, token, row in zip(marks, tokens, level_TN.tolist())
        ]
    lines.append(f"{ramp[-1]} = 1.00" + (f"; {slots - shown} of {slots} slots are not shown" if shown < slots else ""))
    return "\n".join(lines)


def strip(trace: Trace) -> Image.Image:
    """All panels one below the other."""
    panels: list[tuple[str, Pixels]] = [
        (name, _grey(trace.weights_THS[:, number].T)) for number, name in enumerate(trace.heads)
    ]  # fmt: skip
    if trace.usage_TN is not None:
        panels.append(("usage", _grey(trace.usage_TN.T)))
    if trace.contents_TNM is not None:
        steps, slots, width = trace.contents_TNM.shape
        panels.append(("memory, a band a slot", _coloured(trace.contents_TNM.transpose(1, 2, 0).reshape(slots * width, steps))))
    heights = [TITLE + pixels.shape[0] * (1 if name.startswith("memory") else CELL) + GAP for name, pixels in panels]
    size = len(trace.target_tokens) * CELL + 2 * GAP, sum(heights) + GAP
    if max(size) > LIMIT:
        raise UserError(f"a picture of {size[0]} x {size[1]} pixels is too large: give a shorter text, or fewer slots with -s system.slots=N")
    sheet = Image.new("RGB", size, "white")
    pen, top = ImageDraw.Draw(sheet), GAP
    answer = [number for number, token in enumerate(trace.target_tokens) if token.startswith("> ")]
    for (name, pixels), height in zip(panels, heights):
        pen.text((GAP, top), name, fill="black")
        drawn = Image.fromarray(pixels).resize((pixels.shape[1] * CELL, height - TITLE - GAP), Image.Resampling.NEAREST)
        sheet.paste(drawn, (GAP, top + TITLE))
        if answer:
            x = GAP + answer[0] * CELL
            pen.line([(x, top + TITLE), (x, top + height - GAP)], fill=(220, 60, 40))
        top += height
    return sheet


def save(trace: Trace, path: str | Path) -> None:
    """Writes the strip; the name must end in .png."""
    file = Path(path)
    if file.suffix.lower() != ".png":
        raise UserError("the heads of a machine are drawn as a .png", file=file)
    try:
        strip(trace).save(file)
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror or error}", file=file) from None


def _grey(values_NT: Floats) -> Pixels:
    """White is 0, black 1."""
    shade = (255 * (1 - np.clip(values_NT, 0, 1))).astype(np.uint8)
    return np.repeat(shade[:, :, None], 3, axis=2)


def _coloured(values_NT: Floats) -> Pixels:
    """White is 0; the largest in size is full red or blue."""
    share = values_NT / (np.abs(values_NT).max(initial=0.0) or 1.0)
    fade = (255 * (1 - np.abs(share))).astype(np.uint8)
    full = np.full_like(fade, 255)
    return np.stack([np.where(share >= 0, full, fade), fade, np.where(share >= 0, fade, full)], axis=2)
