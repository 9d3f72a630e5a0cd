"""Supporting facts: do the hops look at the sentences that the answer follows from?

found   the share of supporting facts that some hop looks at more than at any other sentence
on      the share of hops whose most looked-at sentence is a supporting fact

With fewer hops than facts, not all of them can be found; with more, some hops have nothing left to find, so neither figure alone says it all. A hop
that looks nowhere (a memory network that wants no further fact) is not counted; of equal weights the first sentence counts.

>>> weights_KS = np.array([[0.1, 0.8, 0.1], [0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])  # hops look at sentences 1, 2 and 0
>>> looked_at(weights_KS, [1, 2])
Looks(found=2, facts=2, on=2, hops=3)

Shapes: K hops, S sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Looks(NamedTuple):
    """Counts of one or many questions."""

    found: int = 0
    facts: int = 0
    on: int = 0
    hops: int = 0

    def and_also(self, other: Looks) -> Looks:
        return Looks(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def shares(self) -> dict[str, float]:
        """Both figures, under the names that `evaluate` prints."""
        return {"facts_found": self.found / max(1, self.facts), "hops_on_facts": self.on / max(1, self.hops)}


def looked_at(weights_KS: np.ndarray[Any, Any], facts: Sequence[int]) -> Looks:
    """The looks of one question; `facts` are numbers of sentences, from 0."""
    places = [int(weights_S.argmax()) for weights_S in weights_KS if weights_S.max(initial=0.0) > 0]
    gold = set(facts)
    return Looks(len(gold & set(places)), len(gold), sum(place in gold for place in places), len(places))
