"""A folder of pictures (or sounds), sorted into a folder a class: what most people have before they have a table.

    photos/train/dog/rex.jpg        source: photos/train/dog/rex.jpg      target: dog
    photos/train/cat/a/tom.png      source: photos/train/cat/a/tom.png    target: cat

A recipe names the folder, `train = "photos/train"`, with `format = "classes"`; `data.folder` stays unset, for the rows name each file from where the
recipe's own folder was found. Files are taken in the order of their names, hidden ones left out; a row's line is its number, from 1. A file that lies
in no class is a bad row.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow
from xattend.registry import register


@register("reader", "classes")
class Classes(Reader):
    """Source: the file's name. Target: the name of the folder that it lies in."""

    reads_folder = True

    @classmethod
    def listed(cls, folder: Path) -> list[str]:
        found = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
        return sorted(name.as_posix() for name in found if not any(part.startswith(".") for part in name.parts))

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        for number, name in enumerate(self.listed(self.file), 1):
            kind, slash, _ = name.partition("/")
            if slash:
                yield number, (f"{self.place}/{name}", kind)
            else:
                yield number, BadRow("a file in no class", f"{name} lies in no folder that says what it shows", str(self.file))
