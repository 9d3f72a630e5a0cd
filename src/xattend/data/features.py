"""What was made of media (a picture's pixels, or features that a frozen network made of them), kept by the content it was made of.

A store is a folder of records of one shape. It only ever grows:

    values       the records, one after the other
    keys         36 bytes a record: the SHA-256 of the content it was made of, and the CRC-32 of the record
    seen         52 bytes a file that was read: a hash of its path, size and time of change, its SHA-256, and the CRC-32 of both
    about.json   what made the records, for people
    lock         held by the one process that writes

A key is written after its record has reached the disk, and both files are cut to whole records before anything is appended. So a
process may die at any moment, and the next one goes on with all records that have a key. A record that no longer fits its CRC is
never given out. Records are read by position, not through a memory map (see store.py).

>>> import tempfile
>>> store = FeatureStore(Path(tempfile.mkdtemp(), "f"), (2,), np.float16)
>>> with store.writer({}) as writer:
...     writer.add([bytes(32)], np.ones((1, 2), np.float16))
>>> store[bytes(32)].tolist(), bytes(range(32)) in store
([1.0, 1.0], False)
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import math
import os
import struct
import time
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from xattend.errors import UserError

Array = np.ndarray[Any, np.dtype[Any]]
KEY = struct.Struct("<32sI")
SEEN = struct.Struct("<16s32sI")
FRESH = 2_000_000_000  # nanoseconds in which a file may change again without its time of change telling


class Damaged(UserError):
    """A record that is not what was written."""


class FeatureStore:
    """Records by key. Opened when first read, and again in each process that it is sent to. Those of ragged.py differ in length."""

    entry: ClassVar[struct.Struct] = KEY  # what the file of keys has of each record

    def __init__(self, folder: Path, shape: Sequence[int], dtype: Any) -> None:
        self.folder = folder
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.size = math.prod(self.shape) * self.dtype.itemsize  # bytes of a record
        self.forget()

    def forget(self) -> None:
        """Closes what is open; it is read anew when it is asked for."""
        self._values: io.FileIO | None = None
        self._index: dict[bytes, int] = {}  # key -> which record
        self._sums = array("I")  # CRC-32 of each record

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "shape": self.shape, "dtype": self.dtype, "size": self.size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.forget()

    def __len__(self) -> int:
        """How many records there are on the disk now."""
        try:
            keys, values = (os.path.getsize(self.folder / name) for name in ("keys", "values"))
        except FileNotFoundError:
            return 0
        return int(min(keys // KEY.size, values // self.size))

    def end_of(self, records: int) -> int:
        """Bytes that so many first records take."""
        return int(records * self.size)

    def appending(self, values: IO[bytes], keys: IO[bytes], seen: IO[bytes]) -> Writer:
        return Writer(self, values, keys, seen)

    def _refresh(self) -> None:
        """Learns of records that were written since."""
        known, there = len(self._sums), len(self)
        if there <= known:
            return
        with (self.folder / "keys").open("rb") as stream:
            stream.seek(known * KEY.size)
            for key, checksum in KEY.iter_unpack(stream.read((there - known) * KEY.size)):
                self._index[key] = len(self._sums)  # a later record of the same key takes the place of a damaged one
                self._sums.append(checksum)

    def __contains__(self, key: bytes) -> bool:
        if key not in self._index:
            self._refresh()
        return key in self._index

    def __getitem__(self, key: bytes) -> Array:
        """The record of a key; KeyError if there is none, Damaged if it is not what was written."""
        if key not in self:
            raise KeyError(key.hex())
        if self._values is None:
            self._values = io.FileIO(self.folder / "values")
        number = self._index[key]
        data = os.pread(self._values.fileno(), self.size, number * self.size)
        if len(data) < self.size or zlib.crc32(data) != self._sums[number]:
            said = f"record {number} of stored features is damaged: delete this folder, and they will be computed again"
            raise Damaged(said, file=self.folder)
        return np.frombuffer(data, self.dtype).reshape(self.shape)

    def intact(self, key: bytes) -> bool:
        """Whether the record is there as it was written."""
        try:
            self[key]
        except (KeyError, Damaged):
            return False
        return True

    @contextmanager
    def writer(self, about: dict[str, Any], waits: Callable[[], None] = lambda: None) -> Iterator[Writer]:
        """The only way to write. Another process that writes is waited for; `waits` is called first if there is one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            lock = stack.enter_context((self.folder / "lock").open("wb"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waits()
                fcntl.flock(lock, fcntl.LOCK_EX)
            self.forget()
            files = {name: stack.enter_context((self.folder / name).open("ab")) for name in ("values", "keys", "seen")}
            whole = len(self)
            os.truncate(self.folder / "values", self.end_of(whole))
            os.truncate(self.folder / "keys", whole * self.entry.size)
            os.truncate(self.folder / "seen", os.path.getsize(self.folder / "seen") // SEEN.size * SEEN.size)
            if not (self.folder / "about.json").exists():
                (self.folder / "about.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
            try:
                yield self.appending(files["values"], files["keys"], files["seen"])
            except OSError as error:
                if error.filename is None:  # a write, not a file that could not be opened
                    raise UserError(f"features cannot be stored: {error.strerror or error}", file=self.folder) from None
                raise


class Writer:
    """Appends records, and remembers which files had which content."""

    def __init__(self, store: FeatureStore, values: IO[bytes], keys: IO[bytes], seen: IO[bytes]) -> None:
        self.store = store
        self._values, self._keys, self._seen = values, keys, seen
        self._known: dict[bytes, bytes] = {}
        data = (store.folder / "seen").read_bytes()
        for mark, key, checksum in SEEN.iter_unpack(data[: len(data) // SEEN.size * SEEN.size]):
            if zlib.crc32(mark + key) == checksum:
                self._known[mark] = key

    def add(self, keys: Sequence[bytes], records: Array | Sequence[Array]) -> None:
        """Some records and their keys; when this returns, they are on the disk."""
        records = np.asarray(records)
        if records.shape[1:] != self.store.shape or records.dtype != self.store.dtype or len(keys) != len(records):
            raise ValueError(f"records {records.dtype} {records.shape} for {len(keys)} keys do not fit {self.store.shape}")
        rows = [np.ascontiguousarray(record).tobytes() for record in records]
        self._values.writelines(rows)
        self._values.flush()
        os.fsync(self._values.fileno())
        self._keys.writelines(KEY.pack(key, zlib.crc32(row)) for key, row in zip(keys, rows, strict=True))
        self._keys.flush()

    def recall(self, path: Path, stat: os.stat_result) -> bytes | None:
        """The content's key of a file that has not changed since it was remembered."""
        return self._known.get(_mark(path, stat))

    def remember(self, path: Path, stat: os.stat_result, key: bytes) -> None:
        """`stat` must be of before the file was read."""
        if time.time_ns() - stat.st_mtime_ns < FRESH:
            return
        mark = _mark(path, stat)
        if self._known.get(mark) != key:
            self._known[mark] = key
            self._seen.write(SEEN.pack(mark, key, zlib.crc32(mark + key)))


def _mark(path: Path, stat: os.stat_result) -> bytes:
    return hashlib.blake2b(os.fsencode(path.resolve()) + struct.pack("<qq", stat.st_size, stat.st_mtime_ns), digest_size=16).digest()
