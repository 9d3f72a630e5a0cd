"""A folder of encoded data that is whole or not there: built beside its place, checked, then renamed into it.

`index.json` has the size and SHA-256 of every file, and its own; a folder that does not match is built again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

INDEX = "index.json"
FORGOTTEN = 24 * 3600.0  # seconds after which a folder that nobody writes to is taken for a killed build's


def cache_folder() -> Path:
    """Where encoded data is kept, by content: XATTEND_CACHE, else the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("XATTEND_CACHE") or Path(home) / "xattend")


def digest(value: Any) -> str:
    """SHA-256 of a JSON value, the same for the same value.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8")).hexdigest()


def file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def load(folder: Path) -> dict[str, Any] | None:
    """The index's content, if the folder is there and every file in it is as it was written."""
    try:
        index = json.loads((folder / INDEX).read_text("utf-8"))
        content: dict[str, Any] = index["content"]
        if digest([content, index["files"]]) != index["check"]:
            return None
        sizes = {name: size for name, (size, _) in index["files"].items()}
        if any(os.path.getsize(folder / name) != size for name, size in sizes.items()):  # the cheap look first
            return None
        if any(file_digest(folder / name) != sha for name, (_, sha) in index["files"].items()):
            return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return content


def seal(folder: Path, content: dict[str, Any]) -> None:
    """Writes the index, last, over every file now in the folder."""
    files = {file.name: [file.stat().st_size, file_digest(file)] for file in sorted(folder.iterdir())}
    index = {"content": content, "files": files, "check": digest([content, files])}
    with (folder / INDEX).open("w", encoding="utf-8") as stream:
        json.dump(index, stream, ensure_ascii=False, indent=1)
        stream.flush()
        os.fsync(stream.fileno())


def drop(folder: Path) -> None:
    """Takes a folder away, if it is there; at no moment is half of it in its place."""
    if folder.exists():
        damaged = folder.with_name(f".damaged-{folder.name}-{uuid4().hex[:8]}")
        folder.rename(damaged)
        shutil.rmtree(damaged, ignore_errors=True)


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """A new folder to write in, which takes the place of `folder` if all goes well, and is taken away if not."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    work = folder.with_name(f".building-{folder.name}-{uuid4().hex[:8]}")
    work.mkdir()
    try:
        yield work
        if load(folder) is not None:
            return  # another process was faster, and may be reading it
        drop(folder)
        try:
            work.rename(folder)
        except OSError:
            if load(folder) is None:
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Takes away what builds that were killed have left."""
    for left in parent.glob(".building-*"):
        try:
            written = max(file.stat().st_mtime for file in (left, *left.iterdir()))
        except OSError:  # its own process is just taking it away
            continue
        if time.time() - written > FORGOTTEN:
            shutil.rmtree(left, ignore_errors=True)
