"""What happened to the rows on their way in: what was skipped or left out, where first, and what deserves a warning.

>>> report = Report()
>>> report.skip("an empty side", "names.tsv", 7)
>>> report.skip("an empty side", "names.tsv", 9)
>>> report.lines()
['2 rows skipped: an empty side (first at names.tsv:7)']
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Skipped:
    """How often one reason occurred, and where first."""

    count: int
    first: str


@dataclass
class Report:
    """Counts of skipped rows by reason, notes on what was done, and warnings."""

    skipped: dict[str, Skipped] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def skip(self, reason: str, file: str, line: int, what: str | None = None) -> None:
        """One row was skipped; `what` names the picture, if it was one that could not be read."""
        known = self.skipped.setdefault(reason, Skipped(0, f"{file}:{line}" + (f", {what}" if what else "")))
        known.count += 1

    def lines(self) -> list[str]:
        """The whole report for a person, one thing a line."""
        skipped = [
            f"{s.count} row{'s' * (s.count > 1)} skipped: {reason} (first at {s.first})" for reason, s in self.skipped.items()
        ]
        return [*self.notes, *skipped, *(f"warning: {text}" for text in self.warnings)]

    def to_json(self) -> dict[str, Any]:
        return {
            "skipped": {reason: [s.count, s.first] for reason, s in self.skipped.items()},
            "notes": self.notes,
            "warnings": self.warnings,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Report:
        skipped = {reason: Skipped(count, first) for reason, (count, first) in data["skipped"].items()}
        return Report(skipped, list(data["notes"]), list(data["warnings"]))
