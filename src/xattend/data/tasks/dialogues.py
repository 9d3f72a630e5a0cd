"""Dialogues at a counter, in which the answer needs what was said two or more turns before it.

    good morning , my name is ada and i live in oslo | good morning ! what can i do for you ? | i need a new lamp please
    -> thank you ada , your lamp will be sent to oslo

The turns so far, with | between them, are the source; the next turn is the target. Name and town were said in the first turn, the thing in
the last, and between them is talk of no consequence: `between` pairs of turns, each with words of the same kinds (other towns, other things) that
must not be taken for those. How it is asked decides how it is answered, so that all of the target follows from the source. A reader that goes
word by word has to carry the first turn through all of it; one that goes turn by turn has a way of a few steps (HRED, Serban et al. 2016).

>>> source, target = next(Dialogues(between=0, rows=20).splits()["train"])
>>> source.split(" | ")[0], target
('hi , this is chen from varna', 'all right chen , we will send the kettle to varna')
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, ClassVar

import pydantic

from xattend.data.tasks.base import Task, split_sizes
from xattend.data.tasks.sequences import Rows, Seed
from xattend.registry import register

NAMES = ("ada", "boris", "chen", "dina", "emil", "fatou", "goran", "hana", "ines", "jonas", "kofi", "lena")
TOWNS = ("oslo", "cork", "graz", "porto", "turku", "lodz", "siena", "ghent", "brno", "varna", "nantes", "bergen")
THINGS = ("lamp", "kettle", "chair", "mirror", "carpet", "clock", "radio", "ladder", "basket", "blanket", "drum", "globe")
FIRST = ("good morning , my name is {name} and i live in {town}", "hi , this is {name} from {town}", "hello , {name} here , i am calling from {town}")
GREETED = ("good morning ! what can i do for you ?", "hello and welcome to our shop , how can i help ?", "hi there , what would you like ?")
SAID = ("do you still sell the {thing} that i saw in {town} last week ?", "my brother bought a {thing} from you in {town} and it broke at once",
        "is it true that you will open another shop in {town} and sell no {thing} there ?")  # fmt: skip
REPLIED = ("i am sorry , i do not know about that , is there anything else ?", "oh , that was long before my time , what may i bring you now ?",
           "many people ask me that , but first tell me what you need")  # fmt: skip
ASKED = ("i need a new {thing} please", "then please bring me the {thing} from your window", "i would like to order a {thing}")
ANSWERED = ("thank you {name} , your {thing} will be sent to {town}", "all right {name} , we will send the {thing} to {town}",
            "of course {name} , in {town} you will have your {thing} by friday")  # fmt: skip


@register("task", "dialogues")
class Dialogues(Task):
    """Source: the turns so far. Target: the next one."""

    source: ClassVar[dict[str, Any]] = {"kind": "turns"}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}

    def __init__(
        self, *,
        between: Annotated[int, pydantic.Field(ge=0, le=10), "pairs of turns of no consequence between the first and the last"] = 2,
        rows: Rows = 4000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        self.between = between
        self.sizes = split_sizes(rows)
        self.seed = seed

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        draw, seen = Random(self.seed), set[str]()
        return {split: iter([self._row(draw, seen) for _ in range(size)]) for split, size in self.sizes.items()}

    def _row(self, draw: Random, seen: set[str]) -> tuple[str, str]:
        """A new one."""
        while True:
            name, town, thing = draw.choice(NAMES), draw.choice(TOWNS), draw.choice(THINGS)
            turns = [draw.choice(FIRST).format(name=name, town=town), draw.choice(GREETED)]
            for _ in range(self.between):
                turns += [draw.choice(SAID).format(thing=draw.choice(THINGS), town=draw.choice(TOWNS)), draw.choice(REPLIED)]
            way = draw.randrange(len(ASKED))
            turns.append(ASKED[way].format(thing=thing))
            source = " | ".join(turns)
            if source not in seen:
                seen.add(source)
                return source, ANSWERED[way].format(name=name, town=town, thing=thing)
