"""Maps to walk on, as SAIL has them: places joined by corridors, each with a floor and pictures on its walls, and things at some places.

    <node x="1" y="7" item="lamp"/>   <edge node1="1,7" node2="1,8" wall="tower" floor="brick"/>

A pose is a place and one of four directions. What can be seen from it (Mei et al. 2016), one number each, 1 or 0: in each of the four
directions, ahead first and then clockwise, the floor and the wall of the corridor there, the things along it as far as it goes straight,
and whether there is none; and what stands at the place itself. With SAIL's eight floors, three walls and six things these are the paper's
78 numbers.

>>> world = World([parse_map('<map name="T"><nodes><node x="0" y="0" item=""/><node x="1" y="0" item="lamp"/></nodes>'
...     '<edges><edge node1="0,0" node2="1,0" wall="fish" floor="blue"/></edges></map>')])
>>> start = world.pose("T", 0, 0, 90)
>>> world.walk(start, ["walk", "stop"]) == world.pose("T", 1, 0, 90), world.features.shape  # 4 x (1 + 1 + 1 + 1) + 1
(True, (8, 17))
>>> world.features[start].nonzero()[0].tolist()  # ahead: floor, wall, lamp; nothing in the other directions
[0, 1, 2, 7, 11, 15]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from xattend.errors import UserError, suggestion

STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))  # of 0, 90, 180 and 270 degrees: columns, rows
ACTIONS = ("walk", "left", "right", "stop")

Node = tuple[int, int]


class Map(NamedTuple):
    """name    of the map
    items   what stands at each place, "" for nothing: [x, y, item]
    edges   corridors: [x1, y1, x2, y2, wall, floor]
    """

    name: str
    items: list[tuple[int, int, str]]
    edges: list[tuple[int, int, int, int, str, str]]


def parse_map(text: str) -> Map:
    """A map of its XML; a UserError if it is none."""
    try:
        root = ElementTree.fromstring(text)
        items = [(int(node.attrib["x"]), int(node.attrib["y"]), node.get("item", "")) for node in root.iter("node")]
        edges = [
            (*_node(edge.attrib["node1"]), *_node(edge.attrib["node2"]), edge.attrib["wall"], edge.attrib["floor"])
            for edge in root.iter("edge")
        ]
        name = root.attrib["name"]
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise UserError(f"is no map: {type(error).__name__}: {error}") from None
    known = {(x, y) for x, y, _ in items}
    lost = next((edge for edge in edges if edge[:2] not in known or edge[2:4] not in known), None)
    if lost is not None:
        raise UserError(f"is no map: the corridor from {lost[:2]} to {lost[2:4]} ends at no place")
    return Map(name, items, edges)


def _node(text: str) -> Node:
    x, y = text.split(",")
    return int(x), int(y)


class World:
    """Poses of several maps by number; `features` [poses, numbers] and `after` [poses, actions] are all that a network needs of them."""

    def __init__(self, maps: Iterable[Map]) -> None:
        self.maps = list(maps)
        self.floors, self.walls = (sorted({edge[place] for one in self.maps for edge in one.edges}) for place in (5, 4))
        self.things = sorted({item for one in self.maps for *_, item in one.items if item})
        self.poses = [(one.name.lower(), x, y, way) for one in self.maps for x, y, _ in one.items for way in range(4)]
        self.numbers = {pose: number for number, pose in enumerate(self.poses)}
        self.items = {(one.name.lower(), x, y): item for one in self.maps for x, y, item in one.items}
        self.corridors: dict[tuple[str, int, int, int], tuple[str, str]] = {}
        for one in self.maps:
            for x, y, there_x, there_y, wall, floor in one.edges:
                for (a, b), (c, d) in (((x, y), (there_x, there_y)), ((there_x, there_y), (x, y))):
                    if (c - a, d - b) in STEPS:
                        self.corridors[one.name.lower(), a, b, STEPS.index((c - a, d - b))] = wall, floor
        width = len(self.floors) + len(self.walls) + len(self.things) + 1
        self.features = np.zeros((len(self.poses), 4 * width + len(self.things)), np.float32)
        self.after = np.zeros((len(self.poses), len(ACTIONS)), np.int64)
        for number, pose in enumerate(self.poses):
            self._look(self.features[number], pose, width)
            self.after[number] = [self._act(pose, action) for action in ACTIONS]

    def pose(self, name: str, x: int, y: int, degrees: int) -> int:
        """The number of a pose; a UserError if there is no such place."""
        found = self.numbers.get((name.lower(), x, y, degrees // 90))
        if found is None:
            names = [one.name for one in self.maps]
            if name.lower() in map(str.lower, names):
                raise UserError(f"map '{name}' has no place {x} {y}")
            raise UserError(f"there is no map '{name}': {suggestion(name, names)}")
        return found

    def walk(self, pose: int, actions: Sequence[str]) -> int:
        """Where one is after some actions; walking against a wall changes nothing, and nothing follows `stop`."""
        for action in actions:
            if action == "stop":
                break
            if action in ACTIONS:
                pose = int(self.after[pose, ACTIONS.index(action)])
        return pose

    def _act(self, pose: tuple[str, int, int, int], action: str) -> int:
        name, x, y, way = pose
        if action == "walk" and pose in self.corridors:
            x, y = x + STEPS[way][0], y + STEPS[way][1]
        way = (way + {"left": 3, "right": 1}.get(action, 0)) % 4
        return self.numbers[name, x, y, way]

    def _look(self, row: np.ndarray[Any, np.dtype[np.float32]], pose: tuple[str, int, int, int], width: int) -> None:
        name, x, y, way = pose
        for turn in range(4):
            ahead, first = (way + turn) % 4, turn * width
            if (name, x, y, ahead) not in self.corridors:
                row[first + width - 1] = 1.0
                continue
            wall, floor = self.corridors[name, x, y, ahead]
            row[first + self.floors.index(floor)] = row[first + len(self.floors) + self.walls.index(wall)] = 1.0
            there = x, y
            while (name, *there, ahead) in self.corridors:
                there = there[0] + STEPS[ahead][0], there[1] + STEPS[ahead][1]
                if self.items[name, *there]:
                    row[first + len(self.floors) + len(self.walls) + self.things.index(self.items[name, *there])] = 1.0
        if self.items[name, x, y]:
            row[4 * width + self.things.index(self.items[name, x, y])] = 1.0
