"""A trace that stays small enough for a page, however long what it shows: what is too much is left out, and `notes` says so.

    weights       the first target steps, up to 16 million weights: 16 MB at most, and mostly much less when packed
    contents      of a memory, those of the first steps, up to 2 million numbers
    samples       of a sound, its first 320,000: 20 seconds at 16,000 a second, .85 MB
    spectrogram   4,000 columns, each the mean of several frames: nothing is cut, it is only coarser

So a sound of ten minutes makes a page of a few megabytes.

>>> sound = {"kind": "sound", "seconds": 600.0, "samples_N": np.zeros(9_600_000, np.float32), "rate": 16_000}
>>> trace = bounded(Trace([], [], np.zeros((0, 1, 0), np.float32), (0,), **sound))
>>> len(trace.samples_N), trace.notes
(320000, ['of the sound the first 20.0 of 600.0 seconds can be heard'])

Shapes: T steps, H heads, S source positions, N samples or slots, M width of a slot.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from xattend.types import Trace

WEIGHTS, CONTENTS, SAMPLES, COLUMNS = 16_000_000, 2_000_000, 320_000, 4_000

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def bounded(trace: Trace) -> Trace:
    """The trace, or as much of it as a page can hold."""
    return _sound(_contents(_steps(trace)))


def _steps(trace: Trace) -> Trace:
    """Steps that are cut take their tokens, their windows and their points with them."""
    (steps, heads, positions), weights = trace.weights_THS.shape, trace.weights_THS.size
    kept = WEIGHTS // max(1, heads * positions)
    if kept >= steps:
        return trace
    along = ("boxes_TK4", "usage_TN", "points_T3")
    cut: dict[str, Any] = {name: None if (values := getattr(trace, name)) is None else values[:kept] for name in along}
    return replace(
        trace, weights_THS=trace.weights_THS[:kept], target_tokens=trace.target_tokens[:kept], logprobs=trace.logprobs[:kept],
        modes={name: weights_THS[:kept] for name, weights_THS in trace.modes.items()}, **cut,
        notes=[*trace.notes, f"of {steps:,} steps the first {kept:,} are kept: {weights:,} weights are more than {WEIGHTS:,}"],
    )  # fmt: skip


def _contents(trace: Trace) -> Trace:
    if trace.contents_TNM is None:
        return trace
    steps = len(trace.contents_TNM)
    kept = min(len(trace.target_tokens), CONTENTS // max(1, math.prod(trace.contents_TNM.shape[1:])))
    if kept >= steps:
        return trace
    note = f"what the memory held is kept for the first {kept:,} of {steps:,} steps"
    return replace(trace, contents_TNM=trace.contents_TNM[:kept], notes=[*trace.notes, note])


def _sound(trace: Trace) -> Trace:
    if trace.kind == "sound" and trace.pixels is not None and trace.pixels.shape[1] > COLUMNS:
        trace = replace(trace, pixels=coarser(trace.pixels, COLUMNS))
    if trace.samples_N is None or trace.rate is None or len(trace.samples_N) <= SAMPLES:
        return trace
    note = f"of the sound the first {SAMPLES / trace.rate:.1f} of {len(trace.samples_N) / trace.rate:.1f} seconds can be heard"
    return replace(trace, samples_N=trace.samples_N[:SAMPLES], notes=[*trace.notes, note])


def coarser(pixels: Pixels, columns: int) -> Pixels:
    """A picture with fewer columns, each the mean of those that fall into it.

    >>> coarser(np.array([[[0], [4], [10], [20]]], np.uint8), 2).tolist()
    [[[2], [15]]]
    """
    edges = np.linspace(0, pixels.shape[1], columns + 1).round().astype(int)
    sums = np.add.reduceat(pixels.astype(np.float32), edges[:-1], axis=1)
    means: Pixels = (sums / np.diff(edges)[:, None]).round().astype(np.uint8)
    return means
