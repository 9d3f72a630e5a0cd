"""Looks at a file of rows before anything is trained: how many, how long, what alphabet, and which unit suits each side.

>>> side = Side()
>>> for text in ["K AE T", "D AO G", "M AE T", "K AO T"] * 10: side.see(text)
>>> side.suggest(rows=40)
{'kind': 'text', 'unit': 'word'}
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from xattend.data.readers.base import Columns, Place, open_reader
from xattend.data.report import Report

QUANTILES = (0.0, 0.5, 0.9, 0.99, 1.0)
FEW_WORDS = 300  # a side with fewer different words than this may be a string of symbols: phonemes, actions
MOST_WORDS = 200_000  # different words are counted up to here
# what a text is if it is no text to read: the endings of files that it names
ENDINGS = {".wav": "sound", ".flac": "sound", ".ogg": "sound", ".png": "image", ".jpg": "image", ".jpeg": "image", ".webp": "image", ".bmp": "image"}
STORY = re.compile(r"[^?]*[.!]\s.*\?(\s+#[\d #]+)?", re.DOTALL)
# rows up to which a subword vocabulary of a size is still well trained
BPE_SIZES = ((5_000, 1000), (30_000, 4000), (300_000, 8000), (3_000_000, 16000))


def quantiles(counts: Counter[int]) -> list[int]:
    """Least, median, 90 %, 99 % and most, from how often each length was seen.

    >>> quantiles(Counter({1: 2, 5: 2, 9: 1}))
    [1, 5, 9, 9, 9]
    """
    lengths = sorted(counts)
    below = np.cumsum([counts[length] for length in lengths])
    if not lengths:
        return []
    return [lengths[int(np.searchsorted(below, np.ceil(q * (below[-1] - 1)), side="right"))] for q in QUANTILES]


@dataclass
class Side:
    """One side of all rows."""

    characters: Counter[int] = field(default_factory=Counter)  # length in characters -> rows
    words: Counter[int] = field(default_factory=Counter)  # length in words -> rows
    alphabet: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    sorts: Counter[str] = field(default_factory=Counter)  # what a text seems to be: the kind of a field -> rows
    first: str = ""

    def see(self, text: str) -> None:
        words = text.split()
        self.first = self.first or text
        self.sorts[ENDINGS.get(Path(text).suffix.lower(), "story" if STORY.fullmatch(text.strip()) else "text")] += 1
        self.characters[len(text)] += 1
        self.words[len(words)] += 1
        self.alphabet.update(text)
        if len(self.types) < MOST_WORDS:
            self.types.update(words)

    def suggest(self, rows: int) -> dict[str, Any]:
        """Settings of a field for this side."""
        characters, words = quantiles(self.characters)[1], quantiles(self.words)[1]
        tokens = sum(length * count for length, count in self.words.items())
        if words >= 3 and len(self.types) < FEW_WORDS and tokens >= 5 * len(self.types):
            return {"kind": "text", "unit": "word"}
        if words <= 2 and characters <= 40:
            return {"kind": "text", "unit": "character"}
        return {"kind": "text", "unit": "bpe", "size": next((size for most, size in BPE_SIZES if rows <= most), 32000)}

    def lines(self, name: str) -> list[str]:
        said = "least/median/90 %/99 %/most"
        more = "+" if len(self.types) >= MOST_WORDS else ""
        return [
            f"{name}: characters {'/'.join(map(str, quantiles(self.characters)))}, words "
            f"{'/'.join(map(str, quantiles(self.words)))} ({said})",
            f"{name}: {len(self.alphabet)} different characters, {len(self.types)}{more} different words",
        ]


@dataclass(frozen=True)
class Summary:
    """What a file holds. `target` is None if it has one side only; `report` has what could not be read, and where."""

    rows: int
    duplicates: int
    source: Side
    target: Side | None
    report: Report

    @property
    def kind(self) -> str:
        """Of the field that reads the source side: all of whose rows must be alike to be anything but text."""
        kind = next(iter(self.source.sorts)) if len(self.source.sorts) == 1 else "text"
        answers = self.target is not None and set(self.target.words) == {1}
        return "text" if self.target is None or (kind == "story" and not answers) else kind

    @property
    def empty_sides(self) -> int:
        found = self.report.skipped.get("an empty side")
        return found.count if found else 0

    def suggest(self) -> dict[str, dict[str, Any]]:
        """Fields for the recipe's [data]: what `xattend init` writes."""
        found = {"source": self.source.suggest(self.rows)}
        return found if self.target is None else {**found, "target": self.target.suggest(self.rows)}

    def lines(self) -> list[str]:
        """For a person, one thing a line."""
        sides = [*self.source.lines("source"), *(self.target.lines("target") if self.target else [])]
        return [f"{self.rows} rows, {self.duplicates} of them repeat an earlier row", *sides, *self.report.lines()]


def inspect(
    place: Place, columns: Columns | None = None, root: Path | None = None, *, data_dir: Path | None = None
) -> Summary:
    """Reads the whole file once. Rows that cannot be read are counted in the report, not raised."""
    report = Report()
    source, target = Side(), Side()
    hashes = array("Q")
    for row in open_reader(place, columns, root, data_dir=data_dir, needs_target=False, bad_rows="skip", report=report):
        source.see(row.source)
        if row.target is not None:
            target.see(row.target)
        digest = hashlib.blake2b(f"{row.source}\0{row.target}".encode(), digest_size=8).digest()
        hashes.append(int.from_bytes(digest, "little"))
    rows = len(hashes)
    different = len(np.unique(np.frombuffer(hashes, np.uint64))) if rows else 0
    return Summary(rows, rows - different, source, target if target.characters else None, report)
