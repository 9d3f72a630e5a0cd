"""Rendered scenes and captions that say what is there and how it lies: `a red circle above a blue square`.

A picture has one to four things of 6 colours, 5 shapes and 2 sizes; small ones are called small. How two things lie to each
other goes by the direction in which they are farther apart. A caption's wording and the order in which it names things are drawn at
random from the picture's text. A training picture has one caption; one of validation or test has several, which are rows with
the same source: score them as one question (`evaluate --variants`). No two pictures of the data have all their things within the
same cells of 4 x 4 pixels.

>>> Scenes.draw("red circle 12 40 9;blue square 44 20 5")[0].shape
(64, 64, 3)
>>> caption(parse("red circle 20 12 9;blue square 24 44 5"), Random(5))
'a red circle is above a small blue square'
>>> Scenes().gold("scenes:red circle 20 12 9;blue square 24 44 5", "a red circle above a small blue square")[1]
(0.171875, 0.046875, 0.46875, 0.34375)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, ClassVar

import pydantic

from xattend.data.tasks.base import Box, Frame, Task, split_sizes
from xattend.data.tasks.sequences import Rows, Seed
from xattend.drawing.scene import COLOURS, SIDE, Scene, Thing, parse, random_scene, relation
from xattend.drawing.shapes import SHAPES
from xattend.errors import UserError
from xattend.registry import register

Side = Annotated[int, pydantic.Field(ge=32, le=512), "pixels of the picture's side"]
Fewest = Annotated[int, pydantic.Field(ge=1, le=6), "things of a scene at least"]
Most = Annotated[int, pydantic.Field(ge=1, le=6), "things of a scene at most"]
NAMED = re.compile(rf"(?:(small) )?\b({'|'.join(COLOURS)}) ({'|'.join(SHAPES)})\b")


def place(thing: Thing, side: int) -> str:
    """Where a thing lies in the picture, by thirds.

    >>> place(Thing("red", "circle", 10, 32, 5), 64), place(Thing("red", "circle", 32, 32, 5), 64)
    ('at the left', 'in the middle')
    """
    row = ("top", "", "bottom")[3 * thing.y // side]
    column = ("left", "", "right")[3 * thing.x // side]
    return f"at the {row} {column}".replace("  ", " ").rstrip() if row or column else "in the middle"


def caption(scene: Scene, draw: Random) -> str:
    """One of the captions that are true of the scene."""
    things = list(scene.things)
    draw.shuffle(things)
    forms = (_of_one, _of_two, _of_three, _of_four)[len(things) - 1](things, scene.side)
    return forms[draw.randrange(len(forms))]


def _names(things: list[Thing], side: int) -> list[str]:
    return [f"a {'small ' * thing.small(side)}{thing.colour} {thing.shape}" for thing in things]


def _of_one(things: list[Thing], side: int) -> list[str]:
    (a,), where = _names(things, side), place(things[0], side)
    return [f"{a} {where}", f"there is {a} {where}", f"{where} there is {a}"]


def _of_two(things: list[Thing], side: int) -> list[str]:
    one, two = things
    a, b = _names(things, side)
    lies = relation(one, two)
    return [f"{a} {lies} {b}", f"there is {a} {lies} {b}", f"{a} is {lies} {b}", f"{a} with {b} {relation(two, one)} it"]


def _of_three(things: list[Thing], side: int) -> list[str]:
    one, two, three = things
    a, b, c = _names(things, side)
    lies = relation(one, two)
    forms = [
        f"{a} with {b} {relation(two, one)} it and {c} {relation(three, one)} it",
        f"{a} {lies} {b} and {c} {relation(three, one)} the {one.colour} {one.shape}",
        f"there is {a} {lies} {b} and {c} {relation(three, two)} the {two.colour} {two.shape}",
    ]
    # "a above b and c" says it of both, so it must be true of both
    if relation(one, three) == lies:
        forms.append(f"{a} {lies} {b} and {c}")
    if relation(one, three) == relation(two, three):
        forms.append(f"{a} and {b} are {relation(one, three)} {c}")
    return forms


def _of_four(things: list[Thing], side: int) -> list[str]:
    one, two, three, four = things
    a, b, c, d = _names(things, side)
    lies, others = relation(one, two), relation(three, four)
    forms = [
        f"{a} {lies} {b} and {c} {others} {d}",
        f"there is {a} {lies} {b} and {c} with {d} {relation(four, three)} it",
        f"{a} with {b} {relation(two, one)} it and {c} {others} {d}",
    ]
    if len({relation(left, right) for left in (one, two) for right in (three, four)}) == 1:
        forms.append(f"{a} and {b} are {relation(one, three)} {c} and {d}")
    return forms


def different_scenes(draw: Random, fewest: int, most: int, side: int, *, colours_differ: bool = False) -> Iterator[Scene]:
    """Scenes without end, of which no two look alike: one that has all its things within the same cells as another is left out."""
    seen: set[tuple[tuple[str, str, int, int, bool], ...]] = set()
    cell, misses = max(1, side // 16), 0
    while misses < 1000:
        scene = random_scene(draw, draw.randint(fewest, most), side, colours_differ=colours_differ)
        key = tuple(sorted((t.colour, t.shape, t.x // cell, t.y // cell, t.small(side)) for t in scene.things))
        misses += 1
        if key not in seen:
            seen.add(key)
            misses = 0
            yield scene
    found = f"there are not many more than {len(seen)} different scenes of {fewest} to {most} things"
    raise UserError(f"{found}: set fewer 'rows' or a larger 'most'")


def described(source: str) -> str:
    """What follows the task's name in a row's source, which may be left out.

    >>> described("scenes:red circle 12 40 9"), described("red circle 12 40 9")
    ('red circle 12 40 9', 'red circle 12 40 9')
    """
    return source.rpartition(":")[2]


@register("task", "scenes")
class Scenes(Task):
    """Rows such as `scenes:red circle 12 10 9;blue square 14 50 5` -> `a red circle above a small blue square`."""

    source: ClassVar[dict[str, Any]] = {"kind": "image", "size": SIDE, "crop": "none"}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}

    def __init__(
        self, *,
        fewest: Annotated[int, pydantic.Field(ge=1, le=4), "things of a scene at least"] = 1,
        most: Annotated[int, pydantic.Field(ge=1, le=4), "things of a scene at most"] = 4,
        side: Side = SIDE,
        captions: Annotated[int, pydantic.Field(ge=1, le=10), "captions, if there are so many, of a picture to validate or test on"] = 3,
        rows: Rows = 10_000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        if fewest > most:
            raise UserError(f"fewest = {fewest} is more than most = {most}")
        self.things, self.side, self.captions, self.seed = (fewest, most), side, captions, seed
        self.source = {**Scenes.source, "size": side}  # type: ignore[misc]  # how it is best read depends on the settings
        self.sizes = split_sizes(rows)

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        scenes = different_scenes(Random(f"{self.seed} scenes"), *self.things, self.side)
        rows: dict[str, list[tuple[str, str]]] = {}
        for split, size in self.sizes.items():
            rows[split] = []
            for _ in range(size):
                scene = next(scenes)
                said = self._captions(scene, 1 if split == "train" else self.captions)
                rows[split] += [(f"scenes:{scene.text}", text) for text in said]
        return {split: iter(found) for split, found in rows.items()}

    @staticmethod
    def _captions(scene: Scene, wanted: int) -> list[str]:
        """Different ones; a scene of one thing has three in all."""
        draw, said = Random(scene.text), dict[str, None]()
        for _ in range(20 * wanted):
            said[caption(scene, draw)] = None
            if len(said) == wanted:
                break
        return list(said)

    @staticmethod
    def draw(spec: str) -> list[Frame]:
        return [parse(spec).paint()]

    def gold(self, source: str, target: str) -> list[Box | None]:
        """Of 'small', a colour and a shape the box of the thing that they are said of."""
        scene = parse(described(source))
        boxes = {(thing.colour, thing.shape): thing.box(scene.side) for thing in scene.things}
        found: list[Box | None] = [None] * len(target.split())
        for match in NAMED.finditer(target):
            start = len(target[: match.start()].split())
            for word in range(start, start + len(match[0].split())):
                found[word] = boxes.get((match[2], match[3]))
        return found
