"""Captions of pictures in one JSON file, as COCO (Lin et al. 2014) and as Karpathy's splits (Karpathy and Fei-Fei 2015) lay them out.

    coco       {"images": [{"id": 9, "file_name": "COCO_val2014_9.jpg"}], "annotations": [{"image_id": 9, "caption": "A dog ."}]}
    karpathy   {"images": [{"filename": "9.jpg", "filepath": "val2014", "split": "test", "sentences": [{"raw": "A dog ."}]}]}

A recipe sets `format`. Karpathy's files hold all splits: `train = "dataset.json#train"`, `validation = "dataset.json#val"`; several go
together as `#train+restval`, and without # every row is read. A row is a caption, its line the caption's number in the file, from 1; spaces and
line ends inside it become single spaces. Such a file is held in memory while it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow, open_bytes
from xattend.errors import UserError, suggestion
from xattend.registry import register


class Captions(Reader):
    """What the two layouts share."""

    def document(self, *keys: str) -> list[list[Any]]:
        """The lists that stand in the file under these keys."""
        try:
            with open_bytes(self.file) as stream:
                found = json.load(stream)
        except (ValueError, RecursionError) as error:
            raise UserError(f"not valid JSON: {error}", file=self.file) from None
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror or error}", file=self.file) from None
        for key in keys:
            if not isinstance(found, dict) or not isinstance(found.get(key), list):
                said = f"no list '{key}' in it: is this a file of layout '{self.registered_name}'?"  # type: ignore[attr-defined]
                raise UserError(said, file=self.file)
        return [found[key] for key in keys]


def _text(item: Any, key: str, what: str) -> str:
    value = item.get(key) if isinstance(item, dict) else None
    if not isinstance(value, str):
        raise BadRow(f"{what} without '{key}'", f"{what} has no text '{key}'")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:  # an escape like \ud800 that is half a character
        raise BadRow("half a character", f"'{key}' of {what} has half a surrogate pair, which is no character") from None
    return value


def _caption(item: Any, key: str) -> str:
    return " ".join(_text(item, key, "a caption").split())


@register("reader", "coco")
class Coco(Captions):
    """Source: the picture's file_name. Target: a caption."""

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        images, annotations = self.document("images", "annotations")
        names: dict[Any, str | BadRow] = {}
        for image in images:
            key = image.get("id") if isinstance(image, dict) else None
            try:
                names[str(key)] = _text(image, "file_name", f"picture {key}")
            except BadRow as bad:
                names[str(key)] = bad
        without = set(names)
        for number, item in enumerate(annotations, 1):
            key = str(item.get("image_id")) if isinstance(item, dict) else ""
            without.discard(key)
            name = names.get(key, BadRow("a caption of no picture", f"the caption's image_id {key} is no picture of this file"))
            try:
                yield number, name if isinstance(name, BadRow) else (name, _caption(item, "caption"))
            except BadRow as bad:
                yield number, bad
        for number, key in enumerate(sorted(without), len(annotations) + 1):
            yield number, BadRow("a picture without captions", f"picture {key} has no caption")


@register("reader", "karpathy")
class Karpathy(Captions):
    """Source: the picture's filepath and filename. Target: the raw text of a sentence."""

    has_parts = True

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        (images,) = self.document("images")
        wanted = None if self.part is None else set(self.part.split("+"))
        there = {str(image.get("split")) for image in images if isinstance(image, dict)}
        for part in sorted((wanted or set()) - there):
            raise UserError(f"no picture of split '{part}' in it: {suggestion(part, there)}", file=self.file)
        number = 0
        for image in images:
            mine = wanted is None or (isinstance(image, dict) and str(image.get("split")) in wanted)
            sentences = image.get("sentences") if isinstance(image, dict) else None
            if not isinstance(sentences, list) or not sentences:
                number += 1
                if mine:
                    yield number, BadRow("a picture without captions", "the picture has no list 'sentences' of captions")
                continue
            for sentence in sentences:
                number += 1
                if not mine:
                    continue
                try:
                    name = _text(image, "filename", "a picture")
                    folder = _text(image, "filepath", "a picture") if "filepath" in image else ""
                    yield number, (f"{folder}/{name}" if folder else name, _caption(sentence, "raw"))
                except BadRow as bad:
                    yield number, bad
