"""Flickr8k as it was published (Hodosh et al. 2013): a list of pictures a split, and all captions in one file beside the lists.

    Flickr_8k.trainImages.txt     2513260012_03d33305cf.jpg
    Flickr8k.token.txt            2513260012_03d33305cf.jpg#0<tab>A black dog is running after a white dog in the snow .

A recipe names the list, `train = "flickr8k/Flickr_8k.trainImages.txt"`, with `format = "flickr8k"`. A row is a caption; its line is that of the
captions' file. A listed picture without any caption is a bad row of the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow, lines
from xattend.errors import UserError
from xattend.registry import register

CAPTIONS = "Flickr8k.token.txt"


@register("reader", "flickr8k")
class Flickr8k(Reader):
    """Source: the picture's name. Target: a caption."""

    @classmethod
    def beside(cls, file: Path) -> list[Path]:
        captions = file.with_name(CAPTIONS)
        if not captions.is_file():
            raise UserError(f"the captions are not beside this list: no {captions.name} there", file=file)
        return [captions]

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        listed: dict[str, int] = {}
        for number, name in lines(self.file):
            if isinstance(name, BadRow):
                yield number, BadRow(name.reason, name.message, str(self.file))
            elif name.strip():
                listed.setdefault(name.strip(), number)
        (captions,) = self.beside(self.file)
        without = dict(listed)
        for number, line in lines(captions):
            if isinstance(line, BadRow):
                yield number, line
                continue
            mark, tab, caption = line.partition("\t")
            name = mark.rpartition("#")[0]
            if not tab or not name:
                yield number, BadRow("not a picture, #, a number, a tab and a caption", "the line is not of the form NAME#NUMBER<tab>CAPTION")
            elif name in listed:
                without.pop(name, None)
                yield number, (name, caption)
        for name, number in without.items():
            yield number, BadRow("a picture without captions", f"{name} has no caption in {captions.name}", str(self.file))
