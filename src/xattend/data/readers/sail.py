"""The SAIL corpus (MacMahon et al. 2006; sentence by sentence: Chen and Mooney 2011): instructions to walk, and the paths that were meant.

    <example id="2-2" map="Grid"><instruction ...> move until you see red brick floor </instruction>
    <path> [(3, 5, 180), (3, 6, 180), (3, 7, 180)] </path></example>

A row: the map, where the walk begins (column, row, degrees: 0 towards smaller rows, 90 towards larger columns) and the instruction; the
actions that make the path.

    Grid 3 5 180|move until you see red brick floor      ->  walk walk stop

`file#grid+jelly` takes the examples of some maps; a row's line is the example's number in the file, from 1. A path that begins a series
has no direction yet (-1). With `format = "sail"` the walk begins in the direction of the path's next point, as in Mei et al. 2016, which
makes a present of the first turn; with `format = "sail-absolute"` it begins at 0 degrees, and the turn must be found.

>>> actions([(3, 7, 180), (3, 7, 270), (2, 7, 270)])
['right', 'walk', 'stop']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar
from xml.etree import ElementTree

from xattend.data.maps import STEPS
from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow, open_bytes
from xattend.errors import UserError, suggestion
from xattend.registry import register

PLACE = re.compile(r"\(\s*(\d{1,4})\s*,\s*(\d{1,4})\s*,\s*(-1|0|90|180|270)\s*\)")
PATH = re.compile(rf"\[\s*(?:{PLACE.pattern}\s*,?\s*)*\]")
Pose = tuple[int, int, int]


def actions(path: list[Pose]) -> list[str]:
    """What one must do to walk a path; raises BadRow if it cannot be walked."""
    found: list[str] = []
    for (x, y, old), (there_x, there_y, new) in pairwise(path):
        if (x, y) == (there_x, there_y):
            found += {0: [], 90: ["right"], 180: ["right", "right"], 270: ["left"]}[(new - old) % 360]
        elif old == new and (there_x - x, there_y - y) == STEPS[old // 90]:
            found.append("walk")
        else:
            leap = f"the path goes from {(x, y, old)} to {(there_x, there_y, new)}, which is neither a turn nor a step ahead"
            raise BadRow("a path that cannot be walked", leap)
    return [*found, "stop"]


@register("reader", "sail")
class Sail(Reader):
    """Source: map, pose and instruction. Target: actions."""

    has_parts = True
    absolute: ClassVar[bool] = False

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        try:
            with open_bytes(self.file) as stream:
                examples = list(ElementTree.parse(stream).getroot().iter("example"))
        except ElementTree.ParseError as error:
            raise UserError(f"not valid XML: {error}", file=self.file) from None
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror or error}", file=self.file) from None
        wanted = None if self.part is None else set(self.part.lower().split("+"))
        there = {str(example.get("map")).lower() for example in examples}
        for part in sorted((wanted or set()) - there):
            raise UserError(f"no example of map '{part}' in it: {suggestion(part, there)}", file=self.file)
        for number, example in enumerate(examples, 1):
            if wanted is None or str(example.get("map")).lower() in wanted:
                try:
                    yield number, self._row(example)
                except BadRow as bad:
                    yield number, bad

    def _row(self, example: ElementTree.Element) -> tuple[str, str]:
        said = " ".join((example.findtext("instruction") or "").replace("|", " ").split())
        told = (example.findtext("path") or "").strip()
        if not said or not example.get("map"):
            raise BadRow("an example without map or instruction", "the example has no map or no instruction")
        if not PATH.fullmatch(told):
            raise BadRow("a path that cannot be read", f"the path is not of the form [(3, 5, 180), (3, 6, 180)]: {told[:60]}")
        path = [(int(x), int(y), int(way)) for x, y, way in PLACE.findall(told)]
        if not path or any(way == -1 for _, _, way in path[1:]):
            raise BadRow("a path that cannot be read", "the path is empty, or its direction is unknown after its first point")
        if path[0][2] == -1:
            later = path[1][2] if len(path) > 1 else 0
            path[0] = (*path[0][:2], 0 if self.absolute else later)
        (x, y, way), *_ = path
        return f"{example.get('map')} {x} {y} {way}|{said}", " ".join(actions(path))


@register("reader", "sail-absolute")
class SailAbsolute(Sail):
    """The same, but a walk whose first direction is unknown begins at 0 degrees."""

    absolute = True
