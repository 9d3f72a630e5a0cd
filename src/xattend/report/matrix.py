"""The attention matrix of a trace as a drawing needs it: one number a cell, and labels that can be shown anywhere.

>>> label("a b\\x1b[31m"), label("\\u0301"), label(" "), label("名", ascii=True)
('a␣b\\\\x1b[31m', '◌\\u0301', '␣', '\\\\u540d')

Shape suffixes: T target, S source, H heads.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.cells import cell_len

from xattend.types import Trace


@dataclass(frozen=True)
class Matrix:
    """weights_TS is the mean over heads; `full` is the weight a drawing shows at its strongest."""

    source: list[str]
    target: list[str]
    weights_TS: np.ndarray[Any, np.dtype[np.float32]]
    heads: int

    @property
    def full(self) -> float:
        return float(self.weights_TS.max(initial=0.0)) or 1.0


def matrix(trace: Trace, *, ascii: bool = False) -> Matrix:
    """Heads averaged. A source without tokens (a picture, sound) has its positions' numbers for labels, from 0."""
    steps, heads, positions = trace.weights_THS.shape
    source = trace.source_tokens or [str(position) for position in range(positions)]
    if len(source) != positions or len(trace.target_tokens) != steps:
        raise ValueError(
            f"weights of {steps} steps and {positions} positions, "
            f"but {len(trace.target_tokens)} target and {len(source)} source tokens"
        )
    mean_TS = trace.weights_THS.mean(axis=1) if heads else np.zeros((steps, positions), dtype=np.float32)
    return Matrix(
        [label(token, ascii=ascii) for token in source], [label(token, ascii=ascii) for token in trace.target_tokens],
        mean_TS, heads,
    )  # fmt: skip


def label(token: str, *, ascii: bool = False) -> str:
    """A token made visible: spaces, lone accents and control characters (which could rule a terminal) have a sign."""
    shown = ""
    for letter in token:
        category = unicodedata.category(letter)
        if category in ("Zs", "Zl", "Zp"):
            shown += "_" if ascii else "␣"
        elif category[0] == "C" or (ascii and not letter.isascii()):
            shown += letter.encode("unicode_escape").decode("ascii")
        else:
            shown += letter
    return "◌" + shown if shown and cell_len(shown) == 0 else shown
