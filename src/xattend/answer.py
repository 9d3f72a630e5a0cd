"""What a model answers for one row: a prediction, all hypotheses behind it, and the required phrases that it lacks.

>>> best = Hypothesis([4, 5], -1.0, -1.0, [-0.4, -0.6], finished=False)
>>> answer(Prediction("a b", ["a", "b"], -1.0, -1.0, [("a b", -1.0)], hypothesis=best), [[best]], {"b": (5,), "c": (6,)}).missing
['c']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xattend.search.repeats import Phrase, holds
from xattend.types import Hypothesis, Prediction


@dataclass(frozen=True)
class Answer(Prediction):
    """A prediction, and

    hypotheses   the n-best in full: tokens, log-probability of each, whether finished
    missing      phrases that were required and are not in the output; only an unfinished one lacks any
    """

    hypotheses: list[Hypothesis] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def _repr_html_(self) -> str:
        """In a notebook: the viewer, in a frame of its own."""
        from xattend.report.html import frame, of_answer

        return frame(of_answer(self))


def answer(found: Prediction, groups: Sequence[list[Hypothesis]], wanted: Mapping[str, Phrase]) -> Answer:
    """`groups` are the hypotheses of the batch; those of this row are the ones whose best the prediction was made of."""
    best = found.hypothesis
    own = next((group for group in groups if group[0] is best), [best] if best else [])
    missing = [text for text, phrase in wanted.items() if best is None or not holds(tuple(best.tokens), phrase)]
    return Answer(**vars(found), hypotheses=own, missing=missing)
