"""Encounters to be played: a row names an episode, and says what a scripted policy with a memory does in it (drawing/encounter.py).

    greeter:2  ->  wait look wait wave wait handshake wait ...

The system `interact` learns from the rewards of what it does itself and never sees the script; the target is there so that every row has
a text of the usual kind, one action a step. Many other sequences of actions earn as much: `exact` and BLEU say little, `ending` of this
file says what a text earns. Splits have different numbers, and so different pictures, but not different kinds of encounter: there are
144, and all are in each large split. As a film (`data.source.kind = "film"`) an episode is that of the script.

>>> rows = Greeter(rows=20).splits()
>>> source, target = next(rows["test"])
>>> source, len(target.split()), ending(source, target).reward in (0.0, 1.0)
('greeter:2000000', 16, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import numpy as np
import pydantic

from xattend.data.tasks.base import Box, Frame, Task, split_sizes
from xattend.data.tasks.sequences import Rows
from xattend.drawing.encounter import ACTIONS, STEPS, Encounters, Ending, actions_of, replay, scripted
from xattend.drawing.people import boxes, frames
from xattend.errors import UserError
from xattend.registry import register

SPLITS = 1_000_000  # episodes that a split may have, train first
TOGETHER = 1000  # episodes played side by side


def number(source: str) -> int:
    """The episode that a row's source names; the task's name may be left out.

    >>> number("greeter:7"), number("7")
    (7, 7)
    """
    task, _, spec = source.strip().rpartition(":")
    if task not in ("", "greeter") or not spec.isdecimal() or len(spec) > 18:
        raise UserError(f"'{source}' is no episode: say its number, as in 'greeter:7'")
    return int(spec)


def ending(source: str, text: str) -> Ending:
    """What comes of the episode of a source by the actions of a text."""
    return replay(number(source), text)


@register("task", "greeter")
class Greeter(Task):
    """Rows such as `greeter:2` -> `wait look wait wave wait handshake wait ...`."""

    source: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "byte", "eos": False}  # so that no number is unknown
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}

    def __init__(
        self, *,
        rows: Rows = 10_000,
        first: Annotated[int, pydantic.Field(ge=0, le=SPLITS // 2), "number of the first episode of a split"] = 0,
    ) -> None:  # fmt: skip
        if rows > SPLITS // 2:
            raise UserError(f"rows = {rows}: there are {SPLITS // 2} at most")
        self.first, self.sizes = first, split_sizes(rows)

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        return {split: self._rows(place * SPLITS + self.first, size) for place, (split, size) in enumerate(self.sizes.items())}

    @staticmethod
    def _rows(first: int, size: int) -> Iterator[tuple[str, str]]:
        for start in range(first, first + size, TOGETHER):
            world = Encounters(range(start, min(start + TOGETHER, first + size)))
            for seed, actions in zip(world.seeds, np.stack(list(scripted(world)), axis=1), strict=True):
                yield f"greeter:{seed}", " ".join(ACTIONS[action] for action in actions)

    @staticmethod
    def draw(spec: str) -> list[Frame]:
        """What the camera sees while the script plays, in grey."""
        world = Encounters([number(spec)])
        seen = [frames(world)]
        for _ in scripted(world):
            seen.append(frames(world))
        return [np.repeat(frame[0, 0, :, :, None], 3, axis=-1) for frame in seen[:STEPS]]

    def gold(self, source: str, target: str) -> list[Box | None]:
        """Of each action the box of the person at that step."""
        world, found = Encounters([number(source)]), list[Box | None]()
        for action in actions_of(target):
            found += boxes(world)
            world.act(np.array([action]))
        return found
