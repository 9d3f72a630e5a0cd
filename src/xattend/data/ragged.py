"""Records of different lengths, kept as features.py keeps records of one shape: [length, width], such as the frames of a sound.

    keys   52 bytes a record: the SHA-256 of the content, the CRC-32 of the record, where it begins, how long it is

>>> import tempfile
>>> store = RaggedStore(Path(tempfile.mkdtemp(), "f"), 2, np.float16)
>>> with store.writer({}) as writer:
...     writer.add([bytes(32), bytes(range(32))], [np.ones((3, 2), np.float16), np.zeros((1, 2), np.float16)])
>>> store[bytes(32)].shape, store.length(bytes(range(32))), len(store)
((3, 2), 1, 2)
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from xattend.data.features import Array, Damaged, FeatureStore, Writer

ENTRY = struct.Struct("<32sIQII")  # key, checksum, first byte, length; the last four bytes are spare


class RaggedStore(FeatureStore):
    """`width` numbers a frame, as many frames as each record has."""

    entry = ENTRY

    def __init__(self, folder: Path, width: int, dtype: Any) -> None:
        super().__init__(folder, (width,), dtype)  # `size` is that of one frame

    def forget(self) -> None:
        super().forget()
        self._begins, self._lengths = array("Q"), array("I")

    def __len__(self) -> int:
        try:
            keys, values = (os.path.getsize(self.folder / name) for name in ("keys", "values"))
        except FileNotFoundError:
            return 0
        count = keys // ENTRY.size
        while count and self.end_of(count) > values:  # a key without its whole record is no record
            count -= 1
        return int(count)

    def end_of(self, records: int) -> int:
        if not records:
            return 0
        with (self.folder / "keys").open("rb") as stream:
            stream.seek((records - 1) * ENTRY.size)
            _, _, begin, length, _ = ENTRY.unpack(stream.read(ENTRY.size))
        return int(begin + length * self.size)

    def _refresh(self) -> None:
        known, there = len(self._sums), len(self)
        if there <= known:
            return
        with (self.folder / "keys").open("rb") as stream:
            stream.seek(known * ENTRY.size)
            for key, checksum, begin, length, _ in ENTRY.iter_unpack(stream.read((there - known) * ENTRY.size)):
                self._index[key] = len(self._sums)
                self._sums.append(checksum)
                self._begins.append(begin)
                self._lengths.append(length)

    def length(self, key: bytes) -> int:
        """How long a record is, without reading it; KeyError if there is none."""
        if key not in self:
            raise KeyError(key.hex())
        return self._lengths[self._index[key]]

    def __getitem__(self, key: bytes) -> Array:
        length = self.length(key)
        if self._values is None:
            self._values = io.FileIO(self.folder / "values")
        number = self._index[key]
        data = os.pread(self._values.fileno(), length * self.size, self._begins[number])
        if len(data) < length * self.size or zlib.crc32(data) != self._sums[number]:
            said = f"record {number} of stored features is damaged: delete this folder, and they will be computed again"
            raise Damaged(said, file=self.folder)
        return np.frombuffer(data, self.dtype).reshape(length, *self.shape)

    def appending(self, values: IO[bytes], keys: IO[bytes], seen: IO[bytes]) -> Writer:
        return RaggedWriter(self, values, keys, seen)


class RaggedWriter(Writer):
    """Appends records of any length."""

    def add(self, keys: Sequence[bytes], records: Array | Sequence[Array]) -> None:
        store, rows, begin = self.store, [], self.store.end_of(len(self.store))
        for record in records:
            if record.shape[1:] != store.shape or record.dtype != store.dtype or len(keys) != len(records):
                raise ValueError(f"a record {record.dtype} {record.shape} does not fit {store.dtype} [length, {store.shape[0]}]")
            rows.append(np.ascontiguousarray(record).tobytes())
        self._values.writelines(rows)
        self._values.flush()
        os.fsync(self._values.fileno())
        for key, row in zip(keys, rows, strict=True):
            self._keys.write(ENTRY.pack(key, zlib.crc32(row), begin, len(row) // store.size, 0))
            begin += len(row)
        self._keys.flush()
