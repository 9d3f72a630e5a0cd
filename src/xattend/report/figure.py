"""An attention matrix as a picture: grey levels, black 0 to white 1, as in Bahdanau et al. 2015, fig. 3.

SVG is written here, as text, without any other package: the viewer's own fonts draw whatever script it is in. PNG needs
matplotlib and a font on this machine that has the letters; letters that none has are named in a warning.

>>> trace = Trace(["ein", "Hund"], ["a", "dog"], np.array([[[0.9, 0.1]], [[0.2, 0.8]]], dtype=np.float32), (2,))
>>> svg(trace).count("<rect")
5

Shape suffixes: T target, S source.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from rich.cells import cell_len

from xattend.errors import UserError
from xattend.report.matrix import Matrix, matrix
from xattend.types import Trace

CELL, LETTER = 24, 8  # pixels: side of a cell, width of one terminal cell of a 14-pixel label


def save(trace: Trace, path: str | Path) -> None:
    """Writes the picture; the name's ending says which kind: .svg or .png."""
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".svg", ".png"):
        raise UserError("a figure's name must end in .svg or .png", file=file)
    try:
        if kind == ".svg":
            file.write_text(svg(trace), encoding="utf-8")
        else:
            _png(trace, file)
    except OSError as error:
        raise UserError(f"cannot write the figure: {error.strerror or error}", file=file) from None


def _greys(drawn: Matrix) -> tuple[np.ndarray[Any, Any], str]:
    """Levels from 0 to 1, and a caption. Weights that are not shares (some exceed 1) are scaled to their largest."""
    scale = max(drawn.full, 1.0)
    notes = [f"mean of {drawn.heads} heads"] * (drawn.heads > 1) + [f"white = {scale:.2f}"] * (scale > 1.0001)
    return np.clip(drawn.weights_TS / scale, 0.0, 1.0), ", ".join(notes)


def svg(trace: Trace) -> str:
    """The picture as a text; each cell says its weight when the pointer rests on it."""
    drawn = matrix(trace)
    grey_TS, caption = _greys(drawn)
    left = 12 + LETTER * max(map(cell_len, drawn.target), default=0)
    top = 12 + LETTER * max(map(cell_len, drawn.source), default=0)
    width, height = left + CELL * len(drawn.source) + 12, top + CELL * len(drawn.target) + (28 if caption else 12)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="14" role="img" aria-label="attention: rows are target, columns source">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for column, token in enumerate(drawn.source):
        x = left + CELL * column + CELL // 2 + 5
        parts.append(f'<text transform="translate({x},{top - 6}) rotate(-90)">{escape(token)}</text>')
    for row, token in enumerate(drawn.target):
        y = top + CELL * row
        parts.append(f'<text x="{left - 6}" y="{y + CELL // 2 + 5}" text-anchor="end">{escape(token)}</text>')
        for column, word in enumerate(drawn.source):
            level = round(255 * float(grey_TS[row, column]))
            parts.append(
                f'<rect x="{left + CELL * column}" y="{y}" width="{CELL}" height="{CELL}" '
                f'fill="rgb({level},{level},{level})">'
                f"<title>{escape(word)} → {escape(token)}: {float(drawn.weights_TS[row, column]):.3f}</title></rect>"
            )
    if caption:
        parts.append(f'<text x="{left}" y="{height - 8}" font-size="12">{escape(caption)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _png(trace: Trace, file: Path) -> None:
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("PNG figures need matplotlib: pip install 'xattend[figures]' (SVG needs nothing)") from None
    drawn = matrix(trace)
    grey_TS, caption = _greys(drawn)
    families, missing = _fonts(set("".join(drawn.source + drawn.target)))
    if missing:
        warnings.warn(
            f"no installed font has {' '.join(sorted(missing))}: drawn as empty boxes; write .svg instead", stacklevel=3
        )
    with rc_context({"font.family": families}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # said above, once and in full
        figure = Figure(figsize=(1.5 + 0.3 * len(drawn.source), 1.5 + 0.3 * len(drawn.target)))
        axes = figure.add_subplot()
        axes.imshow(grey_TS, cmap="gray", vmin=0.0, vmax=1.0, aspect="equal")
        axes.set_xticks(range(len(drawn.source)), _plain(drawn.source), rotation=90)
        axes.set_yticks(range(len(drawn.target)), _plain(drawn.target))
        axes.xaxis.tick_top()
        axes.set_xlabel(caption)
        figure.savefig(file, dpi=150, bbox_inches="tight")


def _plain(labels: list[str]) -> list[str]:
    """Dollar signs would start a formula."""
    return [text.replace("$", r"\$") for text in labels]


def _fonts(letters: set[str]) -> tuple[list[str], set[str]]:
    """Font families that together have the letters, the usual one first; and the letters that none has."""
    from matplotlib import font_manager

    def has(file: str) -> set[str]:
        return {letter for letter in missing if ord(letter) in font_manager.get_font(file).get_charmap()}

    families, missing = ["DejaVu Sans"], set(letters)
    missing -= has(font_manager.findfont("DejaVu Sans"))
    regular = {
        font.name: font.fname for font in font_manager.fontManager.ttflist
        if font.style == "normal" and font.weight in (400, "normal", "regular", "book")
        and not font.name.startswith("Last Resort")  # it claims every letter, and draws a placeholder
    }  # fmt: skip
    for name, file in sorted(regular.items()):
        if not missing:
            break
        try:
            found = has(file)
        except (OSError, RuntimeError):  # a font file that went away or that FreeType cannot read
            continue
        if found:
            families.append(name)
            missing -= found
    return families, missing
