"""Made-up sentences, for timing: as many, as long and of as many words as Multi30k's under BPE (14.0 -> 14.3 tokens).

Words are Zipf-distributed. The target is the source word by word in another language, with some neighbours swapped and
an end that is cut off or said again, so that there is something to learn and to align.

>>> task = Sentences(rows=10, words=50)
>>> source, target = next(task.splits()["train"])
>>> source.split()[0][0], target.split()[0][0]
('s', 't')
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, ClassVar

import pydantic

from xattend.data.tasks.base import Task, split_sizes
from xattend.data.tasks.sequences import Rows, Seed
from xattend.registry import register


@register("task", "sentences")
class Sentences(Task):
    """Rows such as `s12 s3 s40` -> `t3 t12 t40`."""

    source: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}

    def __init__(
        self, *,
        words: Annotated[int, pydantic.Field(ge=10, le=1_000_000), "how many different words each side has"] = 3_850,
        rows: Rows = 29_000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        self.words, self.seed = words, seed
        self.sizes = split_sizes(rows)

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        return {split: self._rows(split, size) for split, size in self.sizes.items()}

    def _rows(self, split: str, size: int) -> Iterator[tuple[str, str]]:
        """Drawn one at a time, so that any number of them takes no memory. A split's sentences open with words of its own."""
        random = Random(f"{self.seed} {split}")
        total, sums = 0.0, []
        for rank in range(self.words):
            total += 1 / (rank + 3)
            sums.append(total)
        part, numbers = list(self.sizes).index(split), range(self.words)
        for _ in range(size):
            long = max(4, min(45, round(random.lognormvariate(2.59, 0.31))))
            short = max(4, min(50, round(long * random.gauss(1.03, 0.15))))
            words = random.choices(numbers, cum_weights=sums, k=long)
            words[0] -= words[0] % 3 - part  # 0, 1 or 2 modulo 3
            words[0] += 3 * (words[0] < 0) - 3 * (words[0] >= self.words)
            written = [words[i % long] for i in range(short)]
            for i in range(0, short - 1, 2):
                if written[i] % 3 == 0:  # a word that goes behind its neighbour
                    written[i], written[i + 1] = written[i + 1], written[i]
            yield " ".join(f"s{word}" for word in words), " ".join(f"t{word}" for word in written)
