"""Where the heads of a machine with a memory were: for the terminal, and as a strip of pictures.

In the terminal a panel a head, a row a step and a column a slot; what the machine writes is marked `>`. As a picture time goes to the right:
slots of each head one below the other, how full they are, and what they hold, a block of colours a slot (blue below 0, red above). In both, slots
that no head looked at are left out and counted; the picture has the others' numbers, from 0.

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

import math
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from xattend.errors import UserError
from xattend.report.matrix import label
from xattend.report.terminal import ASCII_SHADES, SHADES, STEPS
from xattend.types import Trace

Floats = np.ndarray[Any, np.dtype[np.float32]]
Pixels = np.ndarray[Any, np.dtype[np.uint8]]
LEAST = 0.05  # of a head's weight: a slot that never had as much was not used
ACROSS, NARROW, WIDE = 720, 6, 40  # pixels: how wide all steps are if they can be, and how narrow and wide one may be
DOWN, CELL, TALL = 256, 6, 16  # the same for slots, from above
GAP, TITLE, LETTERS = 10, 18, 13  # pixels: between panels, of a line of text, of a name on an axis
LIMIT = 32_000  # pixels of a side
FONT, SMALL = ImageFont.load_default(13), ImageFont.load_default(11)
FRAME, FAINT, RED = (190, 190, 190), (110, 110, 110), (220, 60, 40)


def used(weights_THN: Floats, least: float = LEAST) -> list[int]:
    """Slots that some head looked at. Heads go round the end of the memory: the first slots may be used, and the last, and none between.

    >>> used(np.array([[[1.0, 0.0, 0.0, 0.1]]], dtype=np.float32))
    [0, 3]
    """
    return list(map(int, np.flatnonzero((weights_THN >= least).any(axis=(0, 1))))) or [0]


def draw(trace: Trace, *, width: int = 80, ascii: bool = False) -> str:
    """Lines of text, none wider than `width`; slots that no head came to are left out and counted, with `|` between those that are no neighbours."""
    ramp = ASCII_SHADES if ascii else SHADES
    tokens = [label(token.removeprefix("> "), ascii=ascii) for token in trace.target_tokens]
    margin = max(map(len, tokens), default=0)
    marks = [">" if token.startswith("> ") else " " for token in trace.target_tokens]
    slots, shown = trace.weights_THS.shape[2], used(trace.weights_THS)
    while len(shown) > 1 and len(shown) + len(_gaps(shown)) > width - margin - 3:
        shown.pop()
    lines = []
    for number, name in enumerate(trace.heads):
        level_TN = np.digitize(trace.weights_THS[:, number, shown], STEPS)
        lines.append(name)
        for mark, token, row in zip(marks, tokens, level_TN.tolist()):
            cells = "".join("|" * (place in _gaps(shown)) + ramp[level] for place, level in enumerate(row))
            lines.append(f"{mark} {token:{margin}} {cells}".rstrip())
    lines.append(f"{ramp[-1]} = 1.00" + (f"; {slots - len(shown)} of {slots} slots are not shown" if len(shown) < slots else ""))
    return "\n".join(lines)


def _gaps(slots: list[int]) -> list[int]:
    """Places of a list of slots before which some are missing."""
    return [place for place in range(1, len(slots)) if slots[place] != slots[place - 1] + 1]


def strip(trace: Trace) -> Image.Image:
    """What is shown of how much, the names of the steps if they fit, then all panels one below the other."""
    steps, shown = len(trace.weights_THS), used(trace.weights_THS)
    names = list(map(str, shown))
    wide = max(NARROW, min(WIDE, ACROSS // max(1, steps)))
    panels = _panels(trace, shown)
    labels = [_clipped(label(token.removeprefix("> "), ascii=True)) for token in trace.target_tokens] if wide >= LETTERS else []
    head = [f"time goes to the right: {steps} steps", *_left_out(trace, shown)]
    answer = next((number for number, token in enumerate(trace.target_tokens) if token.startswith("> ")), None)
    if answer is not None:
        head.append("right of the red line: the answer")
    margin = GAP + math.ceil(max(map(SMALL.getlength, names))) + 6  # of the names of slots
    under = max((math.ceil(SMALL.getlength(text)) for text in labels), default=0) + GAP
    titles = [*head, *(name for name, _, _ in panels)]
    width = max(margin + steps * wide, GAP + math.ceil(max(map(FONT.getlength, titles)))) + GAP
    top = GAP + len(head) * TITLE + under
    height = top + sum(TITLE + len(pixels) * high + GAP for _, pixels, high in panels)
    if max(width, height) > LIMIT:
        raise UserError(f"a picture of {width} x {height} pixels is too large: give a shorter text, or fewer slots with -s system.slots=N")
    sheet = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(sheet)
    for number, text in enumerate(head):
        pen.text((GAP, GAP + number * TITLE), text, fill="black", font=FONT)
    for number, text in enumerate(labels):
        sheet.paste(_upright(text), (margin + number * wide + (wide - LETTERS) // 2, top - 4 - math.ceil(SMALL.getlength(text))))
    for name, pixels, high in panels:
        pen.text((GAP, top), name, fill="black", font=FONT)
        top += TITLE
        below, band = top + len(pixels) * high, len(pixels) // len(shown) * high
        sheet.paste(Image.fromarray(pixels).resize((steps * wide, below - top), Image.Resampling.NEAREST), (margin, top))
        pen.rectangle((margin - 1, top - 1, margin + steps * wide, below), outline=FRAME)
        for place in range(len(shown)) if band >= LETTERS else sorted({0, len(shown) - 1}):
            pen.text((margin - 4, top + place * band + band // 2), names[place], fill=FAINT, font=SMALL, anchor="rm")
        for place in _gaps(shown):
            pen.line([(GAP, top + place * band), (margin + steps * wide, top + place * band)], fill=FRAME)
        if answer is not None:
            pen.line([(margin + answer * wide, top), (margin + answer * wide, below - 1)], fill=RED)
        top = below + GAP
    return sheet


def _panels(trace: Trace, shown: list[int]) -> list[tuple[str, Pixels, int]]:
    """Of each its title, its pixels, and how many of the picture's a row of them has: few slots are drawn large."""
    high = max(CELL, min(TALL, DOWN // len(shown)))
    found = [(name, _grey(trace.weights_THS[:, number, shown].T), high) for number, name in enumerate(trace.heads)]
    if trace.usage_TN is not None:
        found.append(("usage", _grey(trace.usage_TN[:, shown].T), high))
    if trace.contents_TNM is not None:
        held_TNM = trace.contents_TNM[:, shown]
        steps, _, width = held_TNM.shape
        most = float(np.abs(held_TNM).max(initial=0.0))
        row = max(1, min(CELL, DOWN // (len(shown) * width)))
        found.append((f"memory, a band a slot: red to {most:.2g}, blue to -{most:.2g}", _coloured(held_TNM.transpose(1, 2, 0).reshape(len(shown) * width, steps)), row))
    return found


def _left_out(trace: Trace, shown: list[int]) -> list[str]:
    slots = trace.weights_THS.shape[2]
    return [f"{slots - len(shown)} of {slots} slots are not shown:", f"no head gave them {LEAST} or more"] if len(shown) < slots else []


def _clipped(text: str, letters: int = 20) -> str:
    """A long name cut, with a sign that it was."""
    return text if len(text) <= letters else text[: letters - 1] + "~"


def _upright(text: str) -> Image.Image:
    """A name that is read from below, LETTERS wide."""
    flat = Image.new("RGB", (math.ceil(SMALL.getlength(text)), LETTERS), "white")
    ImageDraw.Draw(flat).text((0, LETTERS // 2), text, fill="black", font=SMALL, anchor="lm")
    return flat.transpose(Image.Transpose.ROTATE_90)


def save(trace: Trace, path: str | Path) -> None:
    """Writes the strip; the name must end in .png."""
    file = Path(path)
    if file.suffix.lower() != ".png":
        raise UserError("the heads of a machine are drawn as .png", file=file)
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
