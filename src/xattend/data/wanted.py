"""What data a recipe asks for: its task or files, its two fields, and the fingerprint of it all."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from xattend import registry
from xattend.data import cache as caches
from xattend.data.fields.base import Field
from xattend.data.fields.text import SHARED
from xattend.data.readers.base import Row, find_file, open_reader, reader_for
from xattend.data.report import Report
from xattend.data.split import SIDES
from xattend.data.tasks.base import Task, share
from xattend.errors import UserError
from xattend.recipe import DataSettings, Recipe

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
        self.task: Task | None = None
        if self.settings.task is not None:
            given = {"kind": self.settings.task} if isinstance(self.settings.task, str) else dict(self.settings.task)
            self.task = self.placed("task", lambda: registry.build("task", given.pop("kind"), **given))
        self._check()
        self.described = {side: self._described(side) for side in SIDES}
        source, target = self._field("source"), self._field("target")
        self._check_share(source, target)
        self.fields: Fields = (source if needs_source else None, target)

    def placed(self, key: str, make: Callable[[], Made]) -> Made:
        """What `make` gives; a mistake without a place of its own is placed at the key."""
        try:
            return make()
        except UserError as error:
            if error.file is not None:
                raise
            raise self.recipe.mistake("data", key, error.message) from None

    def _check(self) -> None:
        if self.task is not None:
            for key in ("validation", "test", "split", "columns", "format"):
                if getattr(self.settings, key) is not None:
                    raise self.recipe.mistake("data", key, f"'{key}' goes with 'train': a task has its own splits and columns")
        for name in self.settings.split or {}:
            if getattr(self.settings, name) is not None:
                raise self.recipe.mistake("data", "split", f"'{name}' is given as a file and as a share in 'split': choose one")
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

    def fingerprint(self) -> str:
        """Of the content of the data, not of where it lies."""
        rows: Any
        if self.task is not None:
            rows = [self.settings.task, self.task.version()]
        else:
            rows = {name: self._content(name) for name in ("train", "validation", "test")}
        settings = [self.settings.split, self.settings.columns, self.settings.bad_rows, self.needs_source]
        sides = {side: _set(described) for side, described in self.described.items() if side == "target" or self.needs_source}
        return caches.digest([VERSION, rows, settings, sides])

    def _content(self, name: str) -> list[str] | None:
        place = getattr(self.settings, name)
        if place is None:
            return None
        given = place if isinstance(place, dict) else {"both": place}
        files = self.placed(name, lambda: {side: find_file(given[side], self.root, self.data_dir) for side in sorted(given)})
        kind = self.placed("format", lambda: reader_for(files["both"], self.settings.format)) if "both" in files else "parallel"
        return [kind, *(f"{side} {caches.file_digest(file)}" for side, file in files.items())]

    def rows(self, report: Report) -> Iterator[tuple[str, Row]]:
        """Every row with its split; train last, so that the held-out sources are known when it comes."""
        if self.task is not None:
            splits = self.task.splits()
            for name in sorted(splits, key=lambda name: name == "train"):
                for number, (source, target) in enumerate(splits[name], 1):
                    yield name, Row(source, target, name, number)
            return
        shares: dict[str, float] = dict(self.settings.split or {})  # type: ignore[arg-type]
        test, validation = shares.get("test", 0.0), shares.get("validation", 0.0)
        for name in ("validation", "test", "train"):
            for row in self._read(name, report) if getattr(self.settings, name) is not None else ():
                place = share(split_key(self.key(row))) if shares and name == "train" else 1.0
                yield "test" if place < test else "validation" if place < test + validation else name, row

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
