"""Pen strokes: a side of rows that is a list of points, to be read or to be written.

    12,-30 14,-25 0,28. 40,-3          across and down from the last point, in whole numbers; a full stop: the pen is lifted there
    handwriting:17 some text           what the embedded task of that name writes

Offsets are divided by their standard deviation over the training rows, one for both directions. What an id stands for is the point so
scaled, in `GRAIN`ths (14 bits across, 14 down, one for the pen), so that a batch needs nothing but its ids. On the source side a batch has
vectors (across, down, lifted), which any encoder of vectors reads; on the target side ids, of which a system that writes points makes
vectors (`vectors`).

>>> field = Strokes()
>>> field.fit(["30,-40 0,50."])
>>> ids = field.encode("30,-40 0,50.")
>>> field.decode(ids), field.scale
('30,-40 0,50.', 35.35533905932738)
>>> [round(number, 2) for number in vectors(torch.tensor(ids))[1].tolist()]
[0.0, 1.41, 1.0]

Shapes: T points.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import pydantic
import torch
from torch import Tensor

from xattend import registry
from xattend.data.fields.base import Field, Ids
from xattend.data.fields.units import FIRST
from xattend.data.readers.lines import BadRow
from xattend.drawing.pen import Point
from xattend.errors import UserError
from xattend.registry import register
from xattend.types import BOS, SPECIALS, Padded, Space

GRAIN, LARGEST = 400, 8191  # parts of a standard deviation, and how many of them an offset may have: 20 deviations
BITS = 14
Positive = Annotated[float, pydantic.Field(gt=0)]
POINT = re.compile(r"(-?\d{1,6}),(-?\d{1,6})(\.?)")


def parse(text: str) -> list[Point]:
    """The points of a text; a UserError if it has none.

    >>> parse("3,-4 0,5.")
    [(3, -4, 0), (0, 5, 1)]
    """
    task, colon, spec = text.partition(":")
    if colon and task in registry.names("task"):
        points: list[Point] = registry.find("task", task).strokes(spec)
        return points
    found = []
    for word in text.split():
        match = POINT.fullmatch(word)
        if match is None:
            how = "write ACROSS,DOWN in whole numbers, with a full stop where the pen is lifted, as in '12,-30 0,28.'"
            raise UserError(f"'{word[:40]}' is no point: {how}")
        found.append((int(match[1]), int(match[2]), int(bool(match[3]))))
    if not found:
        raise UserError("there is no point in it")
    return found


def written(points: Iterable[Point]) -> str:
    """Points as text.

    >>> written([(3, -4, 0), (0, 5, 1)])
    '3,-4 0,5.'
    """
    return " ".join(f"{x},{y}{'.' * up}" for x, y, up in points)


def vectors(ids_T: Tensor) -> Tensor:
    """points_T3 of ids, any leading axes; marks and padding are points that go nowhere."""
    packed_T = (ids_T - FIRST).clamp(min=0)
    across_T, down_T = packed_T >> 1 & (1 << BITS) - 1, packed_T >> BITS + 1
    offsets = [torch.where(ids_T >= FIRST, (one_T - LARGEST).float() / GRAIN, 0.0) for one_T in (across_T, down_T)]
    return torch.stack([*offsets, (packed_T & 1).float()], dim=-1)


def ids_of(points_T3: Tensor) -> Tensor:
    """Ids of the nearest points there are."""
    offsets_T2 = (GRAIN * points_T3[..., :2]).round().clamp(-LARGEST, LARGEST).long() + LARGEST
    return FIRST + (points_T3[..., 2] > 0.5).long() + (offsets_T2[..., 0] << 1) + (offsets_T2[..., 1] << BITS + 1)


@register("field", "strokes")
class Strokes(Field):
    """A side of rows that is drawn with a pen."""

    def __init__(
        self, *,
        scale: Annotated[Positive | None, "what offsets are divided by; by default their standard deviation"] = None,
        max_length: Annotated[Annotated[int, pydantic.Field(ge=1)] | None, "leave longer training rows out; in points"] = None,
    ) -> None:  # fmt: skip
        self.settings: dict[str, Any] = {"scale": scale, "max_length": max_length}
        self.scale = scale or 1.0
        self.eos, self.max_length, self.share = False, max_length, None

    @property
    def space(self) -> Space:
        return Space(features=(3,))

    def normalise(self, text: str) -> str:
        return written(parse(text))

    def raw(self, text: str) -> str:
        """As it stands: a task's name for a drawing is shorter than the drawing, and says whose hand it is."""
        return text

    def take(self, text: str) -> None:
        """So that a point that cannot be read is placed at its line."""
        try:
            parse(text)
        except UserError as error:
            raise BadRow("strokes that cannot be read", error.message) from None

    def fit(self, texts: Iterable[str]) -> None:
        total, count = 0, 0
        for text in texts:
            points = parse(text)
            total, count = total + sum(x * x + y * y for x, y, _ in points), count + 2 * len(points)
        self.scale = self.settings["scale"] or math.sqrt(total / max(1, count)) or 1.0

    def encode(self, text: str) -> list[int]:
        found = []
        for x, y, up in parse(text):
            across, down = round(GRAIN * x / self.scale), round(GRAIN * y / self.scale)
            if max(abs(across), abs(down)) > LARGEST:
                most = math.floor(LARGEST / GRAIN * self.scale)
                said = f"the pen goes {x},{y} at once, and {most} is the most"
                raise UserError(f"{said}: are the numbers offsets, and in the unit of the others?")
            found.append(FIRST + up + (across + LARGEST << 1) + (down + LARGEST << BITS + 1))
        return found

    def points(self, ids: Sequence[int]) -> list[Point]:
        """In the unit of the texts."""
        rows = vectors(torch.tensor([id for id in ids if id >= FIRST], dtype=torch.long)).double().tolist()
        return [(round(x * self.scale), round(y * self.scale), int(up)) for x, y, up in rows]

    def decode(self, ids: Sequence[int]) -> str:
        return written(self.points(ids))

    def symbols(self, ids: Sequence[int]) -> list[str]:
        return [SPECIALS[id] if id < FIRST else written(self.points([id])) for id in ids]

    def words(self, ids: Sequence[int]) -> list[int]:
        return list(range(len(ids)))

    @staticmethod
    def collate(rows: Sequence[Ids]) -> Padded:
        """Ids of a target, which begins with BOS; vectors of a source."""
        found = Field.collate(rows)
        if len(rows) and len(rows[0]) and rows[0][0] == BOS:
            return found
        return found._replace(values=vectors(found.values))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.registered_name, "settings": self.settings, "fitted": {"scale": self.scale}}

    def restore(self, data: dict[str, Any]) -> None:
        self.scale = float(data["fitted"]["scale"])
