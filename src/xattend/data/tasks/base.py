"""A task: fixed train, validation and test rows, and how their sides are best read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from xattend.errors import UserError

Frame = np.ndarray[Any, np.dtype[np.uint8]]  # [height, width, 3]
Sound = np.ndarray[Any, np.dtype[np.int16]]  # samples
Box = tuple[float, float, float, float]  # x0, y0, x1, y1, as shares of the picture's width and height


class Task:
    """Contract: the same rows every time, on every machine; no source side of one split is in another."""

    source: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "character"}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "character"}

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        """Rows by split: 'train', 'validation', 'test'."""
        raise NotImplementedError

    def version(self) -> str:
        """Goes into the data's fingerprint beside the settings; changes when the same settings give other rows."""
        return "1"

    @staticmethod
    def draw(spec: str) -> list[Frame]:
        """The frames that a source `TASK:SPEC` names, one for a picture; the same pixels on every machine."""
        raise UserError(f"'{spec}' is no picture: this task draws none")

    @staticmethod
    def sound(spec: str, rate: int) -> Sound:
        """The samples that a source `TASK:SPEC` names, so many a second."""
        raise UserError(f"'{spec}' is no sound: this task makes none")

    @staticmethod
    def strokes(spec: str) -> list[tuple[int, int, int]]:
        """The pen's points that a text `TASK:SPEC` names: across, down, and whether it is lifted there."""
        raise UserError(f"'{spec}' is no handwriting: this task writes none")

    def gold(self, source: str, target: str) -> list[Box | None]:
        """For each word of the target the box of what it speaks of, or None; nothing at all if the task cannot tell."""
        return []


def share(text: str) -> float:
    """A number in [0, 1) that depends on the text alone: how rows are dealt out to splits.

    >>> share("Kyoto") == share("Kyoto"), 0 <= share("Oslo") < 1
    (True, True)
    """
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") / 2**64


def split_of(text: str) -> str:
    """A tenth of all texts each to test and to validate.

    >>> split_of("Kyoto") in ("train", "validation", "test")
    True
    """
    place = share(text)
    return "test" if place < 0.1 else "validation" if place < 0.2 else "train"


def split_sizes(rows: int) -> dict[str, int]:
    """How many rows a task's splits have: a tenth of those to train on, 10 to 1000, each to validate and test.

    >>> split_sizes(5000)
    {'train': 5000, 'validation': 500, 'test': 500}
    """
    held_out = min(1000, max(10, rows // 10))
    return {"train": rows, "validation": held_out, "test": held_out}


def deal(sizes: Mapping[str, int], rows: Iterable[tuple[str, str, str]]) -> dict[str, Iterator[tuple[str, str]]]:
    """Splits filled from rows as they come, each source once. A row is a source, a target, and the text that its split depends on.

    >>> from itertools import count
    >>> sizes = {"train": 4, "validation": 2, "test": 1}
    >>> {split: len(list(rows)) for split, rows in deal(sizes, ((str(n), "", str(n)) for n in count())).items()} == sizes
    True
    """
    found: dict[str, list[tuple[str, str]]] = {split: [] for split in sizes}
    seen: set[str] = set()
    for source, target, key in rows:
        split = split_of(key)
        if source not in seen and len(found[split]) < sizes[split]:
            seen.add(source)
            found[split].append((source, target))
        if all(len(found[split]) == size for split, size in sizes.items()):
            break
    return {split: iter(some) for split, some in found.items()}
