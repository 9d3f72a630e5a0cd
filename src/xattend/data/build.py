"""The three passes that write a corpus to disk. Each streams, so memory does not grow with the data.

1. Every split is read, checked and written down as text. Media that rows name are taken in: here it is known which line named them.
2. The fields are fitted on the training texts.
3. Every text is encoded into flat files of ids.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xattend.data.fields.base import Field, Progress
from xattend.data.readers.base import Row
from xattend.data.readers.lines import BadRow
from xattend.data.report import Report
from xattend.data.split import SIDES
from xattend.data.store import RowFile, RowWriter, keep_rows
from xattend.data.wanted import Fields, Wanted, one_side, split_key
from xattend.errors import UserError
from xattend.types import UNK

CHUNK = 2048


class Build:
    """Writes one folder. `fields` are fitted unless they were given."""

    def __init__(self, wanted: Wanted, folder: Path, progress: Progress) -> None:
        self.wanted = wanted
        self.folder = folder
        self.progress = progress
        self.report = Report()

    def run(self, given: Fields | None) -> tuple[Fields, dict[str, int]]:
        """The fields, and the rows of each split."""
        fields = self.wanted.fields if given is None else given
        sizes = self._write_texts(fields)
        if given is None:
            self._fit(*fields)
        return fields, {name: self._encode(name, size, fields) for name, size in sizes.items()}

    def _texts(self, name: str, side: str) -> RowFile:
        return RowFile(self.folder / f"{name}.{side}.text", np.uint8)

    def _write_texts(self, fields: Fields) -> dict[str, int]:
        present = [(side, field) for side, field in zip(SIDES, fields) if field is not None]
        sizes: Counter[str] = Counter()
        overlap, beyond = Overlap(), 0
        # shares are dealt out by source and a task keeps its splits apart, so only held-out files can overlap with train
        files = [name for name in ("validation", "test") if getattr(self.wanted.settings, name) is not None]
        with contextlib.ExitStack() as stack:
            for _, field in present:
                stack.enter_context(field.taking(self.progress))
            writers: dict[str, list[RowWriter]] = {}
            for count, (name, row) in enumerate(self.wanted.rows(self.report), 1):
                if name == "train" and sizes[name] == self.wanted.settings.rows:
                    beyond += 1
                    continue
                texts = (row.source, row.target or "") if self.wanted.needs_source else (one_side(row),)
                if not self._take(row, [(field, text) for (_, field), text in zip(present, texts, strict=True)]):
                    continue
                if name not in writers:
                    paths = [self.folder / f"{name}.{side}.text" for side, _ in present]
                    writers[name] = [stack.enter_context(RowWriter(path, np.uint8)) for path in paths]
                for writer, (_, field), text in zip(writers[name], present, texts, strict=True):
                    writer.append(field.raw(text).encode("utf-8"))
                sizes[name] += 1
                if files and name in (*files, "train"):
                    overlap.see(name, split_key(self.wanted.key(row)))
                if count % CHUNK == 0:
                    self.progress("reading", count)
        if beyond:
            self.report.notes.append(f"{beyond} train row{'s' * (beyond > 1)} left out: rows = {self.wanted.settings.rows}")
        for _, field in present:
            self.report.notes += field.notes()
        for name in ("train", *(self.wanted.settings.split or {})):
            if not sizes[name] and name == "train" and self.report.skipped:
                raise self.wanted.recipe.mistake("data", name, f"no row of {name} can be used: {self.report.firsts()}")
            if not sizes[name] and (name == "train" or self.wanted.settings.split[name] > 0):  # type: ignore[index]
                raise self.wanted.recipe.mistake("data", "split", f"nothing is left for '{name}': change the shares")
        for name, rows in overlap.found.items():
            what = "have a source side that is" if self.wanted.needs_source else "are"
            self.report.warnings.append(f"{rows} of {sizes[name]} {name} rows {what} in train too")
        return {name: sizes[name] for name in ("train", "validation", "test") if sizes[name]}

    def _take(self, row: Row, sides: Sequence[tuple[Field, str]]) -> bool:
        """Takes in the media that a row names. If one cannot be read, the row stops everything, or is counted and left out."""
        for field, text in sides:
            try:
                field.take(text)
            except BadRow as bad:
                if self.wanted.settings.bad_rows == "stop":
                    raise UserError(bad.message, file=row.file, line=row.line) from None
                self.report.skip(bad.reason, row.file, row.line, text, bad.message)
                return False
        return True

    def _fit(self, source: Field | None, target: Field) -> None:
        left, right = (_Texts([self._texts("train", side)], self.progress) for side in SIDES)
        if source is not None:
            source.fit(left if target.share is None else _Texts([*left.parts, *right.parts], self.progress))
        if source is not None and target.share is not None:
            target.restore(source.to_json())
        else:
            target.fit(right)

    def _encode(self, name: str, size: int, fields: Fields) -> int:
        """Ids and lengths of one split, and how many rows are in it now: training rows that are too long are left out."""
        present = [(side, field) for side, field in zip(SIDES, fields) if field is not None]
        texts = {side: self._texts(name, side) for side, _ in present}
        kept: list[np.ndarray[Any, np.dtype[np.bool_]]] = []
        unknown: Counter[str] = Counter()
        total: Counter[str] = Counter()
        left_out: Counter[str] = Counter()
        with contextlib.ExitStack() as stack:
            writers = {side: stack.enter_context(RowWriter(self.folder / f"{name}.{side}.ids", np.int32)) for side in texts}
            lengths = stack.enter_context((self.folder / f"{name}.lengths").open("wb"))
            for start in range(0, size, CHUNK):
                stop = min(start + CHUNK, size)
                columns = {side: field.encode_many(texts[side].texts(start, stop)) for side, field in present}
                reasons = [_misfit(name, columns, row, present) for row in range(stop - start)]
                left_out.update(filter(None, reasons))
                kept.append(np.array([reason is None for reason in reasons]))
                table = np.zeros((stop - start, 2), np.int32)
                for side, field in present:
                    for row in np.flatnonzero(kept[-1]).tolist():
                        ids = columns[side][row]
                        units = field.units(ids)
                        unknown[side] += units.count(UNK)
                        total[side] += len(units)
                        ids = field.as_source(ids) if side == "source" else field.as_target(ids)
                        writers[side].append(ids)
                        table[row, SIDES.index(side)] = field.length(ids)
                lengths.write(table[kept[-1]].tobytes())
                self.progress(f"encoding {name}", stop)
        self._tell(name, left_out, unknown, total)
        keep = np.concatenate(kept)
        if not keep.any():
            raise self.wanted.recipe.mistake("data", name, f"no row of {name} is left: {'; '.join(self.report.lines())}")
        if not keep.all():
            for side in texts:
                keep_rows(self.folder / f"{name}.{side}.text", keep)
        return int(keep.sum())

    def _tell(self, name: str, left_out: Counter[str], unknown: Counter[str], total: Counter[str]) -> None:
        for reason, count in left_out.items():
            self.report.notes.append(f"{count} {name} row{'s' * (count > 1)} left out: {reason}")
        for side, count in unknown.items():
            if count:
                percent = 100 * count / total[side]
                self.report.notes.append(f"{count} of {total[side]} {side} units of {name} are unknown ({percent:.2g} %)")


def _misfit(name: str, columns: dict[str, list[list[int]]], row: int, present: Sequence[tuple[str, Field]]) -> str | None:
    """Why a row cannot be used, if it cannot."""
    for side, field in present:
        length = len(columns[side][row])
        if length == 0:
            return f"nothing but separators on the {side} side"
        if name == "train" and field.max_length is not None and length > field.max_length:
            return f"the {side} side is longer than max_length = {field.max_length}"
    return None


class Overlap:
    """Held-out rows whose source side is in train too. Only the held-out sources are held in memory."""

    def __init__(self) -> None:
        self.held_out: dict[str, Counter[str]] = {"validation": Counter(), "test": Counter()}
        self.found: Counter[str] = Counter()

    def see(self, name: str, key: str) -> None:
        """One row; those of train must come last."""
        if name != "train":
            self.held_out[name][key] += 1
            return
        for other, keys in self.held_out.items():
            if key in keys:
                self.found[other] += keys.pop(key)


class _Texts:
    """Texts on disk, which can be gone through again and again."""

    def __init__(self, parts: list[RowFile], progress: Progress) -> None:
        self.parts = parts
        self.progress = progress

    def __iter__(self) -> Iterator[str]:
        for rows in self.parts:
            for start in range(0, len(rows), CHUNK):
                self.progress("learning the vocabulary", start)
                yield from rows.texts(start, min(start + CHUNK, len(rows)))
