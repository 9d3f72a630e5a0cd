"""Short stories with a question, an answer of one word, and the sentences that it follows from: after bAbI (Weston et al. 2015), in other words.

    Ada walked to the cellar. Boris hurried to the attic. Ada took the lamp. Ada strolled to the market. Where is the lamp? #3 #4

| about | asked | facts |
|---|---|---|
| `place` | where somebody is | the last move |
| `thing` | where a thing is that was taken, and perhaps put down again | who took it or put it down last, and that person's move |
| `before` | where somebody was before a place | the move there, and the one before it |
| `yes-no` | whether somebody is in a place | the last move |
| `count` | how many things somebody carries | everything that person took or put down |
| `fear` | what somebody fears, of whom is said what animal it is, and of the animals what they fear | both |
| `all` | each of them in turn | |

Answers of `yes-no` and `count` are drawn first, so that none can be guessed; no story is in two splits.

>>> source, target = next(Stories(about="fear", rows=20).splits()["train"])
>>> source, target
('Foxes fear wolves. Zoe is a fox. Goats fear foxes. Pip is a wolf. Wolves fear foxes. Owls fear wolves. What does Zoe fear? #2 #1', 'wolves')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from xattend.data.tasks.base import Task, split_sizes
from xattend.data.tasks.sequences import Rows, Seed
from xattend.registry import register

PEOPLE = ("Ada", "Boris", "Chen", "Dina")
PLACES = ("cellar", "attic", "market", "harbour", "library", "stable")
THINGS = ("lamp", "rope", "coin", "map")
MOVES = ("walked to", "hurried to", "strolled to", "went back to")
TAKES = ("took", "picked up", "grabbed")
DROPS = ("put down", "dropped", "left")
NUMBERS = ("none", "one", "two", "three", "four")
OFTEN = (4, 2, 6, 9)  # how often each number is looked for: large ones are rarely found
PETS = ("Zoe", "Kim", "Max", "Lou", "Pip", "Rex")
ANIMALS = {"fox": "foxes", "owl": "owls", "wolf": "wolves", "goat": "goats"}
About = Literal["place", "thing", "before", "yes-no", "count", "fear", "all"]


class Asked(NamedTuple):
    """A question, its answer, and its facts as numbers of sentences, from 0."""

    question: str
    answer: str
    facts: list[int]


class World:
    """Who is where and holds what, and which sentence says so."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self.sentences: list[str] = []
        self.moves: dict[str, list[tuple[str, int]]] = {}  # of a person: places, and the sentences that say so
        self.holder: dict[str, str] = {}
        self.handled: dict[str, list[int]] = {}  # of a person: the sentences in which something is taken or put down
        self.last: dict[str, tuple[str, str, int, int]] = {}  # of a thing: who had it, where, by which two sentences

    def tell(self, sentence: str) -> int:
        self.sentences.append(sentence)
        return len(self.sentences) - 1

    def move(self, person: str) -> None:
        was = self.moves[person][-1][0] if person in self.moves else None
        place = self.draw.choice([place for place in PLACES if place != was])
        number = self.tell(f"{person} {self.draw.choice(MOVES)} the {place}.")
        self.moves.setdefault(person, []).append((place, number))
        for thing, holder in self.holder.items():
            if holder == person:
                self.last[thing] = (person, place, self.last[thing][2], number)

    def handle(self, person: str) -> None:
        """Takes a thing that nobody has, or puts one down; somebody whose place is unknown moves instead."""
        own = [thing for thing, holder in self.holder.items() if holder == person]
        free = [thing for thing in THINGS if thing not in self.holder]
        if person not in self.moves or not (own or free):
            self.move(person)
            return
        place, moved = self.moves[person][-1]
        drops = bool(own) and (not free or self.draw.random() < 0.4)
        thing = self.draw.choice(own if drops else free)
        number = self.tell(f"{person} {self.draw.choice(DROPS if drops else TAKES)} the {thing}.")
        if drops:
            del self.holder[thing]
        else:
            self.holder[thing] = person
        self.handled.setdefault(person, []).append(number)
        self.last[thing] = (person, place, number, moved)


def _wander(world: World, handles: float) -> None:
    for _ in range(world.draw.randint(4, 12)):
        person = world.draw.choice(PEOPLE)
        if world.draw.random() < handles:
            world.handle(person)
        else:
            world.move(person)


def _place(world: World) -> Asked | None:
    _wander(world, 0.0)
    person = world.draw.choice(list(world.moves))
    place, number = world.moves[person][-1]
    return Asked(f"Where is {person}?", place, [number])


def _thing(world: World) -> Asked | None:
    _wander(world, 0.4)
    if not world.last:
        return None
    thing = world.draw.choice(list(world.last))
    _, place, handled, moved = world.last[thing]
    return Asked(f"Where is the {thing}?", place, [handled, moved])


def _before(world: World) -> Asked | None:
    _wander(world, 0.0)
    moved = [person for person, places in world.moves.items() if len(places) > 1]
    if not moved:
        return None
    person = world.draw.choice(moved)
    visits = world.moves[person]
    at = world.draw.randrange(1, len(visits))
    place = visits[at][0]
    at = max(number for number, (other, _) in enumerate(visits) if other == place)  # the last time
    return Asked(f"Where was {person} before the {place}?", visits[at - 1][0], [visits[at][1], visits[at - 1][1]])


def _yes_no(world: World) -> Asked | None:
    _wander(world, 0.2)
    person = world.draw.choice(list(world.moves))
    place, number = world.moves[person][-1]
    yes = world.draw.random() < 0.5
    named = place if yes else world.draw.choice([other for other in PLACES if other != place])
    return Asked(f"Is {person} in the {named}?", "yes" if yes else "no", [number])


def _count(world: World) -> Asked | None:
    _wander(world, 0.6)
    wanted = world.draw.choices(range(len(OFTEN)), OFTEN)[0]
    carried = {person: sum(holder == person for holder in world.holder.values()) for person in world.handled}
    fitting = [person for person, count in carried.items() if count == wanted]
    if not fitting:
        return None
    person = world.draw.choice(fitting)
    return Asked(f"How many things does {person} carry?", NUMBERS[wanted], world.handled[person])


def _fear(world: World) -> Asked | None:
    draw = world.draw
    names = draw.sample(PETS, draw.randint(2, 4))
    kinds = {name: draw.choice(list(ANIMALS)) for name in names}
    fears = {kind: draw.choice([other for other in ANIMALS if other != kind]) for kind in draw.sample(list(ANIMALS), draw.randint(3, 4))}
    known = [name for name in names if kinds[name] in fears]
    if not known:
        return None
    told = [(name, f"{name} is {'an' if kind[0] in 'aeiou' else 'a'} {kind}.") for name, kind in kinds.items()]
    told += [(kind, f"{ANIMALS[kind].capitalize()} fear {ANIMALS[other]}.") for kind, other in fears.items()]
    draw.shuffle(told)
    places = {key: world.tell(sentence) for key, sentence in told}
    name = draw.choice(known)
    return Asked(f"What does {name} fear?", ANIMALS[fears[kinds[name]]], [places[name], places[kinds[name]]])


KINDS: dict[str, Callable[[World], Asked | None]] = {
    "place": _place, "thing": _thing, "before": _before, "yes-no": _yes_no, "count": _count, "fear": _fear,
}  # fmt: skip


@register("task", "stories")
class Stories(Task):
    """Source: the story, the question and its facts, in the notation of field `story`. Target: the answer."""

    source: ClassVar[dict[str, Any]] = {"kind": "story"}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}

    def __init__(
        self, *,
        about: Annotated[About, "what is asked"] = "place",
        rows: Rows = 1000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        self.kinds = list(KINDS) if about == "all" else [about]
        self.sizes = split_sizes(rows)
        self.seed = seed

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        draw, seen = Random(self.seed), set[str]()
        return {split: iter([self._row(draw, self.kinds[row % len(self.kinds)], seen) for row in range(size)]) for split, size in self.sizes.items()}

    @staticmethod
    def _row(draw: Random, kind: str, seen: set[str]) -> tuple[str, str]:
        """A new one."""
        while True:
            world = World(draw)
            asked = KINDS[kind](world)
            if asked is None:
                continue
            text = " ".join([*world.sentences, asked.question])
            if text not in seen:
                seen.add(text)
                return " ".join([text, *(f"#{fact + 1}" for fact in asked.facts)]), asked.answer
