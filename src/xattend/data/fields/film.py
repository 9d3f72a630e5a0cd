"""Films: some frames of each, equally spaced, as pixels for an encoder that is trained on them.

    source = { kind = "film", frames = 20, size = 64, crop = "none", grey = true }

A row names an animation (GIF, WebP, APNG), a folder of pictures, a video file (with the extra `video`), or what a task draws. Every film is
`frames` positions of shape (channels, height, width), in shares of 255. See data/films.py for which frames are taken.

>>> Film(frames=8, size=[32, 48], grey=True).record()[0]
(8, 1, 32, 48)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import pydantic
from PIL import Image as pillow

from xattend.data import films, pictures
from xattend.data.fields.image import Side
from xattend.data.fields.media import Array, Media
from xattend.data.named import Item, named
from xattend.data.readers.lines import BadRow
from xattend.registry import register
from xattend.types import Space

VERSION = 1  # of how frames are chosen and cut to size


@register("field", "film")
class Film(Media):
    """A side of rows that name films."""

    things = "films"

    def __init__(
        self,
        *,
        frames: Annotated[int, pydantic.Field(ge=1, le=1000), "frames that are read of each film, equally spaced"] = 16,
        size: Annotated[Side | Annotated[list[Side], pydantic.Field(min_length=2, max_length=2)], "pixels of a side, or [height, width]"] = 64,
        crop: Annotated[pictures.Crop, "how a frame gets that size: center, squash, pad, extend, or none if it has it"] = "center",
        grey: Annotated[bool, "one channel instead of three colours"] = False,
        max_pixels: Annotated[int, pydantic.Field(ge=1), "a film with more pixels a frame is refused before it is decoded"] = 50_000_000,
    ) -> None:
        super().__init__({"frames": frames, "size": size, "crop": crop, "grey": grey, "max_pixels": max_pixels})
        self.frames = frames
        self.shape = films.Shape((size, size) if isinstance(size, int) else (size[0], size[1]), crop, grey, max_pixels)

    @property
    def space(self) -> Space:
        return Space(features=(1 if self.shape.grey else 3, *self.shape.size))

    def record(self) -> tuple[tuple[int, ...], Any]:
        return (self.frames, 1 if self.shape.grey else 3, *self.shape.size), np.uint8

    def made_by(self) -> dict[str, Any]:
        shape = self.shape
        return {"kind": "film", "version": VERSION, "frames": self.frames, "size": list(shape.size), "crop": shape.crop, "grey": shape.grey}

    def bytes_of(self, text: str) -> int | None:
        """A folder counts as all of its frames."""
        try:
            item = named(text, self.places.folders, films.frames_in, "film")
            return sum(file.stat().st_size for file in item.files) if item.files else super().bytes_of(text)
        except (BadRow, OSError):
            return None

    def look(self, text: str) -> Item:
        item = named(text, self.places.folders, films.frames_in, "film")
        if item.path is not None:
            item.odd = films.length(item.path, self.shape.max_pixels) < self.frames
            return item
        item.odd = len(item.files or item.frames) < self.frames
        for number in {*films.spaced(len(item.files), self.frames)} if item.files else ():
            with pictures.opened(item.files[number], self.shape.max_pixels):
                pass
        return item

    def decode_item(self, item: Item) -> Array:
        if item.path is not None:
            return films.read(item.path, self.frames, self.shape)
        if item.files:
            return films.read_folder(item.files, self.frames, self.shape)
        drawn = [pillow.fromarray(item.frames[number]) for number in films.spaced(len(item.frames), self.frames)]
        return np.stack([pictures.pixels(frame, self.shape.size, self.shape.crop, grey=self.shape.grey) for frame in drawn])

    def finish(self, decoded: Sequence[Array]) -> Array:
        return np.stack(decoded)

    def length(self, ids: Sequence[int]) -> int:
        return self.frames

    def notes(self) -> list[str]:
        count = self._counts["odd"]
        return [f"{count} film{'s' * (count > 1)} with fewer than {self.frames} frames: some are read more than once"] if count else []
