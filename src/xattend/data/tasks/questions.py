"""Questions about rendered scenes with answers of one word, after Sort-of-CLEVR (Santoro et al. 2017).

A row's source is the picture, `|` and the question: `questions:red circle 12 40 9;blue square 44 20 5|what shape is the red thing`.
Every colour is there at most once, so `the red thing` is one thing. Some questions are about one thing by itself, others are
relational: they cannot be answered without looking at a second one. How two things lie to each other goes by the
direction in which they are farther apart, as in the task `scenes`; a question that a person could hesitate over is not asked.

The question alone does not give the answer: in each split, the rows in which a question has one answer are at most three more
than those in which it has another. A picture is in one split only, with all its questions.

>>> source = "questions:red circle 12 40 9;blue square 44 20 5|what shape is nearest to the red thing"
>>> relational(source), Questions().gold(source, "square")
(True, [(0.625, 0.25, 0.765625, 0.390625)])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random
from typing import Annotated, Any, ClassVar, NamedTuple

import pydantic

from xattend.data.tasks.base import Box, Frame, Task, split_sizes
from xattend.data.tasks.scenes import Fewest, Most, Side, described, different_scenes
from xattend.data.tasks.sequences import Rows, Seed
from xattend.drawing.scene import COLOURS, OPPOSITE, SIDE, Scene, Thing, parse, relation
from xattend.drawing.shapes import SHAPES
from xattend.errors import UserError
from xattend.registry import register

YES_NO = ("no", "yes")
SLACK = 3  # how many rows more than the rarest answer to a question another answer may have


class Question(NamedTuple):
    """What is asked, what is right, and which answers the same words may have about other scenes.

    kind     questions of one kind differ in a colour, a shape or a direction
    answers  what is asked for; a question with a larger number for an answer is not asked
    named    the thing that the question names
    about    the thing that the answer speaks of; none for a number
    """

    kind: str
    text: str
    answer: str
    answers: tuple[str, ...]
    named: Thing | None = None
    about: Thing | None = None
    relational: bool = False


def questions(scene: Scene) -> Iterator[Question]:
    """Every question that can be asked about a scene, without those that it leaves in doubt."""
    shapes = Counter(thing.shape for thing in scene.things)
    for shape in SHAPES:
        yield Question("number", f"how many {shape}{'es' * (shape == 'cross') or 's'} are there", str(shapes[shape]), ("0", "1", "2", "3"))
    for thing in scene.things:
        yield from _by_itself(thing, scene.side, shapes)
        if len(scene.things) > 1:
            yield from _to_others(thing, [other for other in scene.things if other is not thing])


def _by_itself(thing: Thing, side: int, shapes: Counter[str]) -> Iterator[Question]:
    if shapes[thing.shape] == 1:
        yield Question("colour", f"what colour is the {thing.shape}", thing.colour, tuple(COLOURS), thing, thing)
    named = f"the {thing.colour} thing"
    yield Question("shape", f"what shape is {named}", thing.shape, tuple(SHAPES), thing, thing)
    yield Question("size", f"is {named} small", YES_NO[thing.small(side)], YES_NO, thing, thing)
    if abs(2 * thing.x - side) >= side // 8:
        yield Question("left", f"is {named} on the left", YES_NO[2 * thing.x < side], YES_NO, thing, thing)
    if abs(2 * thing.y - side) >= side // 8:
        yield Question("top", f"is {named} at the top", YES_NO[2 * thing.y < side], YES_NO, thing, thing)


def _to_others(thing: Thing, others: list[Thing]) -> Iterator[Question]:
    named = f"the {thing.colour} thing"
    colours = tuple(colour for colour in COLOURS if colour != thing.colour)
    far = sorted(others, key=lambda other: _distance(thing, other))
    for kind, ranked, words in (("nearest", far, f"nearest to {named}"), ("farthest", far[::-1], f"farthest from {named}")):
        if len(ranked) > 1:  # a tenth farther than the other, or it is in doubt
            lengths = sorted(_distance(thing, other) for other in ranked[:2])
            if 100 * lengths[1] < 121 * lengths[0]:
                continue
        found = ranked[0]
        yield Question(f"{kind} shape", f"what shape is {words}", found.shape, tuple(SHAPES), thing, found, True)
        yield Question(f"{kind} colour", f"what colour is {words}", found.colour, colours, thing, found, True)
    for lies in OPPOSITE:
        there = [other for other in others if relation(other, thing) == lies]
        if len(there) == 1:
            yield Question("side shape", f"what shape is {lies} {named}", there[0].shape, tuple(SHAPES), thing, there[0], True)
            yield Question("side colour", f"what colour is {lies} {named}", there[0].colour, colours, thing, there[0], True)
    same = sum(other.shape == thing.shape for other in others)
    yield Question("same", f"how many other things have the shape of {named}", str(same), ("0", "1", "2"), thing, None, True)


def _distance(one: Thing, other: Thing) -> int:
    return (one.x - other.x) ** 2 + (one.y - other.y) ** 2


def relational(source: str) -> bool:
    """Whether a row's question (or the question itself) is about how things lie to each other.

    >>> relational("is the red thing on the left"), relational("what shape is left of the red thing")
    (False, True)
    """
    question = source.rpartition("|")[2]
    marks = (" nearest to ", " farthest from ", " other things ", *(f" is {lies} the " for lies in OPPOSITE))
    return any(mark in question for mark in marks)


def find(source: str) -> Question:
    """The question of a row's source, with its right answer."""
    scene, _, text = described(source).partition("|")
    found = next((question for question in questions(parse(scene)) if question.text == text), None)
    if found is None:
        raise UserError(f"'{text}' is no question about this scene, or the scene leaves it in doubt")
    return found


class Balance:
    """Deals questions out so that each kind comes as often as others, and each answer to the same words as often as others."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self.relational = False  # whether the next one is to be
        self.kinds: Counter[str] = Counter()
        self.given: dict[str, Counter[str]] = {}

    def choose(self, scene: Scene, wanted: int) -> Iterator[Question]:
        """At most so many questions about a scene, alternately relational and not."""
        offered = [question for question in questions(scene) if self._fits(question)]
        self.draw.shuffle(offered)
        for _ in range(wanted):
            left = [question for question in offered if question.relational == self.relational]
            self.relational = not self.relational
            if left:
                chosen = min(left, key=lambda question: (self.kinds[question.kind], self.given[question.text][question.answer]))
                offered.remove(chosen)
                self.kinds[chosen.kind] += 1
                self.given[chosen.text][chosen.answer] += 1
                yield chosen

    def _fits(self, question: Question) -> bool:
        if question.text not in self.given:
            self.given[question.text] = Counter(dict.fromkeys(question.answers, 0))
        given = self.given[question.text]
        return question.answer in given and given[question.answer] < min(given.values()) + SLACK


@register("task", "questions")
class Questions(Task):
    """Rows such as `questions:red circle 12 40 9;blue square 44 20 5|what shape is the red thing` -> `circle`."""

    source: ClassVar[dict[str, Any]] = {"kind": "asked", "size": SIDE, "crop": "none"}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}

    def __init__(
        self, *,
        fewest: Fewest = 3,
        most: Most = 6,
        side: Side = SIDE,
        asked: Annotated[int, pydantic.Field(ge=1, le=20), "questions about a picture, half of them relational"] = 4,
        singles: Annotated[int, pydantic.Field(ge=0), "training rows more, about pictures of a single thing"] = 0,
        rows: Rows = 10_000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        if fewest > most:
            raise UserError(f"fewest = {fewest} is more than most = {most}")
        if singles and fewest == 1:
            raise UserError("'singles' are for training alone, and with fewest = 1 single things are held out too: set one of them otherwise")
        self.things, self.side, self.asked, self.singles, self.seed = (fewest, most), side, asked, singles, seed
        self.source = {**Questions.source, "size": side}  # type: ignore[misc]  # how it is best read depends on the settings
        self.sizes = split_sizes(rows)

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        draw = Random(f"{self.seed} questions")
        scenes = different_scenes(draw, *self.things, self.side, colours_differ=True)
        rows = {split: list(islice(self._rows(draw, scenes), size)) for split, size in self.sizes.items()}
        single = different_scenes(draw, 1, 1, self.side, colours_differ=True)
        rows["train"] += islice(self._rows(draw, single), self.singles)
        return {split: iter(found) for split, found in rows.items()}

    def _rows(self, draw: Random, scenes: Iterable[Scene]) -> Iterator[tuple[str, str]]:
        balance = Balance(draw)
        return ((f"questions:{scene.text}|{q.text}", q.answer) for scene in scenes for q in balance.choose(scene, self.asked))

    @staticmethod
    def draw(spec: str) -> list[Frame]:
        """The picture; a question behind it changes nothing."""
        return [parse(spec.partition("|")[0]).paint()]

    def gold(self, source: str, target: str) -> list[Box | None]:
        """The box of the thing that the answer speaks of; a number has none."""
        question, side = find(source), parse(described(source).partition("|")[0]).side
        return [None if question.about is None else question.about.box(side)] * len(target.split())

    def named(self, source: str) -> Box | None:
        """The box of the thing that the question names: where a first look should go, if there are several."""
        question, side = find(source), parse(described(source).partition("|")[0]).side
        return None if question.named is None else question.named.box(side)
