"""From a recipe's [data] to splits of encoded rows on disk: read once, fit on train, encode once, map into memory.

The result is kept under a fingerprint of the input files' content and the data settings, and is used again as long as
neither changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xattend.data import cache as caches
from xattend.data.build import Build, Progress
from xattend.data.fields.base import Field, from_json
from xattend.data.readers.base import Row
from xattend.data.report import Report
from xattend.data.split import Split
from xattend.data.wanted import Fields, Wanted, one_side
from xattend.errors import UserError
from xattend.recipe import Recipe
from xattend.types import Batch, Padded


@dataclass(frozen=True)
class Data:
    """The fitted fields, the splits that are there, and what happened to the rows on the way."""

    source: Field | None
    target: Field
    splits: dict[str, Split]
    report: Report
    fingerprint: str

    @property
    def fields(self) -> Fields:
        return self.source, self.target


def _nothing(stage: str, rows: int) -> None:
    pass


def prepare(
    recipe: Recipe,
    cache: Path,
    *,
    root: Path,
    data_dir: Path | None = None,
    fields: Fields | None = None,
    needs_source: bool = True,
    progress: Progress = _nothing,
) -> Data:
    """The data of a resolved recipe, from the cache if it is there.

    root          the recipe's folder: relative files are looked for there, then in `data_dir`
    fields        fields fitted before (a run's own), instead of fitting new ones
    needs_source  False for a language model, which reads one side only
    """
    wanted = Wanted(recipe, root, data_dir, needs_source)
    fingerprint = wanted.fingerprint()
    folder = cache / fingerprint[:32]
    content = caches.load(folder)
    if fields is not None and (content is None or content["fields"] != _described(fields)):
        folder = cache / caches.digest([fingerprint, _described(fields)])[:32]
        content = caches.load(folder)
    if content is None:
        with caches.building(folder) as place:
            build = Build(wanted, place, progress)
            fitted, sizes = build.run(fields)
            content = {"fields": _described(fitted), "splits": sizes, "report": build.report.to_json()}
            caches.seal(place, content)
    source, target = (None if described is None else from_json(described) for described in content["fields"])
    assert target is not None
    collate = (None if source is None else type(source).collate, type(target).collate)
    splits = {name: Split(folder, name, size, collate) for name, size in content["splits"].items()}
    return Data(source, target, splits, Report.from_json(content["report"]), fingerprint)


def _described(fields: Fields) -> list[dict[str, Any] | None]:
    return [None if field is None else field.to_json() for field in fields]


def encode_rows(fields: Fields, rows: Sequence[Row]) -> Batch:
    """A batch of rows that are in no split: a user's own, for predicting, scoring or evaluating. Nothing is cut."""
    source, target = fields
    left = None if source is None else _padded(source, [source.as_source(source.encode(row.source)) for row in rows], rows)
    texts = [row.target if source is not None else one_side(row) for row in rows]
    right = None
    if all(text is not None for text in texts):
        right = _padded(target, [target.as_target(target.encode(text)) for text in texts if text is not None], rows)
    elif any(text is not None for text in texts):
        row = rows[texts.index(None)]
        raise UserError("the row has no target side, and others have", file=row.file, line=row.line)
    return Batch(left, right, tuple(range(len(rows))))


def _padded(field: Field, ids: list[list[int]], rows: Sequence[Row]) -> Padded:
    for row, found in zip(rows, ids, strict=True):
        if not found:
            raise UserError("the row has nothing but separators", file=row.file, line=row.line)
    return field.collate([np.array(found, np.int32) for found in ids])
