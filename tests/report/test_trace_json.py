"""The trace document: there and back, and every damage found."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viewer import traces
from xattend.errors import UserError
from xattend.report.trace_json import read_trace, trace_to_json
from xattend.types import Trace


def again(trace: Trace, *, exact: bool = False) -> Trace:
    return read_trace(json.loads(json.dumps(trace_to_json(trace, exact=exact), allow_nan=False)))


def same(one: Trace, other: Trace, error: float) -> None:
    for name, value in vars(one).items():
        found = getattr(other, name)
        if name == "weights_THS":
            assert found.shape == value.shape
            assert found.dtype == np.float32
            assert np.abs(found - value).max(initial=0.0) <= error
        elif name == "modes":
            assert list(found) == list(value)
            assert all(np.abs(found[mode] - value[mode]).max() <= error for mode in value)
        elif name in ("contents_TNM", "usage_TN", "samples_N", "boxes_TK4", "points_T3"):  # a byte, or two for sounds; windows and points exactly
            assert (found is None) == (value is None), name
            off = {"contents_TNM": 2.0 / 250, "usage_TN": 0.004, "samples_N": 1e-4}.get(name, 0.0)
            assert value is None or np.abs(found - value).max(initial=0.0) <= off, name
        elif name in ("pixels", "seen"):
            assert np.array_equal(found, value) if value is not None else found is None
        elif name not in ("heads", "nbest"):
            assert found == value, name


MADE = [
    traces.sound(), traces.strokes(), traces.glimpse(), traces.canvas(), traces.canvas(looked=False), traces.story(), traces.machine(),
    traces.text(heads=4, modes={"sampled": traces.shares(7, 4, 9, 1)}, tree=traces.beams(), edits={"masked": [1]}), traces.picture(), traces.film(space=True),
    traces.film(space=False), traces.hostile(), Trace([], [], np.zeros((0, 1, 0), np.float32), (0,)),
]  # fmt: skip


@pytest.mark.parametrize("trace", MADE, ids=range(len(MADE)))
def test_there_and_back(trace: Trace) -> None:
    same(trace, again(trace), 0.004)
    same(trace, again(trace, exact=True), 0.0)


@given(st.floats(0.0, 1.0, width=32))
def test_a_byte_is_never_more_than_004_off(weight: float) -> None:
    trace = Trace(["a"], ["b"], np.full((1, 1, 1), weight, np.float32), (1,))
    assert abs(float(again(trace).weights_THS[0, 0, 0]) - weight) < 0.004


@pytest.mark.parametrize("odd", [1.5, -0.25, float("nan"), float("inf")])
def test_what_is_no_share_is_kept_exactly(odd: float) -> None:
    trace = Trace(["a", "b"], ["x"], np.array([[[odd, 0.3]]], np.float32), (2,))
    assert trace_to_json(trace)["weights"]["encoding"] == "float32"
    assert np.array_equal(again(trace).weights_THS, trace.weights_THS, equal_nan=True)


def test_what_json_cannot_say() -> None:
    trace = replace(traces.text(steps=2), logprobs=[-1.0, float("-inf")], search={"kind": "beam", "size": np.int64(5)}, edits={"rows": {2: np.array([0.5, 0.5])}})
    document = trace_to_json(trace)
    assert document["target"]["logprobs"] == [-1.0, None]
    assert document["nbest"][1]["logprobs"] == [-2.5, None]
    assert document["search"] == {"kind": "beam", "size": 5}
    assert document["edits"] == {"rows": {"2": [0.5, 0.5]}}
    assert again(trace).logprobs == [-1.0, float("-inf")]


def test_names_and_places() -> None:
    document = trace_to_json(Trace(["a", "b", "c"], ["x"], traces.shares(1, 2, 3), (7,)))
    assert document["heads"] == ["head 1", "head 2"]
    assert document["source"]["grid"] == [3]  # a batch's padding is no place of this row
    with pytest.raises(ValueError, match="2 source and 1 target tokens for weights"):
        trace_to_json(Trace(["a", "b"], ["x"], traces.shares(1, 1, 3), (3,)))


def damage(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    found = deepcopy(document)
    *way, last = path.split(".")
    inner: Any = found
    for key in way:
        inner = inner[key]
    if value is ...:
        del inner[last]
    else:
        inner[int(last) if isinstance(inner, list) else last] = value
    return found


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("format", "other", "is no trace"), ("version", 1, "version 1"), ("version", 3, "version 3"), ("kind", "smell", "kind 'smell'"), ("source", ..., "KeyError"),
        ("weights.shape", [3, 1, 13], "not the 39 bytes"), ("weights.shape", [3, 12], "shape"), ("weights.shape", [4, 1, 9], "3 target tokens|36 bytes"),
        ("weights.encoding", "float8", "float8"), ("weights.blob", 9, "IndexError"), ("blobs.0", "!!", "damaged"), ("blobs.0", "AAAA", "damaged"),
        ("source.media.width", 5, "a picture of"), ("source.media.blob", 0, "damaged"), ("arrays", {"boxes": {"shape": [1], "encoding": "int8", "blob": 0, "scale": 1.0}}, "3 axes"),
        ("arrays", {"usage": {"shape": [1, 1], "encoding": "int8", "blob": 0}}, "damaged"), ("arrays", 3, "TypeError"),
    ],
)  # fmt: skip
def test_damage_is_a_users_error(path: str, value: Any, said: str) -> None:
    document = damage(trace_to_json(traces.picture()), path, value)
    with pytest.raises(UserError, match=said):
        read_trace(document)


def test_not_even_a_document() -> None:
    for odd in (None, [], "x", 3):
        with pytest.raises(UserError, match="is no trace"):
            read_trace(odd)
