"""Traces stay small, and say what they lost."""

from __future__ import annotations

import json

import numpy as np
import pytest

from xattend.report import bounds
from xattend.report.bounds import bounded, coarser
from xattend.report.html import standalone
from xattend.report.trace_json import read_trace, trace_to_json
from xattend.types import Trace


def test_ten_minutes_of_sound_make_a_small_page() -> None:
    draw, steps, positions, rate = np.random.default_rng(1), 1100, 15_000, 16_000
    weights = np.zeros((steps, 1, positions), np.float32)
    weights[np.arange(steps), 0, np.arange(steps) * 13] = 1.0
    trace = Trace(
        [str(place) for place in range(positions)], [f"w{step}" for step in range(steps)], weights, (positions,), kind="sound", seconds=600.0, logprobs=[-1.0] * steps,
        pixels=draw.integers(0, 255, (40, 60_000, 3), dtype=np.uint8), samples_N=draw.uniform(-1, 1, 600 * rate).astype(np.float32), rate=rate,
    )  # fmt: skip
    kept = bounded(trace)
    assert kept.samples_N is not None
    assert kept.pixels is not None
    assert (len(kept.samples_N), kept.pixels.shape, kept.seconds) == (320_000, (40, 4_000, 3), 600.0)
    assert len(kept.target_tokens) == len(kept.logprobs) == len(kept.weights_THS) == 1066  # 16,000,000 // 15,000
    assert kept.notes == [
        "of 1,100 steps the first 1,066 are kept: 16,500,000 weights are more than 16,000,000", "of the sound the first 20.0 of 600.0 seconds can be heard",
    ]  # fmt: skip
    page = standalone(kept)
    assert len(page) < 4_000_000
    assert read_trace(json.loads(json.dumps(trace_to_json(kept)))).notes == kept.notes


def test_what_is_small_stays_as_it_is() -> None:
    trace = Trace(["a"], ["b"], np.ones((1, 1, 1), np.float32), (1,), samples_N=np.zeros(9, np.float32), rate=8000, contents_TNM=np.zeros((1, 2, 3), np.float32))
    assert bounded(trace) is trace


def test_what_a_memory_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "CONTENTS", 25)
    held = np.arange(60, dtype=np.float32).reshape(10, 2, 3)
    trace = Trace(["0", "1"], list("abcdefghij"), np.ones((10, 1, 2), np.float32), (2,), kind="machine", contents_TNM=held, usage_TN=np.ones((10, 2), np.float32))
    kept = bounded(trace)
    assert np.array_equal(kept.contents_TNM, held[:4])  # type: ignore[arg-type]
    assert kept.usage_TN is trace.usage_TN
    assert kept.notes == ["what the memory held is kept for the first 4 of 10 steps"]


def test_columns_are_means() -> None:
    pixels = np.array([[[10], [20], [30]], [[1], [2], [3]]], np.uint8)
    assert coarser(pixels, 1).tolist() == [[[20]], [[2]]]
    assert np.array_equal(coarser(pixels, 3), pixels)
