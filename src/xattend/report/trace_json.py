"""The trace document: a trace as JSON, for files and for every viewer. docs/trace.md has it field by field.

Weights and pictures are blobs, base64 of zlib-deflated bytes. Weights take a byte each unless exactness is asked for: b = round(255 sqrt(w)),
and w = (b / 255)^2 comes back with an error of at most .004. Weights that are not shares (some below 0 or above 1, or not a number) are
always kept as float32.

>>> trace = Trace(["a", "b"], ["x"], np.array([[[0.9, 0.1]]], dtype=np.float32), (2,))
>>> document = trace_to_json(trace)
>>> document["weights"]["shape"], document["weights"]["encoding"]
([1, 1, 2], 'sqrt8')
>>> np.abs(read_trace(document).weights_THS - trace.weights_THS).max() < 0.004
np.True_

Shape suffixes: T target, H heads, S source.
"""

from __future__ import annotations

import base64
import io
import math
import zlib
from typing import Any

import numpy as np

from xattend.errors import UserError
from xattend.types import Trace

FORMAT, VERSION = "xattend-trace", 2
KINDS = ("text", "picture", "film", "sound", "memory")

Floats = np.ndarray[Any, np.dtype[np.float32]]
Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def trace_to_json(trace: Trace, *, exact: bool = False) -> dict[str, Any]:
    """Lists, numbers and texts only. `exact` keeps the weights as float32, at four times the size or more."""
    steps, heads, positions = trace.weights_THS.shape
    if len(trace.target_tokens) != steps or len(trace.source_tokens or range(positions)) != positions:
        raise ValueError(f"{len(trace.source_tokens)} source and {len(trace.target_tokens)} target tokens for weights {trace.weights_THS.shape}")
    blobs: list[str] = []
    weights = _put_weights(trace.weights_THS, blobs, exact)
    document: dict[str, Any] = {
        "format": FORMAT, "version": trace.version, "kind": trace.kind,
        "source": {
            "text": trace.source_text, "tokens": list(trace.source_tokens),
            "grid": list(trace.grid) if math.prod(trace.grid) == positions else [positions],
            "name": trace.media, "media": None if trace.pixels is None else _put_pixels(trace.pixels, blobs),
        },
        "target": {"text": trace.target_text, "tokens": list(trace.target_tokens), "logprobs": _finite(trace.logprobs)},
        "heads": list(trace.heads) or _numbered(heads),
        "weights": weights,
        "nbest": _finite(trace.nbest), "search": _finite(trace.search), "tree": _finite(trace.tree),
    }  # fmt: skip
    if trace.seconds is not None:
        document["source"]["seconds"] = trace.seconds
    if trace.modes:
        document["modes"] = {name: _put_weights(weights_THS, blobs, exact) for name, weights_THS in trace.modes.items()}
    if trace.edits:
        document["edits"] = _finite(trace.edits)
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
        weights_THS = _take_weights(document["weights"], blobs)
        if len(target["tokens"]) != weights_THS.shape[0]:
            raise ValueError(f"{len(target['tokens'])} target tokens, and weights of {weights_THS.shape[0]} steps")
        return Trace(
            source["tokens"], target["tokens"], weights_THS, tuple(source["grid"]), media=source.get("name"), kind=document["kind"],
            source_text=source["text"], target_text=target["text"], logprobs=_back(target["logprobs"]), heads=document["heads"],
            pixels=None if source["media"] is None else _take_pixels(source["media"], blobs), nbest=document["nbest"],
            search=document["search"], tree=document["tree"], edits=document.get("edits"), seconds=source.get("seconds"),
            modes={name: _take_weights(given, blobs) for name, given in document.get("modes", {}).items()},
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, IndexError, zlib.error, OSError) as error:
        raise UserError(f"is a damaged trace ({type(error).__name__}: {error})") from None


def _numbered(heads: int) -> list[str]:
    """
    >>> _numbered(1), _numbered(2)
    (['attention'], ['head 1', 'head 2'])
    """
    return ["attention"] if heads == 1 else [f"head {head}" for head in range(1, heads + 1)]


def _put(data: bytes, blobs: list[str]) -> int:
    blobs.append(base64.b64encode(zlib.compress(data, 9)).decode("ascii"))
    return len(blobs) - 1


def _take(number: int, blobs: list[str], size: int) -> bytes:
    """At most one byte more than expected is unpacked, so that a small blob cannot fill the memory."""
    data = zlib.decompressobj().decompress(base64.b64decode(blobs[number], validate=True), size + 1)
    if len(data) != size:
        raise ValueError(f"blob {number} has not the {size} bytes that it should have")
    return data


def _put_weights(weights_THS: Floats, blobs: list[str], exact: bool) -> dict[str, Any]:
    shares = bool(np.all((weights_THS >= 0) & (weights_THS <= 1.0001)))  # False where something is not a number, too
    if exact or not shares:
        data, encoding = weights_THS.astype("<f4").tobytes(), "float32"
    else:
        data, encoding = np.rint(255 * np.sqrt(np.minimum(weights_THS, 1.0))).astype(np.uint8).tobytes(), "sqrt8"
    return {"shape": list(weights_THS.shape), "encoding": encoding, "blob": _put(data, blobs)}


def _take_weights(given: dict[str, Any], blobs: list[str]) -> Floats:
    shape = [int(size) for size in given["shape"]]
    if len(shape) != 3 or min(shape) < 0:
        raise ValueError(f"weights of shape {shape}")
    if given["encoding"] == "sqrt8":
        root_THS = np.frombuffer(_take(given["blob"], blobs, math.prod(shape)), np.uint8).reshape(shape) / 255
        return np.square(root_THS).astype(np.float32)
    if given["encoding"] == "float32":
        return np.frombuffer(_take(given["blob"], blobs, 4 * math.prod(shape)), "<f4").astype(np.float32).reshape(shape)
    raise ValueError(f"encoding '{given['encoding']}'")


def _put_pixels(pixels: Pixels, blobs: list[str]) -> dict[str, Any]:
    """A PNG; the frames of a film stand one below the other in it."""
    from PIL import Image

    *frames, height, width, channels = pixels.shape
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels).reshape(-1, width, channels)).save(file, "PNG", optimize=True)
    return {
        "type": "image/png", "blob": _put(file.getvalue(), blobs), **({"frames": frames[0]} if frames else {}), "width": width, "height": height,
    }  # fmt: skip


def _take_pixels(media: dict[str, Any], blobs: list[str]) -> Pixels:
    from PIL import Image

    data = zlib.decompress(base64.b64decode(blobs[media["blob"]], validate=True))
    frames, width, height = media.get("frames"), int(media["width"]), int(media["height"])
    with Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
        if picture.size != (width, height * (frames or 1)):
            raise ValueError(f"a picture of {picture.size}, not {width} x {height}")
        pixels = np.asarray(picture.convert("RGB"))
    return pixels.reshape(*([frames] if frames else []), height, width, 3)


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
