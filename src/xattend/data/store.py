"""Rows of different lengths in two flat files, one of values and one of where each row starts and ends.

Written once, front to back; read through a memory map, so that a corpus may be larger than memory.

>>> import tempfile
>>> folder = Path(tempfile.mkdtemp())
>>> with RowWriter(folder / "ids", np.int32) as writer:
...     writer.append([5, 6]); writer.append([7])
>>> RowFile(folder / "ids", np.int32)[1].tolist()
[7]
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def values_file(path: Path) -> Path:
    return path.with_name(path.name + ".values")


def bounds_file(path: Path) -> Path:
    return path.with_name(path.name + ".bounds")


def open_array(path: Path, dtype: Any, columns: int | None = None) -> Array:
    """A memory map of a flat file. (An empty file cannot be mapped, and is an empty array.)"""
    shape = (-1,) if columns is None else (-1, columns)
    if os.path.getsize(path) == 0:
        return np.zeros((0, *shape[1:]), dtype)
    flat = np.asarray(np.memmap(path, dtype=dtype, mode="r"))  # a plain array over the map: np.memmap itself slices slowly
    return flat.reshape(shape)


def keep_rows(path: Path, keep: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
    """Forgets the other rows: their bounds go, their values stay in the file unused."""
    old, new = bounds_file(path), path.with_name(path.name + ".kept")
    bounds = open_array(old, np.int64, 2)
    with new.open("wb") as stream:
        for start in range(0, len(keep), 1 << 16):
            stop = start + (1 << 16)
            stream.write(bounds[start:stop][keep[start:stop]].tobytes())
    new.replace(old)


class RowWriter:
    """Appends rows. `bounds` are kept for a few thousand rows at a time."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.values = values_file(path).open("wb")
        self.bounds = bounds_file(path).open("wb")
        self.end = 0
        self.waiting = array("q")  # start and end of the rows whose bounds are not written yet

    def append(self, row: Sequence[int] | bytes) -> None:
        data = row if isinstance(row, bytes) else np.asarray(row, self.dtype).tobytes()
        start, self.end = self.end, self.end + len(data) // self.dtype.itemsize
        self.values.write(data)
        self.waiting.extend((start, self.end))
        if len(self.waiting) >= 8192:
            self._flush()

    def _flush(self) -> None:
        self.bounds.write(self.waiting.tobytes())
        self.waiting = array("q")

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self.values.close()
        self.bounds.close()


class RowFile:
    """Rows by number. Opened when first read, and again in each process that it is sent to."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self.path = path
        self.dtype = np.dtype(dtype)
        self._open: tuple[Array, Array] | None = None

    def _arrays(self) -> tuple[Array, Array]:
        if self._open is None:
            self._open = open_array(values_file(self.path), self.dtype), open_array(bounds_file(self.path), np.int64, 2)
        return self._open

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": None}

    def __len__(self) -> int:
        return len(self._arrays()[1])

    def __getitem__(self, row: int) -> Array:
        values, bounds = self._arrays()
        start, end = bounds[row].tolist()
        return values[start:end]

    def text(self, row: int) -> str:
        return self[row].tobytes().decode("utf-8")

    def texts(self, start: int, stop: int) -> list[str]:
        values, bounds = self._arrays()
        return [values[first:last].tobytes().decode("utf-8") for first, last in bounds[start:stop].tolist()]
