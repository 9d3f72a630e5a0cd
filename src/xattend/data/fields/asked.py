"""Pictures with a question about each: the row's text is PICTURE|QUESTION, with the last | between them.

    source = { kind = "asked", size = 64, question = { plain = true, min_count = 2 } }

The picture is read as a field `image` reads it, with the same settings; the question as a field `text`, by default as plain lower-case
words. A row's ids are the picture's key and the question's ids; in a batch the question stands beside the picture (`Padded.beside`).

>>> field = Asked(size=32)
>>> field.fit(["1.png|what is red", "2.png|What is blue?"])
>>> field.space.features, field.space.beside.vocabulary, split("a|b.png|is it red")
((3, 32, 32), 8, ('a|b.png', 'is it red'))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import pydantic

from xattend import registry
from xattend.data import pictures
from xattend.data.features import FeatureStore
from xattend.data.fields.base import Ids
from xattend.data.fields.image import Image, Side
from xattend.data.fields.media import KEY, Collator
from xattend.data.fields.text import Text
from xattend.data.readers.base import Row
from xattend.data.readers.lines import BadRow
from xattend.data.split import Collate
from xattend.data.tasks.base import Frame
from xattend.errors import UserError
from xattend.registry import Named, register
from xattend.types import Padded, Space

OWN = ("share", "max_length")  # settings of text that a question has no use for


def split(text: str) -> tuple[str, str]:
    """The picture and the question of a row."""
    picture, _, question = text.rpartition("|")
    return picture.strip(), question.strip()


class AskedCollator(Collator):
    """Keys and ids in, arrays out, with the questions beside them."""

    def __init__(self, store: FeatureStore, question: Collate) -> None:
        super().__init__(store)
        self.question = question

    def __call__(self, rows: Sequence[Ids]) -> Padded:
        return super().__call__([row[:KEY] for row in rows])._replace(beside=self.question([row[KEY:] for row in rows]))


@register("field", "asked")
class Asked(Image):
    """A side of rows that name a picture and ask about it."""

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
        question: Annotated[dict[str, Any] | None, "how the question is read, settings of a text field; by default as plain words"] = None,
    ) -> None:
        super().__init__(
            size=size, crop=crop, grey=grey, backbone=backbone, stage=stage, weights=weights, max_pixels=max_pixels
        )
        given = {"unit": "word", "plain": True} if question is None else question
        for key in OWN:
            if given.get(key) is not None:
                raise UserError(f"a question has no '{key}': take it out")
        self.question: Text = registry.build("field", "text", **given)
        self.settings["question"] = {key: value for key, value in self.question.settings.items() if key not in OWN}

    @property
    def space(self) -> Space:
        return replace(super().space, beside=self.question.space)

    # --- the picture's half

    def bytes_of(self, text: str) -> int | None:
        return super().bytes_of(split(text)[0])

    def take(self, text: str) -> None:
        picture, question = split(text)
        _must_ask(picture, self.question.normalise(question))
        super().take(picture)

    def shown(self, text: str) -> Frame:
        return super().shown(split(text)[0])

    # --- both

    def encode(self, text: str) -> list[int]:
        picture, question = split(text)
        return super().encode(picture) + self.question.encode(question)

    def as_source(self, ids: Sequence[int]) -> list[int]:
        return [*ids[:KEY], *self.question.as_source(ids[KEY:])]

    def units(self, ids: Sequence[int]) -> Sequence[int]:
        return ids[KEY:]

    def collator(self) -> AskedCollator:
        return AskedCollator(self.store, self.question.collator())

    def read(self, texts: Sequence[str], rows: Sequence[Row] = ()) -> Padded:
        for number, text in enumerate(texts):
            try:
                picture, question = split(text)
                _must_ask(picture, self.question.normalise(question))
            except BadRow as bad:
                place = {"file": rows[number].file, "line": rows[number].line} if rows else {}
                raise UserError(bad.message, **place) from None  # type: ignore[arg-type]
        halves = [split(text) for text in texts]
        asked = self.question.read([question for _, question in halves], rows)
        return super().read([picture for picture, _ in halves], rows)._replace(beside=asked)

    # --- the question's vocabulary

    def fit(self, texts: Iterable[str]) -> None:
        self.question.fit(_Questions(texts))

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "question": self.question.to_json()}

    def restore(self, data: dict[str, Any]) -> None:
        self.question.restore(data["question"])


class _Questions:
    """The questions of rows, which can be gone through more than once if the rows can."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = texts

    def __iter__(self) -> Iterator[str]:
        return (split(text)[1] for text in self.texts)


def _must_ask(picture: str, question: str) -> None:
    if not picture or not question.strip():
        raise BadRow("not a picture and a question", "the row is not a picture and a question: write PICTURE|QUESTION")
