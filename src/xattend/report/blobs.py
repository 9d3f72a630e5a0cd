"""Arrays and pictures as blobs of a trace document: base64 of zlib-deflated bytes, and beside it shape and encoding (docs/viewer.md).

    sqrt8     shares, a byte each: b = round(255 sqrt(w)), w = (b / 255)^2, off by at most .004
    int8      any numbers, a byte each: b = round(127 x / scale), scale the largest in size; off by at most scale / 254
    int16     the same with 32767: sounds
    float32   as they are, little-endian

>>> blobs = []
>>> kept = put_array(np.array([[-2.0, 0.5]], np.float32), blobs, "int8")
>>> kept
{'shape': [1, 2], 'encoding': 'int8', 'blob': 0, 'scale': 2.0}
>>> take_array(kept, blobs, 2).round(2).tolist()
[[-2.0, 0.5]]
"""

from __future__ import annotations

import base64
import io
import math
import zlib
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float32]]
Pixels = np.ndarray[Any, np.dtype[np.uint8]]
LEVELS = {"int8": (127, "i1"), "int16": (32767, "<i2")}


def put(data: bytes, blobs: list[str]) -> int:
    """Adds a blob, and gives its number."""
    blobs.append(base64.b64encode(zlib.compress(data, 9)).decode("ascii"))
    return len(blobs) - 1


def take(number: int, blobs: list[str], size: int) -> bytes:
    """At most one byte more than expected is unpacked, so that a small blob cannot fill the memory."""
    data = zlib.decompressobj().decompress(base64.b64decode(blobs[number], validate=True), size + 1)
    if len(data) != size:
        raise ValueError(f"blob {number} has not the {size} bytes that it should have")
    return data


def put_array(values: Floats, blobs: list[str], encoding: str) -> dict[str, Any]:
    """What an encoding cannot hold (no share; not a number) is kept as float32."""
    kept: dict[str, Any] = {"shape": list(values.shape), "encoding": encoding}
    if encoding == "sqrt8" and bool(np.all((values >= 0) & (values <= 1.0001))):  # False where something is not a number, too
        data = np.rint(255 * np.sqrt(np.minimum(values, 1.0))).astype(np.uint8).tobytes()
    elif encoding in LEVELS and bool(np.isfinite(values).all()):
        (most, kind), scale = LEVELS[encoding], float(np.abs(values).max(initial=0.0)) or 1.0
        data = np.rint(values.astype(np.float64) * (most / scale)).astype(kind).tobytes()
        return {**kept, "blob": put(data, blobs), "scale": scale}
    else:
        data, kept["encoding"] = values.astype("<f4").tobytes(), "float32"
    return {**kept, "blob": put(data, blobs)}


def take_array(given: dict[str, Any], blobs: list[str], axes: int) -> Floats:
    """The array again; a ValueError if it has not so many axes, or is damaged."""
    shape, encoding = [int(size) for size in given["shape"]], given["encoding"]
    if len(shape) != axes or min(shape) < 0:
        raise ValueError(f"an array of shape {shape}, and {axes} axes are read")
    count = math.prod(shape)
    if encoding == "sqrt8":
        return np.square(np.frombuffer(take(given["blob"], blobs, count), np.uint8).reshape(shape) / 255).astype(np.float32)
    if encoding == "float32":
        return np.frombuffer(take(given["blob"], blobs, 4 * count), "<f4").astype(np.float32).reshape(shape)
    if encoding in LEVELS:
        most, kind = LEVELS[encoding]
        levels = np.frombuffer(take(given["blob"], blobs, np.dtype(kind).itemsize * count), kind).reshape(shape)
        found: Floats = (levels * (float(given["scale"]) / most)).astype(np.float32)
        return found
    raise ValueError(f"encoding '{encoding}'")


def put_pixels(pixels: Pixels, blobs: list[str]) -> dict[str, Any]:
    """A PNG; the frames of a film stand one below the other in it."""
    from PIL import Image

    *frames, height, width, channels = pixels.shape
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels).reshape(-1, width, channels)).save(file, "PNG", optimize=True)
    return {
        "type": "image/png", "blob": put(file.getvalue(), blobs), **({"frames": frames[0]} if frames else {}), "width": width, "height": height,
    }  # fmt: skip


def take_pixels(media: dict[str, Any], blobs: list[str]) -> Pixels:
    """The pixels again."""
    from PIL import Image

    data = zlib.decompress(base64.b64decode(blobs[media["blob"]], validate=True))
    frames, width, height = media.get("frames"), int(media["width"]), int(media["height"])
    with Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
        if picture.size != (width, height * (frames or 1)):
            raise ValueError(f"a picture of {picture.size}, not {width} x {height}")
        pixels = np.asarray(picture.convert("RGB"))
    return pixels.reshape(*([frames] if frames else []), height, width, 3)
