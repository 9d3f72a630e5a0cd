"""From a recipe's [data] to splits of encoded rows on disk: read once, fit on train, encode once, map into memory.

The result is kept under a fingerprint of the input files' content and the data settings, and is used again as long as
neither changes. What was made of media that rows name lies beside it, in the cache's `features`, for all data sets together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xattend.data import cache as caches
from xattend.data.build import Build
from xattend.data.fields.base import Field, Progress, from_json
from xattend.data.fields.media import KEY, Media
from xattend.data.named import Places
from xattend.data.readers.base import Row
from xattend.data.report import Report
from xattend.data.split import Split
from xattend.data.store import bounds_file, open_array, values_file
from xattend.data.wanted import Fields, Wanted, one_side
from xattend.errors import UserError
from xattend.recipe import Recipe
from xattend.types import Batch

BLOCK = 1 << 12  # rows looked at in one go


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
    places = wanted.places(cache / "features")
    _settle([*wanted.fields, *(fields or ())], places)
    wanted.check_space()
    fingerprint = wanted.fingerprint()
    folder = cache / fingerprint[:32]
    content = caches.load(folder)
    if fields is not None and (content is None or content["fields"] != _described(fields)):
        folder = cache / caches.digest([fingerprint, _described(fields)])[:32]
        content = caches.load(folder)
    if content is not None and not _has_media(folder, content, (fields or wanted.fields)[0]):
        caches.drop(folder)
        content = None
    if content is None:
        with caches.building(folder) as place:
            build = Build(wanted, place, progress)
            fitted, sizes = build.run(fields)
            content = {"fields": _described(fitted), "splits": sizes, "report": build.report.to_json()}
            caches.seal(place, content)
    source, target = (None if described is None else from_json(described) for described in content["fields"])
    assert target is not None
    _settle([source], places)
    collate = (None if source is None else source.collator(), target.collator())
    media = source is not None and source.media
    splits = {name: Split(folder, name, size, collate, media) for name, size in content["splits"].items()}
    return Data(source, target, splits, Report.from_json(content["report"]), fingerprint)


def _described(fields: Fields) -> list[dict[str, Any] | None]:
    return [None if field is None else field.to_json() for field in fields]


def _settle(fields: Sequence[Field | None], places: Places) -> None:
    for field in fields:
        if field is not None:
            field.settle(places)


def _has_media(folder: Path, content: dict[str, Any], source: Field | None) -> bool:
    """Whether all that the rows' keys stand for is still in the store."""
    if not isinstance(source, Media):
        return True
    store = source.store
    for name in content["splits"]:
        path = folder / f"{name}.source.ids"
        values, bounds = open_array(values_file(path), np.int32), open_array(bounds_file(path), np.int64, 2)
        for start in range(0, len(bounds), BLOCK):
            keys_NK = values[bounds[start : start + BLOCK, :1] + np.arange(KEY)]  # a row begins with its key
            if any(key_K.tobytes() not in store for key_K in keys_NK):
                return False
    return True


def encode_rows(fields: Fields, rows: Sequence[Row]) -> Batch:
    """A batch of rows that are in no split: a user's own, for predicting, scoring or evaluating. Nothing is cut."""
    source, target = fields
    left = None if source is None else source.read([row.source for row in rows], rows)
    texts = [row.target if source is not None else one_side(row) for row in rows]
    right = None
    if all(text is not None for text in texts):
        right = target.collate([np.array(target.as_target(target.encode(text)), np.int32) for text in texts if text is not None])
    elif any(text is not None for text in texts):
        row = rows[texts.index(None)]
        raise UserError("the row has no target side, and others have", file=row.file, line=row.line)
    return Batch(left, right, tuple(range(len(rows))))
