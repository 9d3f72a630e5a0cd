"""A side whose texts name media: a file, or TASK:SPEC for what an embedded task draws.

The row is encoded as the SHA-256 of the content (eight numbers), and what was made of it, pixels or a frozen network's features, lies
in a store under that key (data/features.py). So a picture is read once however many rows name it, whatever it is called, and in
however many data sets it is. The field itself keeps settings only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch

from xattend.data import cache as caches
from xattend.data.features import Damaged, FeatureStore, Writer
from xattend.data.fields.base import Field, Ids, Progress
from xattend.data.named import Item, Places
from xattend.data.readers.base import Row
from xattend.data.readers.lines import BadRow
from xattend.data.tasks.base import Frame
from xattend.errors import UserError
from xattend.types import Padded, first_of

KEY = 8  # numbers of a key: 32 bytes
TOGETHER = 32  # pictures that a frozen network reads at once
Array = np.ndarray[Any, np.dtype[Any]]


class Collator:
    """Keys in, arrays out."""

    def __init__(self, store: FeatureStore) -> None:
        self.store = store

    def __call__(self, rows: Sequence[Ids]) -> Padded:
        keys = [np.asarray(row, "<i4").tobytes() for row in rows]
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        once = padded([self.store[key] for key in places])
        if len(places) == len(keys):
            return once._replace(first_B=first_of(keys))
        row_B = torch.tensor([places[key] for key in keys])
        return Padded(once.values[row_B], once.mask_BS[row_B], first_B=first_of(keys))


def padded(records: Sequence[Array]) -> Padded:
    """Bytes are pixels, as shares of 255: of one position, or of a film's; features are one position a vector."""
    values = torch.from_numpy(np.stack(records))
    if values.dtype == torch.uint8:
        values = values.float() / 255
        values = values[:, None] if values.dim() == 4 else values
    else:
        values = values.float()
    return Padded(values, torch.ones(values.shape[:2], dtype=torch.bool))


class Media(Field):
    """What kinds of media share. A kind says what it looks at (`look`), how it is decoded, and what a record is."""

    media = True
    things: ClassVar[str] = "pictures"  # what a message calls them
    eos = False
    max_length = None
    share = None

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.places = Places()
        self._keys: dict[str, bytes | BadRow] = {}  # what was taken, by text
        self._store: FeatureStore | None = None
        self._writer: Writer | None = None
        self._waiting: dict[bytes, Array] = {}  # decoded, and not yet finished
        self._counts: Counter[str] = Counter()

    def record(self) -> tuple[tuple[int, ...], Any]:
        """Shape and type of what is stored."""
        raise NotImplementedError

    def made_by(self) -> dict[str, Any]:
        """All that a record depends on besides the content."""
        raise NotImplementedError

    def look(self, text: str) -> Item:
        """What a text names, nothing of it decoded; a BadRow if it cannot be used."""
        raise NotImplementedError

    def decode_item(self, item: Item) -> Array:
        """Its pixels."""
        raise NotImplementedError

    def finish(self, decoded: Sequence[Array]) -> Array:
        """Records of pixels."""
        raise NotImplementedError

    @property
    def store(self) -> FeatureStore:
        """Where the records lie."""
        if self._store is None:
            shape, dtype = self.record()
            made = {**self.made_by(), "shape": list(shape), "dtype": np.dtype(dtype).name}
            folder = self.places.features or caches.cache_folder() / "features"
            self._store = FeatureStore(folder / caches.digest(made)[:32], shape, dtype)
        return self._store

    # --- where things lie

    def settle(self, places: Places) -> None:
        self.places, self._store = places, None

    def here(self) -> Self:
        found = copy(self)
        found.places = self.places._replace(folders=(Path(), *self.places.folders))
        found._keys = {}
        return found

    def bytes_of(self, text: str) -> int | None:
        """The size of the file that a text names; None if it names none."""
        for folder in self.places.folders:
            try:
                return (folder / text).stat().st_size
            except (OSError, ValueError):
                continue
        return None

    # --- every picture of a data set, once

    @contextmanager
    def taking(self, progress: Progress) -> Iterator[None]:
        self._keys, self._waiting, self._counts = {}, {}, Counter()
        self._progress = progress
        waits = f"waiting for another process that reads the same {self.things}"
        with self.store.writer(self.made_by(), lambda: progress(waits, 0)) as self._writer:
            try:
                yield
                self._finish_waiting()
            finally:
                self._writer = None

    def take(self, text: str) -> None:
        if text not in self._keys:
            try:
                self._keys[text] = self._take(text)
            except BadRow as bad:
                self._keys[text] = BadRow(bad.reason, bad.message)  # without its traceback, which holds the picture
        found = self._keys[text]
        if isinstance(found, BadRow):
            raise BadRow(found.reason, found.message)

    def _take(self, text: str) -> bytes:
        assert self._writer is not None
        item = self.look(text)
        stat = None if item.path is None else item.path.stat()
        content = (self._writer.recall(item.path, stat) if item.path and stat else None) or item.content()
        key = item.under(content)
        if key not in self._waiting and not self._writer.store.intact(key):
            self._waiting[key] = self.decode_item(item)
            if len(self._waiting) >= TOGETHER:
                self._finish_waiting()
        if item.path and stat:
            self._writer.remember(item.path, stat, content)
        self._counts["odd"] += item.odd
        self._counts["read"] += 1
        if self._counts["read"] % TOGETHER == 0:
            self._progress(f"reading {self.things}", self._counts["read"])
        return key

    def _finish_waiting(self) -> None:
        assert self._writer is not None
        if self._waiting:
            self._writer.add(list(self._waiting), self.finish(list(self._waiting.values())))
            self._waiting = {}

    def notes(self) -> list[str]:
        count = self._counts["odd"]
        return [f"{count} picture{'s' * (count > 1)} with several frames: the first is read"] if count else []

    # --- rows

    def key(self, text: str) -> bytes:
        """The key of what a text names."""
        found = self._keys.get(text)
        if not isinstance(found, bytes):
            found = self.look(text).key()
        return found

    def encode(self, text: str) -> list[int]:
        return [int(number) for number in np.frombuffer(self.key(text), "<i4")]

    def length(self, ids: Sequence[int]) -> int:
        return 1

    def units(self, ids: Sequence[int]) -> Sequence[int]:
        return ()

    def blank(self, text: str) -> bool:
        return not text.strip()

    def collator(self) -> Collator:
        return Collator(self.store)

    def read(self, texts: Sequence[str], rows: Sequence[Row] = ()) -> Padded:
        """From the store what is there; the rest is decoded, and not kept."""
        store, records, waiting = self.store, dict[str, Array](), dict[str, Array]()
        for number, text in enumerate(texts):
            if text in records or text in waiting:
                continue
            try:
                item = self.look(text)
                try:
                    records[text] = store[item.key()]
                except (KeyError, Damaged):
                    waiting[text] = self.decode_item(item)
            except BadRow as bad:
                place = {"file": rows[number].file, "line": rows[number].line} if rows else {}
                raise UserError(bad.message, **place) from None  # type: ignore[arg-type]
            if len(waiting) == TOGETHER:
                self._finish_into(records, waiting)
        self._finish_into(records, waiting)
        return padded([records[text] for text in texts])

    def problem(self, text: str) -> str | None:
        try:
            item = self.look(text)
            if not self.store.intact(item.key()):
                self.decode_item(item)
        except BadRow as bad:
            return bad.message
        return None

    def shown(self, text: str) -> Frame:
        """What the model sees of what a text names, for drawing where it looked: [height, width, 3], of a film [frames, height, width, 3]."""
        try:
            seen = self.decode_item(self.look(text))
        except BadRow as bad:
            raise UserError(bad.message) from None
        return np.ascontiguousarray(np.moveaxis(np.broadcast_to(seen, (*seen.shape[:-3], 3, *seen.shape[-2:])), -3, -1))

    def _finish_into(self, records: dict[str, Array], waiting: dict[str, Array]) -> None:
        if waiting:
            records.update(zip(waiting, self.finish(list(waiting.values())), strict=True))
            waiting.clear()

    # --- texts: they are names, and stay as they are

    def normalise(self, text: str) -> str:
        return text

    def raw(self, text: str) -> str:
        return text

    def fit(self, texts: Iterable[str]) -> None:
        """Nothing is learnt."""

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.registered_name, "settings": self.settings}

    def restore(self, data: dict[str, Any]) -> None:
        """There is nothing but settings."""
