"""Every number a model reaches on given rows: what `evaluate` prints and `grid` compares.

Outputs are decoded free-running and scored by every registered metric. The likelihood is of the given targets:
`nll` and `perplexity` a token, the end mark included; `bits_per_character` a character of the target text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from xattend.cli.progress import progress
from xattend.data.readers.base import Row
from xattend.data.wanted import one_side
from xattend.metrics import score_all
from xattend.metrics.likelihood import bits_per_character, perplexity
from xattend.model import Model
from xattend.search.base import Search
from xattend.types import UNK


@dataclass(frozen=True)
class Scores:
    """metrics   by name
    rows      how many there were
    unknown   target units that the model's vocabulary does not have
    cut       outputs that the length limit cut
    seconds   for decoding and scoring
    """

    metrics: dict[str, float]
    rows: int
    unknown: int
    cut: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return {
            **self.metrics, "rows": self.rows, "unknown_units": self.unknown, "cut": self.cut, "seconds": round(self.seconds, 3),
        }  # fmt: skip


def score_rows(
    model: Model, rows: Callable[[], Iterable[Row]], search: Search, *, copy_unknown: bool = False, total: int | None = None
) -> Scores:
    """`rows` gives the same rows each time it is called. A language model is not decoded."""
    began = time.monotonic()
    outputs: list[str] = []
    references: list[list[str]] = []
    cut = 0
    if model.source is not None:
        with progress("decoding", total) as tick:
            for found in model.predict_rows(rows(), search, copy_unknown=copy_unknown, tick=tick):
                outputs.append(found.text)
                cut += not found.finished
    nll, tokens, characters, unknown, count = 0.0, 0, 0, 0, 0
    with progress("scoring", total) as tick:
        for row, score in zip(rows(), model.score_rows(rows(), tick=tick), strict=True):
            text = one_side(row)
            nll, tokens, count = nll - score.logprob, tokens + len(score.token_logprobs), count + 1
            characters += len(model.target.normalise(text))
            unknown += model.target.encode(text).count(UNK)
            references.append([model.target.raw(text)])
    metrics = score_all(outputs, references) if outputs else {}
    metrics |= {"nll": nll / tokens, "perplexity": perplexity(nll, tokens), "bits_per_character": bits_per_character(nll, characters)}
    return Scores(metrics, count, unknown, cut, time.monotonic() - began)
