"""MNIST's layout: pictures in one idx file, their labels in another, which is found by its name.

    train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz   ->   train-images-idx3-ubyte.gz#0 -> 5

The source side names the picture by its file and its number; `data.folder` says where that file lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xattend.data.idx import read_idx
from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow
from xattend.errors import UserError
from xattend.registry import register


@register("reader", "idx")
class Idx(Reader):
    """Source: a picture of the file. Target: its label."""

    @classmethod
    def beside(cls, file: Path) -> list[Path]:
        name = file.name.replace("images", "labels").replace("idx3", "idx1")
        if name == file.name:
            raise UserError("name the file of pictures, such as train-images-idx3-ubyte.gz: its labels are found by its name", file=file)
        found = [path for path in (file.with_name(name), file.with_name(name.removesuffix(".gz")), file.with_name(name + ".gz")) if path.is_file()]
        if not found:
            raise UserError(f"has no labels beside it: there is no {name}", file=file)
        return found[:1]

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        (labels_file,) = self.beside(self.file)
        pictures, labels = read_idx(self.file), read_idx(labels_file)
        if pictures.ndim != 3 or labels.ndim != 1 or len(pictures) != len(labels):
            said = f"{' x '.join(map(str, pictures.shape))} pictures and {' x '.join(map(str, labels.shape))} labels do not go together"
            raise UserError(said, file=self.file)
        count = len(pictures)
        del pictures
        for number, label in zip(range(count), labels.tolist(), strict=True):
            yield number + 1, (f"{self.file.name}#{number}", str(label))
