"""Transcriptions as CMU Sphinx lays them out, such as those of AN4: what was said, and the name of the recording in brackets.

    etc/an4_train.transcription     <s> RUBOUT G M E F THREE NINE </s> (an406-fcaw-b)
    etc/an4_train.fileids           an4test_clstk/fcaw/an406-fcaw-b

Line n of one belongs to line n of the other. A source is the fileid and `.mfc`, looked for in `folder` of [data]; the marks <s>, </s> and
<sil> are taken off. Chosen by the ending .transcription.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow, lines
from xattend.errors import UserError
from xattend.registry import register

LINE = re.compile(r"(.*?)\s*\(([^()\s]+)\)\s*")
MARKS = re.compile(r"</?s>|<sil>")


@register("reader", "sphinx")
class Sphinx(Reader):
    """Source: a recording's features. Target: what was said."""

    suffixes = (".transcription",)

    @classmethod
    def beside(cls, file: Path) -> list[Path]:
        listed = file.with_suffix(".fileids")
        if not listed.is_file():
            raise UserError(f"the list of recordings is not beside it: no {listed.name} there", file=file)
        return [listed]

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        (listed,) = self.beside(self.file)
        for number, (said, place) in enumerate(zip_longest(lines(self.file), lines(listed)), 1):
            if said is None or place is None:
                shorter = self.file if said is None else listed
                raise UserError(f"ends here, and {(listed if said is None else self.file).name} goes on: a line each is expected", file=shorter, line=number)
            if isinstance(said[1], BadRow) or isinstance(place[1], BadRow):
                yield number, said[1] if isinstance(said[1], BadRow) else place[1]  # type: ignore[misc]
                continue
            found = LINE.fullmatch(said[1])
            if found is None:
                yield number, BadRow("not words and (NAME)", "the line is not of the form WORDS (NAME)", str(self.file))
            elif Path(place[1].strip()).name != found[2]:
                yield number, BadRow("another recording's words", f"the words of {found[2]} beside the recording {place[1].strip()}", str(self.file))
            else:
                yield number, (place[1].strip() + ".mfc", " ".join(MARKS.sub(" ", found[1]).split()))
