"""The layout of bAbI's tasks (Weston et al. 2015): numbered lines, a question with its answer and supporting facts after some of them.

    1 Mary moved to the bathroom.
    2 John went to the hallway.
    3 Where is Mary? <tab>bathroom<tab>1

A line numbered 1 begins a new story. Each question is a row: all sentences of its story so far, the question, and its facts, in the notation
of field `story`, counted over the sentences (questions have numbers in the file, too). The files end in .txt, so a recipe says
`format = "babi"`. With `format = "babi-joint"` the files of the other tasks beside the one that is named are read together with it,
`qa1_..._train.txt` with `qa2_..._train.txt` and so on, in the order of their numbers.

>>> Story().line(1, "1 Ada fell.") is None, Story([(1, "Ada fell.")]).line(2, "2 Who fell?\\tada\\t1")
(True, ('Ada fell. Who fell? #1', 'ada'))
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow, lines
from xattend.errors import UserError
from xattend.registry import register

TASK = re.compile(r"qa(\d+)_.*_([a-z]+\.txt(?:\.gz)?)")
SENTENCE = re.compile(r"[.!?](?=\s|$)")


class Story:
    """The sentences so far, each with its number in the file."""

    def __init__(self, told: list[tuple[int, str]] | None = None) -> None:
        self.told = told or []

    def line(self, number: int, line: str) -> tuple[str, str] | None:
        """A row, if the line is a question; raises BadRow."""
        first, _, rest = line.strip().partition(" ")
        if not first.isdigit() or not rest.strip():
            raise BadRow("not a numbered line", "the line is not a number and a sentence, or a number, a question, a tab and its answer")
        if int(first) == 1:
            self.told = []
        said, *more = [part.strip() for part in rest.split("\t")]
        if not said:
            raise BadRow("not a numbered line", "there is nothing between the number and the tab")
        if not more:
            self.told.append((int(first), _one_sentence(said, ".")))
            return None
        if not more[0]:
            raise BadRow("a question without an answer", "the question has no answer behind its tab")
        places = {line: place for place, (line, _) in enumerate(self.told, 1)}
        facts = more[1].split() if len(more) > 1 else []
        unknown = next((fact for fact in facts if not fact.isdigit() or int(fact) not in places), None)
        if unknown is not None:
            raise BadRow("a fact that is no sentence", f"'{unknown}' is given as a supporting fact, and no sentence of the story has that number")
        marks = [f"#{places[int(fact)]}" for fact in facts]
        return " ".join([*(sentence for _, sentence in self.told), _one_sentence(said, "?"), *marks]), more[0]


def _one_sentence(text: str, end: str) -> str:
    """The text with one end mark, at its end: marks inside it would make two sentences of it."""
    inside = SENTENCE.sub("", text).strip()
    return inside + (text[-1] if text[-1] in ".!?" else end)


@register("reader", "babi")
class Babi(Reader):
    """One task's file."""

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        if self.columns is not None:
            raise UserError("data.columns: a file of numbered lines has none", file=self.file)
        yield from self._of(self.file)

    @staticmethod
    def _of(file: Path) -> Iterator[tuple[int, Pair | BadRow]]:
        story = Story()
        for number, found in lines(file):
            try:
                row = found if isinstance(found, BadRow) else story.line(number, found)
            except BadRow as bad:
                row = bad
            if isinstance(row, BadRow):
                yield number, BadRow(row.reason, row.message, str(file))
            elif row is not None:
                yield number, row


@register("reader", "babi-joint")
class BabiJoint(Babi):
    """The file of every task that lies beside the given one."""

    @classmethod
    def beside(cls, file: Path) -> list[Path]:
        return tasks_beside(file)

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        if self.columns is not None:
            raise UserError("data.columns: a file of numbered lines has none", file=self.file)
        for file in tasks_beside(self.file):
            yield from self._of(file)


def tasks_beside(file: Path) -> list[Path]:
    """The same split of every task, in the order of their numbers."""
    named = TASK.fullmatch(file.name)
    if named is None:
        raise UserError('the files of "babi-joint" are called qa1_NAME_train.txt, qa2_NAME_train.txt and so on', file=file)
    found = [(int(match[1]), one) for one in file.parent.iterdir() if (match := TASK.fullmatch(one.name)) and match[2] == named[2]]
    return [one for _, one in sorted(found)]
