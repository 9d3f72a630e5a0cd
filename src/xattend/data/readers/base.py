"""A reader streams rows: a source side, a target side where there is one, and the place they came from.

A reader yields pairs or BadRows; this base class checks every side, and stops at the first bad row or counts it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from xattend import registry
from xattend.data.readers.lines import LIMIT, BadRow, too_long
from xattend.data.readers.zipped import member_of
from xattend.data.report import Report
from xattend.errors import UserError, suggestion

Place = str | dict[str, str]
Columns = Mapping[str, int | str]
Pair = tuple[str, str | None]
REFUSED = {
    ".csv": "save it tab-separated as .tsv",
    ".json": "write one object a line, as .jsonl (or set data.format, if it is one of the layouts that are read: coco, karpathy)",
    ".xlsx": "save it tab-separated as .tsv",
    ".tar": "unpack it first",
    ".tgz": "unpack it first",
    ".bz2": "unpack it first (only .gz and .zip are read packed)",
    ".xz": "unpack it first (only .gz and .zip are read packed)",
}


class Row(NamedTuple):
    """One row as read. `line` is the line of a text file, or the row of a table, from 1."""

    source: str
    target: str | None
    file: str
    line: int


class Reader:
    """Wired by `open_reader`: the files by side ('source' alone for one file with both sides), which columns hold the
    sides, whether a target side must be there, whether bad rows are skipped, and the report they are counted in.

    place  the file as it was named, or the folder, for a reader of folders
    part   what stands behind # in `file#part`: one of the parts that a file of several has
    """

    suffixes: ClassVar[tuple[str, ...]] = ()
    has_parts: ClassVar[bool] = False
    reads_folder: ClassVar[bool] = False
    place: str = ""
    part: str | None = None

    def __init__(
        self, files: dict[str, Path], columns: Columns | None, needs_target: bool, skip_bad: bool, report: Report
    ) -> None:
        self.files = files
        self.file = files["source"]
        self.columns = columns
        self.needs_target = needs_target
        self.skip_bad = skip_bad
        self.report = report

    @classmethod
    def beside(cls, file: Path) -> list[Path]:
        """Other files that it reads together with this one."""
        return []

    @classmethod
    def listed(cls, folder: Path) -> list[str]:
        """Names of the files in a folder that a reader of folders reads."""
        raise NotImplementedError

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        """Line number, and both sides or what is wrong with the row."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Row]:
        seen = good = 0
        file = (self.beside(self.file) or [self.file])[0]  # where the lines are counted
        for line, found in self.pairs():
            seen += 1
            bad = found if isinstance(found, BadRow) else self._wrong(found)
            if bad is not None:
                if not self.skip_bad:
                    raise UserError(bad.message, file=bad.file or file, line=line)
                self.report.skip(bad.reason, bad.file or str(file), line, message=bad.message)
            elif not isinstance(found, BadRow):
                good += 1
                yield Row(*found, str(file), line)
        if seen == 0:
            said = "there is no file in it" if self.reads_folder else "the file is empty: one row a line is expected"
            raise UserError(said, file=self.file)
        if good == 0:
            raise UserError(f"none of its {seen} rows can be used: {self.report.firsts()}", file=self.file)

    def _wrong(self, pair: Pair) -> BadRow | None:
        for side, text in zip(("source", "target"), pair):
            if text is None:
                if self.needs_target:
                    return BadRow("no target side", "the row has no target side")
                continue
            if not text.strip():
                return BadRow("an empty side", f"the {side} side is empty")
            if len(text) > LIMIT:
                return too_long()
            if "\0" in text:
                return BadRow("a NUL byte", f"a NUL character in the {side} side: take it out")
        return None

    def column(self, side: str, names: list[str], line: int | None = None) -> str:
        """The name of the column that holds a side, given by name or by number from 1."""
        wanted = (self.columns or {}).get(side, side)
        if isinstance(wanted, int):
            if not 1 <= wanted <= len(names):
                raise UserError(f"data.columns asks for column {wanted} of {len(names)}", file=self.file, line=line)
            return names[wanted - 1]
        if wanted not in names:
            said = f"there is no column '{wanted}' for the {side} side: {suggestion(wanted, names)} (set data.columns)"
            raise UserError(said, file=self.file, line=line)
        return wanted


def find_file(name: str, root: Path | None, data_dir: Path | None = None, *, folder: bool = False) -> Path:
    """A file, or a folder, beside the recipe (`root`), else in the data folder (`data_dir`, else XATTEND_DATA)."""
    given = Path(name).expanduser()
    if data_dir is None and os.environ.get("XATTEND_DATA"):
        data_dir = Path(os.environ["XATTEND_DATA"])
    tried = [given] if given.is_absolute() else [(root or Path()) / given, *([data_dir / given] if data_dir else [])]
    for path in tried:
        if path.is_dir() if folder else path.is_file():
            return path
    for path in tried:
        if path.is_dir():
            raise UserError("a directory, not a file of rows (format = \"classes\" reads a folder of pictures, sorted into a folder a class)", file=path)
    where = " and not ".join(str(path) for path in tried)
    hint = "" if data_dir or given.is_absolute() else "; --data DIR or XATTEND_DATA says where data sets lie"
    packed = next((archive for path in tried for archive in _archives(path)), None)
    hint = f"; unpack {packed}" if packed else hint
    raise UserError(f"no such {'folder' if folder else 'file'}: not {where}{hint}")


def _archives(path: Path) -> Iterator[Path]:
    """Those that lie where a folder of the path should, as some data sets are published."""
    for parent in (path, *path.parents[:3]):
        yield from (archive for ending in (".tar.gz", ".tgz", ".zip") if parent.name and (archive := parent.with_name(parent.name + ending)).is_file())


def find_part(name: str, root: Path | None, data_dir: Path | None = None, format: str | None = None) -> tuple[Path, str | None]:
    """The file, and the part of it that stands behind #, if any. A file that really is called so comes first. A format that reads folders is
    given a folder."""
    if format is not None and registry.find("reader", format).reads_folder:
        return find_file(name, root, data_dir, folder=True), None
    try:
        return find_file(name, root, data_dir), None
    except UserError:
        file, mark, part = name.rpartition("#")
        if not mark:
            raise
    return find_file(file, root, data_dir), part


def open_reader(
    place: Place,
    columns: Columns | None = None,
    root: Path | None = None,
    *,
    data_dir: Path | None = None,
    format: str | None = None,
    needs_target: bool = True,
    bad_rows: Literal["stop", "skip"] = "stop",
    report: Report | None = None,
) -> Reader:
    """The reader for one file, chosen by its suffix unless `format` names one, or for parallel files
    `{"source": file, "target": file}`."""
    if isinstance(place, dict):
        for side in place:
            if side not in ("source", "target"):
                raise UserError(f"parallel files are given as 'source' and 'target', not '{side}'")
        if "source" not in place:
            raise UserError("parallel files need 'source'")
        if format is not None:
            raise UserError("data.format is for one file with both sides; parallel files are plain text")
        if columns is not None:
            raise UserError("data.columns is for one file with both sides; parallel files have none")
        kind, part = "parallel", None
        files = {side: find_file(name, root, data_dir) for side, name in place.items()}
    else:
        path, part = find_part(place, root, data_dir, format)
        files = {"source": path}
        kind = reader_for(path, format)
    found: Reader = registry.find("reader", kind)(
        files, columns, needs_target, bad_rows == "skip", Report() if report is None else report
    )
    if part is not None and not found.has_parts:
        raise UserError(f"'#{part}' names a part, and files of layout '{kind}' have none", file=path)
    found.part = part
    found.place = place if isinstance(place, str) else ""
    return found


def reader_for(path: Path, format: str | None = None) -> str:
    """The name of the reader for a file: `format`, else by its suffix. A suffix nobody claims is read as tab-separated text.

    >>> reader_for(Path("a.jsonl.gz")), reader_for(Path("names.de")), reader_for(Path("tasks.txt"), "scan")
    ('jsonl', 'tsv', 'scan')
    """
    if format is not None:
        registry.find("reader", format)
        if format == "parallel":
            raise UserError("'parallel' is no format of one file: give { source = file, target = file }")
        return format
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() == ".zip":
        suffix = Path(member_of(path)).suffix
    if suffix.lower() in REFUSED:
        raise UserError(f"{suffix} files are not read: {REFUSED[suffix.lower()]}", file=path)
    for name in registry.names("reader"):
        if suffix.lower() in registry.find("reader", name).suffixes:
            return name
    return "tsv"
