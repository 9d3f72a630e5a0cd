"""Instructions to walk, with the map and the pose that the walk begins at: `Grid 3 5 180|move until you see red brick floor`.

    source = { kind = "walk", maps = "sail/maps", lower = true }

`maps` is a folder of maps (data/maps.py), looked for beside the recipe and in --data when the field is fitted; a run keeps them with its
vocabulary. A row's ids are its pose and its words; in a batch the poses stand beside the words (`Padded.beside`).

>>> split("Grid 3 5 180|face the lamp")
('Grid', 3, 5, 180, 'face the lamp')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import pydantic

from xattend.data.fields.base import Field, Ids
from xattend.data.fields.text import Text
from xattend.data.maps import Map, World, parse_map
from xattend.data.named import Places
from xattend.data.readers.lines import BadRow
from xattend.errors import UserError
from xattend.registry import register
from xattend.types import Padded, Space

ROW = re.compile(r"\s*(\S+)\s+(\d{1,4})\s+(\d{1,4})\s+(0|90|180|270)\s*\|(.*)", re.DOTALL)


def split(text: str) -> tuple[str, int, int, int, str]:
    """Map, column, row, degrees and instruction."""
    match = ROW.fullmatch(text)
    if match is None:
        how = "write 'Grid 3 5 180|turn left', with 0, 90, 180 or 270 degrees"
        raise UserError(f"the row is not a map, a place, a direction and an instruction: {how}")
    return match[1], int(match[2]), int(match[3]), int(match[4]), match[5].strip()


@register("field", "walk")
class Walk(Field):
    """A side of rows that says where one is, and what to do."""

    def __init__(
        self, *,
        maps: Annotated[str, "folder of maps, map-*.xml"] = "maps",
        lower: Annotated[bool, "lower-case the instruction"] = True,
        min_count: Annotated[Annotated[int, pydantic.Field(ge=1)], "rarer words are unknown"] = 1,
    ) -> None:  # fmt: skip
        self.settings: dict[str, Any] = {"maps": maps, "lower": lower, "min_count": min_count}
        self.text = Text(unit="word", lower=lower, min_count=min_count)
        self.eos, self.max_length, self.share = True, None, None
        self.places = Places()
        self._world: World | None = None

    @property
    def world(self) -> World:
        """The maps, read when they are first needed; a fitted field has them with it."""
        if self._world is None:
            folders = [base / Path(self.settings["maps"]).expanduser() for base in self.places.bases]
            files = next((found for folder in folders if (found := sorted(folder.glob("map-*.xml")))), [])
            if not files:
                where = " and not ".join(str(folder / "map-*.xml") for folder in folders)
                raise UserError(f"no maps to walk on: not {where} (data.source.maps says where they lie)")
            self._world = World([_read(file) for file in files])
        return self._world

    def settle(self, places: Places) -> None:
        self.places = places

    @property
    def space(self) -> Space:
        return Space(vocabulary=self.text.space.symbols(), beside=Space(features=(1,)))

    def normalise(self, text: str) -> str:
        name, x, y, way, said = split(text)
        return f"{name} {x} {y} {way}|{self.text.normalise(said)}"

    def raw(self, text: str) -> str:
        return text

    def take(self, text: str) -> None:
        """So that a row that stands on no map is placed at its line."""
        try:
            self.pose(text)
            if not split(text)[4]:
                raise UserError("there is no instruction")
        except UserError as error:
            raise BadRow("no walk on these maps", error.message) from None

    def pose(self, text: str) -> int:
        """The number of the pose that a row begins at."""
        return self.world.pose(*split(text)[:4])

    def fit(self, texts: Iterable[str]) -> None:
        assert self.world
        self.text.fit(_Said(texts))

    def encode(self, text: str) -> list[int]:
        return [self.pose(text), *self.text.encode(split(text)[4])]

    def units(self, ids: Sequence[int]) -> Sequence[int]:
        return ids[1:]

    def length(self, ids: Sequence[int]) -> int:
        return len(ids) - 1

    def blank(self, text: str) -> bool:
        return not text.strip()

    def decode(self, ids: Sequence[int]) -> str:
        name, x, y, way = self.world.poses[ids[0]]
        return f"{name} {x} {y} {90 * way}|{self.text.decode(ids[1:])}"

    def symbols(self, ids: Sequence[int]) -> list[str]:
        """Of words alone."""
        return self.text.symbols(ids)

    def words(self, ids: Sequence[int]) -> list[int]:
        return self.text.words(ids)

    @staticmethod
    def collate(rows: Sequence[Ids]) -> Padded:
        """Words, and beside them the pose."""
        return Field.collate([row[1:] for row in rows])._replace(beside=Field.collate([row[:1] for row in rows]))

    def read(self, texts: Sequence[str], rows: Sequence[Any] = ()) -> Padded:
        for number, text in enumerate(texts):
            try:
                self.take(text)
            except BadRow as bad:
                place = {"file": rows[number].file, "line": rows[number].line} if rows else {}
                raise UserError(bad.message, **place) from None
        return super().read(texts, rows)

    def to_json(self) -> dict[str, Any]:
        maps = [one._asdict() for one in self.world.maps]
        return {"kind": self.registered_name, "settings": self.settings, "maps": maps, "text": self.text.to_json()}

    def restore(self, data: dict[str, Any]) -> None:
        self._world = World([
            Map(one["name"], [tuple(item) for item in one["items"]], [tuple(edge) for edge in one["edges"]])  # type: ignore[misc]
            for one in data["maps"]
        ])  # fmt: skip
        self.text.restore(data["text"])


def _read(file: Path) -> Map:
    try:
        return parse_map(file.read_text("utf-8"))
    except UserError as error:
        raise UserError(error.message, file=file) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read: {error}", file=file) from None


class _Said:
    """The instructions of rows, which can be gone through more than once if the rows can."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = texts

    def __iter__(self) -> Iterator[str]:
        return (split(text)[4] for text in self.texts)
