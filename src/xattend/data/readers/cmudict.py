"""Pronouncing dictionaries in the layout of CMUdict: a word, spaces, its phonemes with a space between.

    ;;; a comment
    TOMATO  T AH M EY T OW
    TOMATO(1)  T AH M AA T OW
    tomato T AH0 M EY1 T OW2 # a comment

A number in brackets marks another pronunciation of the same word, and is taken off: both rows have the source TOMATO, so
they never straddle a split, and `xattend evaluate --variants` accepts either. CMUdict's own file ends in .dict;
of other files (CNTK's `cmudict-0.7b.train`) a recipe says `format = "cmudict"`.
"""

from __future__ import annotations

import re

from xattend.data.readers.layout import Layout
from xattend.data.readers.lines import BadRow
from xattend.registry import register

VARIANT = re.compile(r"(?<=.)\(\d+\)$")


@register("reader", "cmudict")
class CmuDict(Layout):
    """Source: the word, its mark of a variant taken off. Target: the phonemes."""

    suffixes = (".dict",)

    def parse(self, line: str) -> tuple[str, str] | None:
        if line.startswith(";;;"):
            return None
        words = line.partition(" #")[0].split()  # no phoneme begins with #
        if len(words) < 2:
            raise BadRow("not a word and its phonemes", "the line is not a word and its phonemes, with spaces between")
        return VARIANT.sub("", words[0]), " ".join(words[1:])
