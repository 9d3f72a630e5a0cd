"""What went wrong, said so that the user can mend it: one line, with file and line number where there is one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class UserError(Exception):
    """A mistake in what the user gave. The command line prints it as one line and exits with 2.

    >>> str(UserError("3 columns, expected 2", file="names.tsv", line=7))
    'names.tsv:7: 3 columns, expected 2'
    """

    def __init__(self, message: str, *, file: str | Path | None = None, line: int | None = None) -> None:
        place = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        super().__init__(place + message)
        self.message = message
        self.file = file
        self.line = line

    def at(self, file: str | Path, line: int | None = None) -> UserError:
        """The same mistake, placed in a file."""
        return UserError(self.message, file=file, line=line)


def suggestion(word: str, known: Iterable[str]) -> str:
    """`did you mean 'additive'?` or the list of what there is.

    >>> suggestion("aditive", ["additive", "dot"])
    "did you mean 'additive'?"
    """
    known = sorted(known)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean '{near[0]}'?" if near else f"choose from: {', '.join(known) or 'nothing here'}"
