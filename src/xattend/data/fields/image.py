"""Pictures: pixels for an encoder that is trained on them, or features of a frozen network.

    source = { kind = "image", size = [32, 100], crop = "squash", grey = true }
    source = { kind = "image", backbone = "efficientnet-lite0", stage = "14x14" }

Without a backbone a picture is one position of shape (channels, height, width), in shares of 255. With one it is a position a cell of
the stage's grid, and the whole frozen network has run before training begins.

>>> Image(size=32).space.features, Image(size=[32, 100], grey=True).space.features
((3, 32, 32), (1, 32, 100))
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pydantic
import torch
from PIL import Image as pillow

from xattend import registry
from xattend.backbones.base import Backbone
from xattend.data import pictures
from xattend.data.fields.media import Array, Media
from xattend.data.named import Item, Places, named
from xattend.errors import UserError
from xattend.registry import Named, register
from xattend.types import Space

MIRRORED = "mirrored:"  # before a picture's name: the picture seen in a mirror
VERSION = 1  # of how pictures are cut to size
Side = Annotated[int, pydantic.Field(ge=pictures.SMALLEST, le=4096)]
HALF = np.finfo(np.float16)


@register("field", "image")
class Image(Media):
    """A side of rows that name pictures."""

    def __init__(
        self,
        *,
        size: Annotated[Side | Annotated[list[Side], pydantic.Field(min_length=2, max_length=2)], "pixels of a side, or [height, width]"] = 224,
        crop: Annotated[pictures.Crop, "how it gets that size: center, squash, pad, extend, or none if it has it"] = "center",
        grey: Annotated[bool, "one channel instead of three colours"] = False,
        backbone: Annotated[str | None, Named("backbone"), "a frozen network whose features are read instead of pixels"] = None,
        stage: Annotated[str | None, "which of the backbone's layers; by default its last"] = None,
        weights: Annotated[str | None, "folder of the backbone's weights, if it comes without"] = None,
        max_pixels: Annotated[int, pydantic.Field(ge=1), "a picture with more is refused before it is decoded"] = 50_000_000,
    ) -> None:
        super().__init__({
            "size": size, "crop": crop, "grey": grey, "backbone": backbone, "stage": stage, "weights": weights, "max_pixels": max_pixels,
        })  # fmt: skip
        self.size = (size, size) if isinstance(size, int) else (size[0], size[1])
        self.crop = crop
        self.grey = grey
        self.max_pixels = max_pixels
        if backbone is None and (stage is not None or weights is not None):
            raise UserError("'stage' and 'weights' go with 'backbone'")
        if backbone is not None and grey:
            raise UserError(f"backbone '{backbone}' reads colours: take 'grey' out")

    def settle(self, places: Places) -> None:
        super().settle(places)
        self.__dict__.pop("backbone", None)  # its weights may lie elsewhere now

    @cached_property
    def backbone(self) -> Backbone | None:
        if self.settings["backbone"] is None:
            return None
        given: dict[str, Any] = {}
        if (weights := self.settings["weights"]) is not None:
            tried = [base / weights for base in self.places.bases]
            given["folder"] = str(next((path for path in tried if path.is_dir()), tried[0]))
        found: Backbone = registry.build("backbone", self.settings["backbone"], **given)
        if self.size != (found.size, found.size):
            raise UserError(f"backbone '{found.registered_name}' reads pictures of {found.size} x {found.size}: set size = {found.size}")
        return found

    @property
    def space(self) -> Space:
        if self.backbone is None:
            return Space(features=(1 if self.grey else 3, *self.size))
        _, stage = self.backbone.stage(self.settings["stage"])
        return Space(features=(stage.width,), grid=stage.grid)

    def record(self) -> tuple[tuple[int, ...], Any]:
        space = self.space
        assert space.features is not None
        if space.grid is None:
            return space.features, np.uint8
        return (space.grid[0] * space.grid[1], *space.features), np.float16

    def made_by(self) -> dict[str, Any]:
        made: dict[str, Any] = {"kind": "image", "version": VERSION, "size": list(self.size), "crop": self.crop, "grey": self.grey}
        if self.backbone is not None:
            stage, _ = self.backbone.stage(self.settings["stage"])
            made |= {"backbone": self.backbone.registered_name, "weights": self.backbone.version(), "stage": stage}
        return made

    def look(self, text: str) -> Item:
        item = named(text.removeprefix(MIRRORED), self.places.folders)
        item.mirrored = text.startswith(MIRRORED)
        if item.path is None:
            item.odd = len(item.frames) > 1
        else:
            with pictures.opened(item.path, self.max_pixels) as picture:
                item.odd = pictures.animated(picture)
        return item

    def decode_item(self, item: Item) -> Array:
        if item.path is not None:
            pixels = pictures.read(item.path, self.size, self.crop, grey=self.grey, max_pixels=self.max_pixels)
        else:
            pixels = pictures.pixels(pillow.fromarray(item.frames[0]), self.size, self.crop, grey=self.grey)
        return pixels[:, :, ::-1] if item.mirrored else pixels

    def bytes_of(self, text: str) -> int | None:
        return super().bytes_of(text.removeprefix(MIRRORED))

    def finish(self, decoded: Sequence[Array]) -> Array:
        pixels = np.stack(decoded)
        if self.backbone is None:
            return pixels
        stage, _ = self.backbone.stage(self.settings["stage"])
        features = self.backbone.features(torch.from_numpy(pixels), stage).numpy()
        if not np.isfinite(features).all():
            raise UserError(f"backbone '{self.backbone.registered_name}' gives features that are no numbers: its weights are damaged")
        return features.clip(HALF.min, HALF.max).astype(np.float16)
