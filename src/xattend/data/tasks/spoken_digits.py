"""Strings of digits, spoken: made with formants and noise (drawing/voice.py), or put together from the recordings of FSDD.

    spoken-digits   spoken-digits:5 7 31415        speaker 5, take 7, and what is said; nothing to download
    fsdd            fsdd/recordings/3_theo_17.wav+fsdd/recordings/1_george_30.wav    (free-spoken-digit-dataset, in --data)

`test_digits` asks for test strings of other lengths than training's, as many of each: whether a model holds on in long ones.
FSDD's own split is kept: takes 0 to 4 are only in test strings; 5 to 9 are for validation, the others to train on.

>>> from itertools import islice
>>> list(islice(SpokenDigits(digits=[2, 3]).splits()["train"], 2))
[('spoken-digits:... ... ...', '...'), ('spoken-digits:... ... ...', '...')]
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, ClassVar

import pydantic

from xattend.data.tasks.base import Sound, Task, split_sizes
from xattend.data.tasks.sequences import Rows, Seed
from xattend.drawing.voice import speak
from xattend.errors import UserError
from xattend.registry import register

Count = Annotated[int, pydantic.Field(ge=1, le=100)]
Range = Annotated[list[Count], pydantic.Field(min_length=2, max_length=2)]
Speakers = Annotated[int, pydantic.Field(ge=1, le=1000), "how many speakers there are"]
FSDD = ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
TAKES = {"train": (10, 49), "validation": (5, 9), "test": (0, 4)}


class Strings(Task):
    """Rows of digit strings, all different; `say` names the sound of one."""

    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "character"}

    def __init__(self, digits: list[int], test_digits: list[int] | None, rows: int, seed: int) -> None:
        if digits[0] > digits[1]:
            raise UserError(f"digits = {digits}: the shortest string is longer than the longest")
        self.digits, self.test_digits, self.seed = digits, test_digits, seed
        self.sizes = split_sizes(rows)

    def say(self, draw: Random, split: str, digits: list[int]) -> str:
        raise NotImplementedError

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        return {split: self._rows(split, size) for split, size in self.sizes.items()}

    def _rows(self, split: str, size: int) -> Iterator[tuple[str, str]]:
        draw, seen = Random(f"{self.seed} {split}"), set[str]()
        while len(seen) < size:
            lengths = self.test_digits if split == "test" else None
            count = lengths[len(seen) % len(lengths)] if lengths else draw.randint(*self.digits)
            digits = [draw.randrange(10) for _ in range(count)]
            source = self.say(draw, split, digits)
            if source not in seen:
                seen.add(source)
                yield source, "".join(map(str, digits))


@register("task", "spoken-digits")
class SpokenDigits(Strings):
    """Made-up voices."""

    source: ClassVar[dict[str, Any]] = {"kind": "sound", "rate": 8000}

    def __init__(
        self, *,
        digits: Annotated[Range, "digits of a string: from, to"] = [1, 5],  # noqa: B006
        test_digits: Annotated[list[Count] | None, "lengths of test strings, as many of each; by default as in training"] = None,
        speakers: Speakers = 20,
        rows: Rows = 5000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        super().__init__(digits, test_digits, rows, seed)
        self.speakers = speakers

    def say(self, draw: Random, split: str, digits: list[int]) -> str:
        """Takes are numbered apart, so that no sound is in two splits."""
        take = draw.randrange(10**6) * 3 + list(self.sizes).index(split)
        return f"spoken-digits:{draw.randrange(self.speakers)} {take} {''.join(map(str, digits))}"

    @staticmethod
    def sound(spec: str, rate: int) -> Sound:
        speaker, _, rest = spec.partition(" ")
        take, _, digits = rest.partition(" ")
        plain = all(part.isascii() and part.isdecimal() and len(part) <= 100 for part in (speaker, take, digits))
        if not plain:
            raise UserError("write speaker, take and digits, for example 5 7 31415")
        return speak(spec, [int(digit) for digit in digits], speaker=int(speaker), rate=rate)


@register("task", "fsdd")
class Fsdd(Strings):
    """Recordings of six people."""

    source: ClassVar[dict[str, Any]] = {"kind": "sound", "rate": 8000}

    def __init__(
        self, *,
        digits: Annotated[Range, "digits of a string: from, to"] = [3, 7],  # noqa: B006
        test_digits: Annotated[list[Count] | None, "lengths of test strings, as many of each; by default as in training"] = None,
        mixed: Annotated[bool, "each digit by anybody; false: a string by one speaker"] = True,
        folder: Annotated[str, "where the recordings lie, in --data"] = "fsdd/recordings",
        rows: Rows = 5000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        super().__init__(digits, test_digits, rows, seed)
        self.mixed, self.folder = mixed, folder

    def say(self, draw: Random, split: str, digits: list[int]) -> str:
        low, high = TAKES[split]
        one = draw.choice(FSDD)
        who = [draw.choice(FSDD) if self.mixed else one for _ in digits]
        return "+".join(f"{self.folder}/{digit}_{name}_{draw.randint(low, high)}.wav" for digit, name in zip(digits, who, strict=True))
