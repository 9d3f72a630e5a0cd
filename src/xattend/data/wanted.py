"""What data a recipe asks for: its task or files, its two fields, and the fingerprint of it all."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

from xattend import registry
from xattend.data import cache as caches
from xattend.data.fields.base import Field
from xattend.data.fields.image import MIRRORED
from xattend.data.fields.media import Media
from xattend.data.fields.text import SHARED
from xattend.data.named import Places
from xattend.data.readers.base import Row, find_file, find_part, open_reader, reader_for
from xattend.data.report import Report
from xattend.data.split import SIDES
from xattend.data.tasks.base import Task, share
from xattend.errors import UserError
from xattend.recipe import Recipe
from xattend.settings import DataSettings

Fields = tuple[Field | None, Field]
Made = TypeVar("Made")
VERSION = 1  # of what is written for the same data and settings


def split_key(text: str) -> str:
    """What sources are compared by: two that differ in case, spaces or Unicode form only never straddle splits.

    >>> split_key("Ein  Hund ") == split_key("ein hund")
    True
    """
    return " ".join(unicodedata.normalize("NFC", text.casefold()).split())


def one_side(row: Row) -> str:
    """The only side a language model reads: the target if there are two."""
    return row.source if row.target is None else row.target


def _set(described: dict[str, Any]) -> dict[str, Any]:
    """What is set otherwise than by default: a setting that a later version adds must not disown the runs of today."""
    defaults = registry.settings(registry.find("field", described["kind"]))
    return {key: value for key, value in described.items() if key not in defaults or value != defaults[key].default}


class Wanted:
    """[data] of a resolved recipe, checked; a mistake is placed at its line of the recipe.

    source, target   the fields, new and not fitted; no source if the system reads one side only
    """

    def __init__(self, recipe: Recipe, root: Path, data_dir: Path | None, needs_source: bool) -> None:
        self.recipe = recipe
        self.settings: DataSettings = recipe.data
        self.root = root
        self.data_dir = data_dir
        self.needs_source = needs_source
        self.task, self.more = self._task("task"), self._task("more")
        self._check()
        self.described = {side: self._described(side) for side in SIDES}
        source, target = self._field("source"), self._field("target")
        self._check_share(source, target)
        self._check_media(source, target)
        self.fields: Fields = (source if needs_source else None, target)

    def placed(self, key: str, make: Callable[[], Made]) -> Made:
        """What `make` gives; a mistake without a place of its own is placed at the key."""
        try:
            return make()
        except UserError as error:
            if error.file is not None:
                raise
            raise self.recipe.mistake("data", key, error.message) from None

    def _task(self, key: Literal["task", "more"]) -> Task | None:
        named = getattr(self.settings, key)
        if named is None:
            return None
        found: Task = self.placed(key, lambda: registry.build_named("task", named))
        return found

    def _check(self) -> None:
        if self.task is not None:
            for key in ("more", "mirrored", "validation", "test", "rows", "split", "columns", "format", "folder"):
                if getattr(self.settings, key) is not None:
                    raise self.recipe.mistake("data", key, f"'{key}' goes with 'train': a task has its own splits, rows and columns")
        for name in self.settings.split or {}:
            if getattr(self.settings, name) is not None:
                raise self.recipe.mistake("data", "split", f"'{name}' is given as a file and as a share in 'split': choose one")
        if self.settings.mirrored is not None and self.settings.rows is not None:
            raise self.recipe.mistake("data", "mirrored", "mirrored rows come after all others, and 'rows' takes the first alone: choose one")
        if not self.needs_source and self.settings.source is not None:
            raise self.recipe.mistake("data", "source", "this system reads one side only: describe it as 'target'")

    def _described(self, side: str) -> dict[str, Any]:
        given = dict(getattr(self.settings, side) or (getattr(self.task, side) if self.task else {}))
        kind = given.pop("kind", "text")
        return {"kind": kind, **self.placed(side, lambda: registry.validate("field", kind, given))}

    def _field(self, side: str) -> Field:
        given = dict(self.described[side])
        field: Field = self.placed(side, lambda: registry.build("field", given.pop("kind"), **given))
        return field

    def _check_share(self, source: Field, target: Field) -> None:
        if source.share is not None:
            raise self.recipe.mistake("data", "source", "'share' goes on the target side")
        if target.share is None:
            return
        if not self.needs_source:
            raise self.recipe.mistake("data", "target", "'share' needs a source side, and this system has none")
        for key in ("kind", *SHARED):
            mine, other = self.described["target"].get(key), self.described["source"].get(key)
            if mine != other:
                said = f"share = \"source\" needs the source's {key} = {other!r} on the target side too, not {mine!r}"
                raise self.recipe.mistake("data", "target", said)

    def _check_media(self, source: Field, target: Field) -> None:
        if target.media:
            kind = self.described["target"]["kind"]
            raise self.recipe.mistake("data", "target", f"'{kind}' can be read, not written: it is a field of the source side")
        if self.settings.mirrored is not None and not (self.described["source"]["kind"] == "image" and self.needs_source):
            raise self.recipe.mistake("data", "mirrored", "only pictures can be mirrored: set data.source.kind = \"image\", or take it out")
        if self.settings.folder is not None and not (source.media and self.needs_source):
            raise self.recipe.mistake("data", "folder", "'folder' is for pictures, and the source side is none: set data.source.kind")

    def places(self, features: Path) -> Places:
        """Where media lie that rows name, and where what is made of them is kept."""
        found = Places.of(self.settings.folder, self.root, self.data_dir, features)
        if self.settings.folder is not None and not found.folders[0].is_dir():
            where = " and not ".join(map(str, found.folders))
            sets = "" if len(found.bases) > 1 else ": give --data DIR, or set XATTEND_DATA, if it is of a data set"
            raise self.recipe.mistake("data", "folder", f"no such folder: not {where}{sets}")
        return found

    def check_space(self) -> None:
        """A mistake in how the source side is read that only shows once it is known where things lie."""
        source = self.fields[0]
        if isinstance(source, Media):
            self.placed("source", lambda: source.space)

    def fingerprint(self) -> str:
        """Of the content of the data, not of where it lies."""
        rows: Any
        if self.task is not None:
            rows = [self.settings.task, self.task.version()]
        else:
            rows = {name: self._content(name) for name in ("train", "validation", "test")}
            if self.more is not None:
                rows["more"] = [self.settings.more, self.more.version()]
        settings: list[Any] = [self.settings.split, self.settings.columns, self.settings.bad_rows, self.needs_source]
        settings += [] if self.settings.rows is None else [self.settings.rows]
        settings += [] if self.settings.mirrored is None else [["mirrored", self.settings.mirrored]]
        sides = {side: _set(described) for side, described in self.described.items() if side == "target" or self.needs_source}
        return caches.digest([VERSION, rows, settings, sides, *self._media()])

    def _media(self) -> list[list[tuple[str, int | None]]]:
        """Names and sizes of the files that rows name, if they name any."""
        source = self.fields[0]
        if not isinstance(source, Media) or self.task is not None:
            return []
        names = dict.fromkeys(row.source for _, row in self.rows(Report()))
        return [[(name, source.bytes_of(name)) for name in sorted(names)]]

    def _content(self, name: str) -> list[str] | None:
        place = getattr(self.settings, name)
        if place is None:
            return None
        if isinstance(place, dict):
            files = self.placed(name, lambda: {side: find_file(place[side], self.root, self.data_dir) for side in sorted(place)})
            return ["parallel", *(f"{side} {caches.file_digest(file)}" for side, file in files.items())]
        format = self.settings.format
        if format is not None:
            self.placed("format", lambda: registry.find("reader", format))
        file, part = self.placed(name, lambda: find_part(place, self.root, self.data_dir, format))
        kind = self.placed("format", lambda: reader_for(file, format))
        more = self.placed(name, lambda: registry.find("reader", kind).beside(file))
        parts = [] if part is None else [f"part {part}"]
        if file.is_dir():
            return [kind, *registry.find("reader", kind).listed(file)]
        return [kind, f"both {caches.file_digest(file)}", *(f"beside {caches.file_digest(one)}" for one in more), *parts]

    def rows(self, report: Report) -> Iterator[tuple[str, Row]]:
        """Every row with its split; train last, so that the held-out sources are known when it comes."""
        if self.task is not None:
            splits = self.task.splits()
            for name in sorted(splits, key=lambda name: name == "train"):
                for number, (source, target) in enumerate(splits[name], 1):
                    yield name, Row(source, target, name, number)
            return
        for name in ("validation", "test", "train"):
            for row in self._read(name, report) if getattr(self.settings, name) is not None else ():
                yield self._split(name, row), row
        if self.settings.mirrored is not None:
            yield from (("train", self._mirrored(row)) for row in self._read("train", Report()) if self._split("train", row) == "train")
        for number, (source, target) in enumerate(self.more.splits()["train"] if self.more else (), 1):
            yield "train", Row(source, target, "more", number)

    def _split(self, name: str, row: Row) -> str:
        """Where a row of a file goes: some of those of train are held out."""
        shares: dict[str, float] = dict(self.settings.split or {})  # type: ignore[arg-type]
        if not shares or name != "train":
            return name
        test, validation = shares.get("test", 0.0), shares.get("validation", 0.0)
        place = share(split_key(self.key(row)))
        return "test" if place < test else "validation" if place < test + validation else name

    def _mirrored(self, row: Row) -> Row:
        """The same row in a mirror."""
        pairs = self.settings.mirrored or []
        other = {word: pair[1 - place] for pair in pairs for place, word in enumerate(pair)}
        target = None if row.target is None else " ".join(other.get(word, word) for word in row.target.split(" "))
        return row._replace(source=MIRRORED + row.source, target=target)

    def key(self, row: Row) -> str:
        """The side by which rows are compared."""
        return row.source if self.needs_source else one_side(row)

    def _read(self, name: str, report: Report) -> Iterable[Row]:
        columns: dict[str, int | str] | None = dict(self.settings.columns) if self.settings.columns else None  # type: ignore[arg-type]
        if columns and not self.needs_source:
            columns = {"source": columns.get("target", columns.get("source", 1))}  # the one side, under a reader's name for it
        return self.placed(
            name,
            lambda: open_reader(
                getattr(self.settings, name), columns, self.root, data_dir=self.data_dir, format=self.settings.format,
                needs_target=self.needs_source, bad_rows=self.settings.bad_rows, report=report,
            ),
        )  # fmt: skip
