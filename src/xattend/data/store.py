"""Rows of different lengths in two flat files, one of values and one of where each row starts and ends.

Written once, front to back; read row by row from the file, so that a corpus may be larger than memory. (Through a memory
map, every page that random rows lie in would count as this process's memory, and in time that is the whole file.)

>>> import tempfile
>>> folder = Path(tempfile.mkdtemp())
>>> with RowWriter(folder / "ids", np.int32) as writer:
...     writer.append([5, 6]); writer.append([7])
>>> RowFile(folder / "ids", np.int32)[1].tolist()
[7]
"""

from __future__ import annotations

import io
import mmap
import os
import struct
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
BOUND = struct.Struct("=qq")  # where a row starts and ends, in values


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


def let_go(mapped: Array) -> None:
    """Takes a mapped array's pages out of this process's memory; they come back from the file when they are read."""
    base: Any = mapped
    while base is not None and not isinstance(base, mmap.mmap):
        base = base.base if isinstance(base, np.ndarray) else None
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


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
        self._open: tuple[io.FileIO, io.FileIO] | None = None  # values, bounds

    def _files(self) -> tuple[io.FileIO, io.FileIO]:
        if self._open is None:
            values, bounds = values_file(self.path), bounds_file(self.path)
            self._open = io.FileIO(values), io.FileIO(bounds)
        return self._open

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": None}

    def __len__(self) -> int:
        return os.fstat(self._files()[1].fileno()).st_size // BOUND.size

    def __getitem__(self, row: int) -> Array:
        values, bounds = self._files()
        if row < 0:
            row += len(self)
        found = os.pread(bounds.fileno(), BOUND.size, row * BOUND.size)
        if row < 0 or len(found) < BOUND.size:
            raise IndexError(f"no row {row} in {self.path}")
        start, end = BOUND.unpack(found)
        width = self.dtype.itemsize
        return np.frombuffer(os.pread(values.fileno(), (end - start) * width, start * width), self.dtype)

    def __iter__(self) -> Iterator[Array]:
        return (self[row] for row in range(len(self)))

    def text(self, row: int) -> str:
        return self[row].tobytes().decode("utf-8")

    def texts(self, start: int, stop: int) -> list[str]:
        """Rows in a row, of bytes: read in one go."""
        values, bounds = self._files()
        found = np.frombuffer(os.pread(bounds.fileno(), (stop - start) * BOUND.size, start * BOUND.size), np.int64).reshape(-1, 2)
        if not len(found):
            return []
        first, last = int(found[0, 0]), int(found[-1, 1])
        data = os.pread(values.fileno(), last - first, first)
        return [data[begin - first : end - first].decode("utf-8") for begin, end in found.tolist()]
