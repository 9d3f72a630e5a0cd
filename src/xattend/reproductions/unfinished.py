"""Scores of a long table's trainings, while it is being filled in: on several days, or on several machines.

Runs are large and stay where they were made. What a table needs of them is small, and lies in results/unfinished/NAME, a file a training, until the
table is whole; then all of it is in results/NAME.json. Scores are taken from there only for the very same recipe, overrides and search.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from xattend import recipe as recipes
from xattend.errors import UserError
from xattend.reproductions.base import Outcome
from xattend.trial import Trial, learning


class Unfinished:
    """The trainings of one reproduction."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, trial: Trial) -> Outcome | None:
        """What was found before; None if that was nothing, or something else than this trial is now."""
        file = self._file(trial)
        if not file.exists():
            return None
        try:
            there = json.loads(file.read_text("utf-8"))
            found = Outcome(trial, there["validation"], there["test"], there["seconds"], [(x, y) for x, y in there["curve"]])
            return found if there["of"] == _digest(trial) else None
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"is damaged ({error}): remove it, and its training is done again", file=file) from None

    def put(self, found: Outcome, commit: str | None) -> None:
        from xattend.run import to_json, write_atomic

        self.folder.mkdir(parents=True, exist_ok=True)
        record: dict[str, Any] = {
            "of": _digest(found.trial), "commit": commit, "seconds": found.seconds, "validation": found.validation, "test": found.test, "curve": found.curve,
        }  # fmt: skip
        write_atomic(self._file(found.trial), to_json(record))

    def clear(self) -> None:
        """The table is whole."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, trial: Trial) -> Path:
        return self.folder / f"{trial.name}.json"


def _digest(trial: Trial) -> str:
    """Of all that decides what is learnt and how it is scored, besides the data and the code. Where the runs lie is left out."""
    text = learning(trial.recipe, but=("start",)) + recipes.toml_value(trial.recipe.section("search"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
