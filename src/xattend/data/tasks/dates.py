"""Dates as people write them -> ISO 8601, letter by letter: `March 3, 1999` -> `1999-03-03`.

A date is in one split only, in whatever form it is written. A numeric date has the day first with slashes and dots.

>>> source, target = next(Dates(rows=100).splits()["train"])
>>> len(target)
10
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from random import Random
from typing import Annotated

import pydantic

from xattend.data.tasks.base import Task, deal, split_sizes
from xattend.data.tasks.sequences import Rows, Seed
from xattend.errors import UserError
from xattend.registry import register

# Not strftime: it follows the machine's locale.
MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def _ordinal(day: int) -> str:
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


FORMS: list[Callable[[datetime.date], str]] = [
    lambda d: f"{MONTHS[d.month - 1]} {d.day}, {d.year}",
    lambda d: f"{MONTHS[d.month - 1][:3]} {d.day}, {d.year}",
    lambda d: f"{d.day} {MONTHS[d.month - 1]} {d.year}",
    lambda d: f"{d.day} {MONTHS[d.month - 1][:3]} {d.year}",
    lambda d: f"{d.day:02}-{MONTHS[d.month - 1][:3]}-{d.year}",
    lambda d: f"{_ordinal(d.day)} of {MONTHS[d.month - 1]} {d.year}",
    lambda d: f"{MONTHS[d.month - 1]} {_ordinal(d.day)}, {d.year}",
    lambda d: f"{MONTHS[d.month - 1].lower()} {d.day} {d.year}",
    lambda d: f"{DAYS[d.weekday()]}, {d.day} {MONTHS[d.month - 1]} {d.year}",
    lambda d: f"{DAYS[d.weekday()][:3]} {MONTHS[d.month - 1][:3]} {d.day} {d.year}",
    lambda d: f"{DAYS[d.weekday()]}, {MONTHS[d.month - 1]} {d.day}, {d.year}",
    lambda d: f"{d.day:02}/{d.month:02}/{d.year}",
    lambda d: f"{d.day}.{d.month}.{d.year}",
    lambda d: f"{d.year}/{d.month:02}/{d.day:02}",
    lambda d: f"{d.year} {MONTHS[d.month - 1]} {d.day}",
    lambda d: f"{d.year}{d.month:02}{d.day:02}",
]


@register("task", "dates")
class Dates(Task):
    """Days of some years, each row in one of 16 forms."""

    def __init__(
        self,
        *,
        rows: Rows = 10_000,
        first_year: Annotated[int, pydantic.Field(ge=1000, le=9999), "dates from this year"] = 1900,
        last_year: Annotated[int, pydantic.Field(ge=1000, le=9999), "to the end of this one"] = 2049,
        seed: Seed = 1,
    ) -> None:
        if first_year > last_year:
            raise UserError(f"first_year = {first_year} is after last_year = {last_year}")
        self.first = datetime.date(first_year, 1, 1)
        self.days = (datetime.date(last_year, 12, 31) - self.first).days + 1
        self.seed = seed
        self.sizes = split_sizes(rows)
        # About 0.8, 0.1 and 0.1 of the days go to the splits; with room to spare, each split's rows all differ.
        there_are = int(self.days * len(FORMS) * 0.8)
        if rows > there_are // 2:
            raise UserError(f"these years have about {there_are} rows, of which half can be drawn: set fewer 'rows' or more years")

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        return deal(self.sizes, self._rows())

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        draw = Random(self.seed)
        while True:
            day = self.first + datetime.timedelta(days=draw.randrange(self.days))
            target, source = day.isoformat(), FORMS[draw.randrange(len(FORMS))](day)
            yield source, target, target
