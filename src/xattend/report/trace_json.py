"""The trace document: a trace as JSON, for files and for every viewer. docs/trace.md has it field by field.

Weights, other arrays and pictures are blobs (blobs.py). Weights take a byte each unless exactness is asked for, and come back with an error
of at most .004; those that are not shares (some below 0 or above 1, or not a number) are always kept as float32. Whatever else a kind of
trace has, windows, contents of a memory, points of a pen, the samples of a sound, is a named array (`ARRAYS`): a new one is a line there.

>>> trace = Trace(["a", "b"], ["x"], np.array([[[0.9, 0.1]]], dtype=np.float32), (2,))
>>> document = trace_to_json(trace)
>>> document["weights"]["shape"], document["weights"]["encoding"]
([1, 1, 2], 'sqrt8')
>>> np.abs(read_trace(document).weights_THS - trace.weights_THS).max() < 0.004
np.True_

Shape suffixes: T target, H heads, S source.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

from xattend.errors import UserError
from xattend.report.blobs import put_array, put_pixels, take_array, take_pixels
from xattend.types import Trace

FORMAT, VERSION = "xattend-trace", 2
KINDS = ("text", "picture", "film", "sound", "memory", "machine", "glimpse", "canvas", "strokes")
# by their name in a document: the field of a trace, how many axes it has, and its encoding
ARRAYS = {
    "boxes": ("boxes_TK4", 3, "float32"), "contents": ("contents_TNM", 3, "int8"), "usage": ("usage_TN", 2, "sqrt8"),
    "points": ("points_T3", 2, "float32"), "samples": ("samples_N", 1, "int16"),
}  # fmt: skip


def trace_to_json(trace: Trace, *, exact: bool = False) -> dict[str, Any]:
    """Lists, numbers and texts only. `exact` keeps the weights as float32, at four times the size or more."""
    steps, heads, positions = trace.weights_THS.shape
    if len(trace.target_tokens) != steps or len(trace.source_tokens or range(positions)) != positions:
        raise ValueError(f"{len(trace.source_tokens)} source and {len(trace.target_tokens)} target tokens for weights {trace.weights_THS.shape}")
    blobs: list[str] = []
    encoding = "float32" if exact else "sqrt8"
    weights = put_array(trace.weights_THS, blobs, encoding)
    document: dict[str, Any] = {
        "format": FORMAT, "version": trace.version, "kind": trace.kind,
        "source": {
            "text": trace.source_text, "tokens": list(trace.source_tokens),
            "grid": list(trace.grid) if math.prod(trace.grid) == positions else [positions],
            "name": trace.media, "media": None if trace.pixels is None else put_pixels(trace.pixels, blobs),
        },
        "target": {"text": trace.target_text, "tokens": list(trace.target_tokens), "logprobs": _finite(trace.logprobs)},
        "heads": list(trace.heads) or _numbered(heads),
        "weights": weights,
        "nbest": _finite(trace.nbest), "search": _finite(trace.search), "tree": _finite(trace.tree),
    }  # fmt: skip
    for name, value in (("seconds", trace.seconds), ("rate", trace.rate)):
        if value is not None:
            document["source"][name] = value
    if trace.seen is not None:
        document["source"]["seen"] = put_pixels(trace.seen, blobs)
    if trace.modes:
        document["modes"] = {name: put_array(weights_THS, blobs, encoding) for name, weights_THS in trace.modes.items()}
    kept = {name: (getattr(trace, field), how) for name, (field, _, how) in ARRAYS.items()}
    arrays = {name: put_array(values, blobs, how) for name, (values, how) in kept.items() if values is not None}
    if arrays:
        document["arrays"] = arrays
    if trace.edits:
        document["edits"] = _finite(trace.edits)
    if trace.notes:
        document["notes"] = list(trace.notes)
    document["blobs"] = blobs
    return document


def read_trace(document: Any) -> Trace:
    """The trace that a document was made of: weights within .004, exact if they were kept exactly. A UserError if it is no such document."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UserError(f'is no trace: "format" must be "{FORMAT}"')
    if document.get("version") != VERSION:
        raise UserError(f"is a trace of version {document.get('version')}, and this xattend reads version {VERSION}")
    try:
        source, target, blobs = document["source"], document["target"], document["blobs"]
        if document["kind"] not in KINDS:
            raise ValueError(f"kind '{document['kind']}' is not one of {', '.join(KINDS)}")
        weights_THS = take_array(document["weights"], blobs, 3)
        if len(target["tokens"]) != weights_THS.shape[0]:
            raise ValueError(f"{len(target['tokens'])} target tokens, and weights of {weights_THS.shape[0]} steps")
        given = document.get("arrays", {})
        arrays: dict[str, Any] = {field: take_array(given[name], blobs, axes) for name, (field, axes, _) in ARRAYS.items() if name in given}
        return Trace(
            source["tokens"], target["tokens"], weights_THS, tuple(source["grid"]), media=source.get("name"), kind=document["kind"],
            source_text=source["text"], target_text=target["text"], logprobs=_back(target["logprobs"]), heads=document["heads"],
            pixels=None if source["media"] is None else take_pixels(source["media"], blobs), nbest=document["nbest"],
            seen=take_pixels(source["seen"], blobs) if "seen" in source else None,
            search=document["search"], tree=document["tree"], edits=document.get("edits"), notes=document.get("notes", []),
            seconds=source.get("seconds"), rate=source.get("rate"),
            modes={name: take_array(weights, blobs, 3) for name, weights in document.get("modes", {}).items()}, **arrays,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, IndexError, zlib.error, OSError) as error:
        raise UserError(f"is a damaged trace ({type(error).__name__}: {error})") from None


def _numbered(heads: int) -> list[str]:
    """
    >>> _numbered(1), _numbered(2)
    (['attention'], ['head 1', 'head 2'])
    """
    return ["attention"] if heads == 1 else [f"head {head}" for head in range(1, heads + 1)]


def _finite(value: Any) -> Any:
    """JSON has no word for infinity: it is written as null. NumPy's numbers become plain ones."""
    if isinstance(value, dict):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_finite(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _back(logprobs: list[float | None]) -> list[float]:
    return [-math.inf if one is None else float(one) for one in logprobs]
