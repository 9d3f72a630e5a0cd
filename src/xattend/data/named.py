"""What a row's text names if it is no text to read: a file, FILE#NUMBER of an idx file, or TASK:SPEC, which an embedded task draws. And where
files are looked for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xattend import registry
from xattend.data import cache as caches
from xattend.data import idx
from xattend.data.readers.lines import BadRow
from xattend.data.tasks.base import Frame
from xattend.errors import UserError


class Places(NamedTuple):
    """folders    where files that rows name are looked for, in this order
    bases      where other files of the recipe are looked for: its own folder, the data folder
    features   where what is made of them is kept; by default the cache
    """

    folders: tuple[Path, ...] = (Path(),)
    bases: tuple[Path, ...] = (Path(),)
    features: Path | None = None

    @staticmethod
    def of(folder: str | None, root: Path, data_dir: Path | None, features: Path | None = None) -> Places:
        """Of a recipe's data.folder, its own folder and --data (else XATTEND_DATA)."""
        if data_dir is None and os.environ.get("XATTEND_DATA"):
            data_dir = Path(os.environ["XATTEND_DATA"])
        bases = (root, *([data_dir] if data_dir else []))
        if folder is None:
            return Places(bases, bases, features)
        folders = tuple(base / Path(folder).expanduser() for base in bases)
        return Places(tuple(path for path in folders if path.is_dir())[:1] or folders, bases, features)


@dataclass
class Item:
    """What a text names: a file, frames that were drawn, or a folder of pictures that are a film's frames."""

    path: Path | None = None
    frames: Sequence[Frame] = ()
    files: Sequence[Path] = ()
    odd: bool = False  # there are more frames than the one that is read, or fewer than the several that are
    mirrored: bool = False

    def key(self) -> bytes:
        """What is made of it is kept under this."""
        return self.under(self.content())

    def under(self, content: bytes) -> bytes:
        """The key, if this is the SHA-256 of the content: a mirrored picture is another one."""
        return hashlib.sha256(content + b"mirrored").digest() if self.mirrored else content

    def content(self) -> bytes:
        """SHA-256 of the content."""
        if self.path is not None:
            return _content(self.path)
        found = hashlib.sha256()
        for file in self.files:
            found.update(_content(file))
        for frame in self.frames:
            found.update(repr(frame.shape).encode() + np.ascontiguousarray(frame).tobytes())
        return found.digest()


def _content(path: Path) -> bytes:
    try:
        return bytes.fromhex(caches.file_digest(path))
    except OSError as error:
        raise BadRow("a picture that cannot be opened", f"{path}: cannot be read: {error.strerror or error}") from None


def named(text: str, folders: Iterable[Path], inside: Callable[[Path], Sequence[Path]] | None = None, thing: str = "picture") -> Item:
    """The file or the drawing that a text names, or what is `inside` the folder that it names; a BadRow that says which `thing` if there is none."""
    task, colon, spec = text.partition(":")
    if colon and task in registry.names("task"):
        try:
            return Item(frames=registry.find("task", task).draw(spec))
        except UserError as error:
            raise BadRow(f"a {thing} that cannot be drawn", f"'{text}' cannot be drawn: {error.message}") from None
    tried = list(dict.fromkeys(folder / text for folder in folders))
    one_of_many = idx.picture_name(text)
    for path in tried:
        try:
            if path.is_file():
                return Item(path)
            if inside is not None and path.is_dir():
                return Item(files=inside(path))
            if one_of_many is not None and (file := path.parent / Path(one_of_many[0]).name).is_file():
                return Item(frames=[_of_idx(file, one_of_many[1])])
        except OSError:  # a text that is no file name at all, too long for one
            break
    where = " and not ".join(str(path) for path in tried)
    raise BadRow(f"a {thing} that is not there", f"no such {thing}: not {where} (data.folder says where {thing}s lie)")


def _of_idx(file: Path, number: int) -> Frame:
    try:
        return np.repeat(idx.picture(file, number)[:, :, None], 3, axis=2)
    except UserError as error:
        raise BadRow("a picture that cannot be read", f"{file}: {error.message}") from None
