"""Word pictures and what stands on them, in the layout of IIIT5K's tags: a picture's file, a space, the word.

    train/1009_2.jpg You

The files end in .tags; the pictures' names are relative to `data.folder`.
"""

from __future__ import annotations

from xattend.data.readers.layout import Layout
from xattend.data.readers.lines import BadRow
from xattend.registry import register


@register("reader", "iiit5k")
class IIIT5K(Layout):
    """Source: the picture's name. Target: the word."""

    suffixes = (".tags",)

    def parse(self, line: str) -> tuple[str, str]:
        name, _, word = line.strip().partition(" ")
        if not name or not word.strip():
            raise BadRow("not a picture and its word", "the line is not a picture's file and its word, with a space between")
        return name, word.strip()
