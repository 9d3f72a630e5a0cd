"""Small pictures, such as digits, each put somewhere into a larger one, among pieces of others, anew in every pass over the data.

    source = { kind = "placed" }                               28 x 28, as they are
    source = { kind = "placed", size = 60 }                    translated
    source = { kind = "placed", size = 60, clutter = 4 }       cluttered: with four pieces of 8 x 8 pixels of other training digits
    source = { kind = "placed", binary = true }                black and white, each pixel drawn by its grey (Salakhutdinov and Murray 2008)

Only the small pictures are kept on disk; the large ones are made when a batch is, and forgotten. What is drawn depends on the seed, the pass and
the picture alone, so that a resumed training sees what an undisturbed one would have seen. Outside of training there is no pass, and
a picture always is where it was: test sets are fixed. The pieces are cut from `POOL` training digits, which the field keeps, as others keep a
vocabulary. A picture of a user's own that is not as small as a digit is read as it is, cut to the large size.

>>> Placed(size=60).space.features
(1, 60, 60)
"""

from __future__ import annotations

import base64
import hashlib
import heapq
import zlib
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np
import pydantic
from PIL import Image as pillow

from xattend.data import pictures
from xattend.data.features import Damaged, FeatureStore
from xattend.data.fields.base import Ids
from xattend.data.fields.media import Array, Media, padded
from xattend.data.named import Item, named
from xattend.data.readers.base import Row
from xattend.data.readers.lines import BadRow
from xattend.data.tasks.base import Frame, share
from xattend.drawing import clutter as drawing
from xattend.errors import UserError
from xattend.registry import register
from xattend.types import Padded, Space

VERSION = 1  # of how pictures are read
POOL = 1000  # training digits that pieces are cut from
MAX_PIXELS = 50_000_000
Side = Annotated[int, pydantic.Field(ge=pictures.SMALLEST, le=1024)]


class Placing:
    """From small pictures to large ones. `epoch` is the pass over the data, None outside of training."""

    def __init__(self, size: int, clutter: int, piece: int, binary: bool, seed: int, pool_Mdd: Array, epoch: int | None = None) -> None:
        self.size, self.clutter, self.piece, self.binary, self.seed, self.pool_Mdd = size, clutter, piece, binary, seed, pool_Mdd
        self.epoch = epoch

    def at(self, epoch: int) -> Placing:
        return Placing(self.size, self.clutter, self.piece, self.binary, self.seed, self.pool_Mdd, epoch)

    def __call__(self, small_Bdd: Array, keys: Sequence[bytes]) -> Array:
        """[B, 1, size, size]; each has a key of its own, of which its draws are made."""
        moment = f"{self.seed} {self.epoch}".encode()
        large = small_Bdd
        if self.clutter or self.size != small_Bdd.shape[1]:
            dice_BN = drawing.dice([key + moment for key in keys], drawing.numbers(self.clutter))
            large = drawing.place(small_Bdd, dice_BN, self.size, self.pool_Mdd, self.clutter, self.piece)
        if self.binary:
            noise = b"".join(hashlib.shake_128(key + b"pixels" + moment).digest(self.size**2) for key in keys)
            large = drawing.binarised(large, np.frombuffer(noise, np.uint8).reshape(large.shape))
        return large[:, None]


class Collator:
    """Keys in, pictures out."""

    def __init__(self, store: FeatureStore, placing: Placing) -> None:
        self.store, self.placing = store, placing

    def at(self, epoch: int) -> Collator:
        """The same in a pass over the data."""
        return Collator(self.store, self.placing.at(epoch))

    def __call__(self, rows: Sequence[Ids]) -> Padded:
        keys = [np.asarray(row, "<i4").tobytes() for row in rows]
        return padded(list(self.placing(np.stack([self.store[key][0] for key in keys]), keys)))


@register("field", "placed")
class Placed(Media):
    """A side of rows that name small pictures."""

    def __init__(
        self, *,
        size: Annotated[Side, "pixels of a side of the picture that is made"] = 28,
        digit: Annotated[Side, "pixels of a side of the small pictures"] = 28,
        clutter: Annotated[int, pydantic.Field(ge=0, le=64), "pieces of other training pictures in it"] = 0,
        piece: Annotated[Side, "pixels of a piece's side"] = 8,
        binary: Annotated[bool, "black and white, each pixel drawn by its grey"] = False,
        seed: Annotated[int, "of where things are"] = 1,
    ) -> None:  # fmt: skip
        super().__init__({"size": size, "digit": digit, "clutter": clutter, "piece": piece, "binary": binary, "seed": seed})
        if size < digit:
            raise UserError(f"a picture of {size} x {size} cannot hold one of {digit} x {digit}: raise 'size' or lower 'digit'")
        if clutter and piece > digit:
            raise UserError(f"a piece of {piece} x {piece} cannot be cut from {digit} x {digit}: lower 'piece'")
        self.size, self.digit, self.clutter, self.piece, self.binary, self.seed = size, digit, clutter, piece, binary, seed
        self.pool_Mdd: Array = np.zeros((0, digit, digit), np.uint8)

    @property
    def space(self) -> Space:
        return Space(features=(1, self.size, self.size))

    def record(self) -> tuple[tuple[int, ...], Any]:
        return (1, self.digit, self.digit), np.uint8

    def made_by(self) -> dict[str, Any]:
        return {"kind": "placed", "version": VERSION, "digit": self.digit}

    def placing(self) -> Placing:
        return Placing(self.size, self.clutter, self.piece, self.binary, self.seed, self.pool_Mdd)

    def collator(self) -> Collator:  # type: ignore[override]  # keys in and arrays out, as with other media
        return Collator(self.store, self.placing())

    # --- what is kept: digits to cut pieces from

    def fit(self, texts: Iterable[str]) -> None:
        if self.clutter:
            chosen = heapq.nsmallest(POOL, texts, key=share)
            self.pool_Mdd = np.stack([self.store[self.key(text)][0] for text in chosen])

    def to_json(self) -> dict[str, Any]:
        described = super().to_json()
        if self.clutter:
            described["pool"] = base64.b64encode(zlib.compress(self.pool_Mdd.tobytes(), 9)).decode("ascii")
        return described

    def restore(self, data: dict[str, Any]) -> None:
        if self.clutter:
            most = POOL * self.digit * self.digit
            try:
                pool = zlib.decompressobj().decompress(base64.b64decode(data["pool"], validate=True), most + 1)
            except zlib.error as error:
                raise ValueError(f"the pool: {error}") from None
            if not 0 < len(pool) <= most or len(pool) % (self.digit * self.digit):
                raise ValueError("the pool has another size")
            self.pool_Mdd = np.frombuffer(pool, np.uint8).reshape(-1, self.digit, self.digit)

    # --- pictures

    def look(self, text: str) -> Item:
        return named(text, self.places.folders)

    def decode_item(self, item: Item) -> Array:
        """The small picture; one of another size is a BadRow."""
        found = self._decoded(item)
        if found.shape[1] != self.digit or found.shape[2] != self.digit:
            said = f"{found.shape[2]} x {found.shape[1]} pixels, and small pictures of {self.digit} x {self.digit} are placed"
            raise BadRow("a picture of another size", f"{item.path or 'the drawing'}: {said}: set 'digit', or read whole pictures with kind = \"image\"")
        return found

    def _decoded(self, item: Item) -> Array:
        """A small picture as it is, any other as large as the pictures that are made."""
        small, large = (self.digit, self.digit), (self.size, self.size)
        if item.path is None:
            picture = pillow.fromarray(item.frames[0])
            return pictures.pixels(picture, small if picture.size == small else large, "center", grey=True)
        with pictures.opened(item.path, MAX_PIXELS) as opened:
            size = small if opened.size == small else large
        return pictures.read(item.path, size, "center", grey=True, max_pixels=MAX_PIXELS)

    def finish(self, decoded: Sequence[Array]) -> Array:
        return np.stack(decoded)

    def read(self, texts: Sequence[str], rows: Sequence[Row] = ()) -> Padded:
        """A user's own: digits where they always are, larger pictures as they are."""
        found = []
        for number, text in enumerate(texts):
            try:
                found.append(self._whole(text))
            except BadRow as bad:
                place = {"file": rows[number].file, "line": rows[number].line} if rows else {}
                raise UserError(bad.message, **place) from None  # type: ignore[arg-type]
        return padded(found)

    def _whole(self, text: str) -> Array:
        """What the model sees: [1, size, size]."""
        item = self.look(text)
        key = item.key()
        try:
            seen = self.store[key]
        except (KeyError, Damaged):
            seen = self._decoded(item)
        if seen.shape[1:] == (self.digit, self.digit):
            large: Array = self.placing()(seen, [key])[0]
            return large
        return np.where(seen > 127, 255, 0).astype(np.uint8) if self.binary else seen

    def shown(self, text: str) -> Frame:
        try:
            seen = self._whole(text)
        except BadRow as bad:
            raise UserError(bad.message) from None
        return np.ascontiguousarray(np.repeat(seen[0][:, :, None], 3, axis=2))
