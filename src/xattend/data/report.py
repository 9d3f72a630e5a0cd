"""What happened to the rows on their way in: what was skipped or left out, where, and what deserves a warning.

>>> report = Report()
>>> report.skip("an empty side", "names.tsv", 7, message="the source side is empty")
>>> report.skip("an empty side", "names.tsv", 9, message="the target side is empty")
>>> report.lines()
['2 rows skipped: an empty side (first at names.tsv:7, then names.tsv:9)']
>>> report.skipped["an empty side"].each()
['  names.tsv:7: the source side is empty', '  names.tsv:9: the target side is empty']
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

KEPT = 100  # rows of each reason that are named one by one
NAMED = 3  # of them in the line that counts them


@dataclass
class Skipped:
    """How often one reason occurred, where, and what was said of each row; the first hundred of them."""

    count: int
    places: list[str]
    messages: list[str] = field(default_factory=list)

    @property
    def counted(self) -> str:
        return f"{self.count} row{'s' * (self.count > 1)}"

    @property
    def where(self) -> str:
        """The first few places."""
        then = self.places[1:NAMED] if self.count <= NAMED else self.places[1 : NAMED - 1]
        rest = self.count - 1 - len(then)
        said = ", ".join(then) + (f" and {rest} more: xattend check names them" if rest else "")
        return f"(first at {self.places[0]}{', then ' + said if said else ''})"

    def each(self) -> list[str]:
        """A line for each row that is known, and how many are not."""
        lines = [f"  {place}: {said}" if said else f"  {place}" for place, said in zip(self.places, self.messages, strict=True)]
        return lines + ([f"  and {self.count - KEPT} more"] if self.count > KEPT else [])


@dataclass
class Report:
    """Skipped rows by reason, notes on what was done, and warnings."""

    skipped: dict[str, Skipped] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def skip(self, reason: str, file: str, line: int, what: str | None = None, message: str = "") -> None:
        """One row was skipped; `what` names the picture, if it was one that could not be read, `message` is what would be said of this row alone."""
        known = self.skipped.setdefault(reason, Skipped(0, []))
        known.count += 1
        if known.count <= KEPT:
            known.places.append(f"{file}:{line}" + (f", {what}" if what else ""))
            known.messages.append(message)

    def lines(self, *, each: bool = False) -> list[str]:
        """The whole report for a person, one thing a line; `each`: with a line for each skipped row."""
        skipped: list[str] = []
        for reason, s in self.skipped.items():
            skipped.append(f"{s.counted} skipped: {reason}" + ("" if each else f" {s.where}"))
            skipped += s.each() if each else []
        return [*self.notes, *skipped, *(f"warning: {text}" for text in self.warnings)]

    def firsts(self) -> str:
        """How many rows were skipped and why, with what was said of the first of each reason: for when none is left."""
        return "; ".join(f"{s.counted} skipped: {reason} (first {s.each()[0].strip()})" for reason, s in self.skipped.items())

    def to_json(self) -> dict[str, Any]:
        return {
            "skipped": {reason: [s.count, s.places, s.messages] for reason, s in self.skipped.items()},
            "notes": self.notes,
            "warnings": self.warnings,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Report:
        skipped = {reason: Skipped(count, *_lists(*known)) for reason, (count, *known) in data["skipped"].items()}
        return Report(skipped, list(data["notes"]), list(data["warnings"]))


def _lists(places: list[str] | str, messages: list[str] | None = None) -> tuple[list[str], list[str]]:
    """Caches made before had the first place alone."""
    return ([places], [""]) if isinstance(places, str) else (places, messages or [""] * len(places))
