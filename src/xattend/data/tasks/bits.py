"""Algorithms to be learnt from examples (Graves, Wayne and Danihelka 2014, section 4): steps go in, and after a mark steps come out.

    bits-copy            0110 1101 copy . .                                   -> 0110 1101
    bits-repeat-copy     0110 repeat&-0.87 . . . .                            -> 0110 0110 0110 end
    bits-recall          item 01 10 item 11 00 ask 01 10 ask . .              -> 11 00
    bits-ngrams          1 0 0 1 1 0 1                                        -> 0 0 1 1 0 1 1   (the next bit, at every step)
    bits-priority-sort   0110&0.25 1101&-0.71 0001&0.93 sort . .              -> 0001 0110

The splits hold fixed rows of all shapes. A system may train on rows drawn anew at every update instead (`Drawn.fresh`): the rows of a
draw have one shape, so nothing is padded, and they depend on nothing but the generator given.

>>> source_BT, target_BA = Copy(width=4, min_length=2, max_length=2).fresh(np.random.default_rng(1), 1)
>>> Copy(width=4).texts(source_BT[0], target_BA[0])
('0111 1000 copy . .', '0111 1000')

Shapes: B rows, T steps of a source, A steps of an answer, L words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import numpy as np
import pydantic

from xattend.data.fields.bits import MARK, SILENT, WIDEST, WORD, unpack, write
from xattend.data.tasks.base import Task, split_sizes
from xattend.errors import UserError
from xattend.registry import register

Ids = np.ndarray[Any, np.dtype[np.int64]]
Width = Annotated[int, pydantic.Field(ge=1, le=WIDEST), "bits of a word"]
Length = Annotated[int, pydantic.Field(ge=1, le=1000), "words of a sequence"]
Count = Annotated[int, pydantic.Field(ge=1, le=1000), "how many of them"]
Rows = Annotated[int, pydantic.Field(ge=1), "rows of the training split; a tenth as many (10 to 1000) each to validate and test"]
Seed = Annotated[int, pydantic.Field(ge=0), "of the rows of the splits"]
TRIES = 1000  # draws in a row without a new source
MEAN, DEVIATION = 5.5, 2.87  # of the numbers from 1 to 10: how many repeats is told in these units, whatever the range is


class Drawn(Task):
    """A subclass draws rows of one shape; `marks` are the marks of its source, sorted."""

    source: ClassVar[dict[str, Any]] = {"kind": "bits"}
    target: ClassVar[dict[str, Any]] = {"kind": "bits"}
    marks: ClassVar[tuple[str, ...]] = ()
    written: ClassVar[tuple[str, ...]] = ()  # marks of its target

    def __init__(self, width: int, rows: int, seed: int) -> None:
        self.width, self.seed, self.sizes = width, seed, split_sizes(rows)

    def fresh(self, random: np.random.Generator, rows: int) -> tuple[Ids, Ids]:
        """source_BT and target_BA as ids of the field `bits`, without BOS and EOS."""
        raise NotImplementedError

    def words(self, random: np.random.Generator, *shape: int) -> Ids:
        """Ids of random words."""
        return SILENT + (random.integers(1 << self.width, size=shape) + 1 << WORD)

    def mark(self, name: str, rows: int, marks: tuple[str, ...] | None = None) -> Ids:
        """A step with a mark."""
        found = self.marks if marks is None else marks
        return np.full((rows, 1), SILENT + (found.index(name) + 1 << MARK), dtype=np.int64)

    def texts(self, source_T: Ids, target_A: Ids) -> tuple[str, str]:
        """A row as it is written."""
        return self._text(source_T, self.marks), self._text(target_A, self.written)

    def _text(self, ids_T: Ids, marks: tuple[str, ...]) -> str:
        steps = [unpack(id) for id in ids_T.tolist()]
        return " ".join(
            write("" if word is None else format(word, f"0{self.width}b"), marks[mark - 1] if mark else "", number) for word, mark, number in steps
        )

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        random, seen = np.random.Generator(np.random.PCG64(self.seed)), set[str]()
        found: dict[str, Iterator[tuple[str, str]]] = {}
        for split, size in self.sizes.items():
            rows: list[tuple[str, str]] = []
            tries = 0
            while len(rows) < size:
                source_BT, target_BA = self.fresh(random, 1)
                row = self.texts(source_BT[0], target_BA[0])
                tries = 0 if row[0] not in seen else tries + 1
                if tries > TRIES:
                    raise UserError(f"{TRIES} draws in a row gave nothing new: set fewer 'rows', or longer sequences")
                if row[0] not in seen:
                    seen.add(row[0])
                    rows.append(row)
            found[split] = iter(rows)
        return found


def silence(rows: int, steps: int) -> Ids:
    """Steps in which nothing is said."""
    return np.full((rows, steps), SILENT, dtype=np.int64)


def _ordered(low: int, high: int, names: str) -> tuple[int, int]:
    if low > high:
        raise UserError(f"min_{names} = {low} is more than max_{names} = {high}")
    return low, high


@register("task", "bits-copy")
class Copy(Drawn):
    """Words, a mark, and the same words again; in a series of several such, one after the other."""

    marks = ("copy",)

    def __init__(
        self, *, width: Width = 8, min_length: Length = 1, max_length: Length = 20, min_series: Count = 1, max_series: Count = 1,
        rows: Rows = 1000, seed: Seed = 1,
    ) -> None:  # fmt: skip
        super().__init__(width, rows, seed)
        self.lengths, self.series = _ordered(min_length, max_length, "length"), _ordered(min_series, max_series, "series")

    def fresh(self, random: np.random.Generator, rows: int) -> tuple[Ids, Ids]:
        source, target = [], []
        length = int(random.integers(self.lengths[0], self.lengths[1] + 1))
        for _ in range(int(random.integers(self.series[0], self.series[1] + 1))):
            words_BL = self.words(random, rows, length)
            source += [words_BL, self.mark("copy", rows), silence(rows, length)]
            target.append(words_BL)
        return np.concatenate(source, axis=1), np.concatenate(target, axis=1)


@register("task", "bits-repeat-copy")
class RepeatCopy(Drawn):
    """Words, how often they are to be written as one number, the words so often, and an end mark."""

    marks, written = ("repeat",), ("end",)

    def __init__(
        self, *, width: Width = 8, min_length: Length = 1, max_length: Length = 10, min_repeats: Count = 1, max_repeats: Count = 10,
        rows: Rows = 1000, seed: Seed = 1,
    ) -> None:  # fmt: skip
        super().__init__(width, rows, seed)
        self.lengths, self.repeats = _ordered(min_length, max_length, "length"), _ordered(min_repeats, max_repeats, "repeats")
        if max_repeats > 20:
            raise UserError("max_repeats = 20 is the most that can be told")

    def fresh(self, random: np.random.Generator, rows: int) -> tuple[Ids, Ids]:
        length, times = (int(random.integers(low, high + 1)) for low, high in (self.lengths, self.repeats))
        words_BL = self.words(random, rows, length)
        told = round(1000 * (times - MEAN) / DEVIATION)
        number = 2 * told if told >= 0 else -2 * told - 1
        source_BT = np.concatenate([words_BL, self.mark("repeat", rows) + number, silence(rows, length * times + 1)], axis=1)
        return source_BT, np.concatenate([np.tile(words_BL, times), self.mark("end", rows, self.written)], axis=1)


@register("task", "bits-recall")
class Recall(Drawn):
    """Items of a few words each, then one of them again: the answer is the item that came after it."""

    marks = ("ask", "item")

    def __init__(
        self, *, width: Width = 6, length: Length = 3, min_items: Count = 2, max_items: Count = 6, rows: Rows = 1000, seed: Seed = 1
    ) -> None:
        super().__init__(width, rows, seed)
        self.length, self.items = length, _ordered(min_items, max_items, "items")
        if min_items < 2:
            raise UserError("min_items = 2 is the least: something must come after the item that is asked for")

    def fresh(self, random: np.random.Generator, rows: int) -> tuple[Ids, Ids]:
        count = int(random.integers(self.items[0], self.items[1] + 1))
        items_BIL = self.words(random, rows, count, self.length)
        asked_B = random.integers(count - 1, size=rows)
        every = np.arange(rows)
        source = [part for item in range(count) for part in (self.mark("item", rows), items_BIL[:, item])]
        source += [self.mark("ask", rows), items_BIL[every, asked_B], self.mark("ask", rows), silence(rows, self.length)]
        return np.concatenate(source, axis=1), items_BIL[every, asked_B + 1]


@register("task", "bits-ngrams")
class NGrams(Drawn):
    """Bits of which each depends on those before it, by a table of chances that every row has anew; the next bit is asked for at each step."""

    def __init__(
        self, *, order: Annotated[int, pydantic.Field(ge=1, le=12), "bits of an n-gram: one depends on order - 1 before it"] = 6,
        length: Annotated[int, pydantic.Field(ge=2, le=2000), "bits of a row"] = 200, rows: Rows = 200, seed: Seed = 1,
    ) -> None:  # fmt: skip
        super().__init__(1, rows, seed)
        self.order, self.length = order, length

    def fresh(self, random: np.random.Generator, rows: int) -> tuple[Ids, Ids]:
        chances_BG = random.beta(0.5, 0.5, size=(rows, 1 << self.order - 1))
        bits_BT, before_B = np.zeros((rows, self.length), dtype=np.int64), np.zeros(rows, dtype=np.int64)
        for step in range(self.length):
            chance_B = chances_BG[np.arange(rows), before_B] if step >= self.order - 1 else np.full(rows, 0.5)
            bits_BT[:, step] = random.random(rows) < chance_B
            before_B = (2 * before_B + bits_BT[:, step]) % (1 << self.order - 1)
        ids_BT = SILENT + (bits_BT + 1 << WORD)
        return ids_BT[:, :-1], ids_BT[:, 1:]


def best_guess(bits: list[int], order: int = 6) -> list[float]:
    """The chance of 1 for each bit but the first, by what was seen before it: (N1 + 1/2) / (N0 + N1 + 1), the best there is (Murphy 2012).

    >>> best_guess([0, 1, 0, 1], order=2)  # 0.5 before anything was seen; after the second 0: 1 was seen once after 0
    [0.5, 0.5, 0.75]
    """
    counts: dict[tuple[int, ...], list[int]] = {}
    found = []
    for place in range(1, len(bits)):
        if place < order - 1:
            found.append(0.5)
            continue
        seen = counts.setdefault(tuple(bits[place - order + 1 : place]), [0, 0])
        found.append((seen[1] + 0.5) / (sum(seen) + 1))
        seen[bits[place]] += 1
    return found


@register("task", "bits-priority-sort")
class PrioritySort(Drawn):
    """Words with a priority each, -1 to 1; the answer is those of highest priority, highest first."""

    marks = ("sort",)

    def __init__(self, *, width: Width = 8, length: Length = 20, answers: Count = 16, rows: Rows = 1000, seed: Seed = 1) -> None:
        super().__init__(width, rows, seed)
        self.length, self.answers = length, answers
        if answers > length:
            raise UserError(f"answers = {answers} of length = {length}: there are not so many")

    def fresh(self, random: np.random.Generator, rows: int) -> tuple[Ids, Ids]:
        words_BL = self.words(random, rows, self.length)
        # all of a row differ, so that there is one right order; 0 is left out, as it is written as no number
        told_BL = random.permuted(np.tile(np.concatenate([np.arange(-1000, 0), np.arange(1, 1001)]), (rows, 1)), axis=1)[:, : self.length]
        first_BA = np.argsort(-told_BL, axis=1)[:, : self.answers]
        number_BL = np.where(told_BL >= 0, 2 * told_BL, -2 * told_BL - 1)
        source_BT = np.concatenate([words_BL + number_BL, self.mark("sort", rows), silence(rows, self.answers)], axis=1)
        return source_BT, np.take_along_axis(words_BL, first_BA, axis=1)
