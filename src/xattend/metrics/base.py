"""A metric: a number for a list of outputs and what they should have been.

Every metric here is a corpus metric of one form: each output gives a row of counts (its statistics), and the value is a
function of the summed counts. So a resampled corpus costs a sum, not another pass over the texts (see bootstrap.py).

>>> score_all(["a b"], [["a b", "b a"]])["exact"]
1.0
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from xattend import registry
from xattend.errors import UserError

Counts = np.ndarray[Any, np.dtype[np.float64]]


class Metric:
    """A subclass writes `statistics` (one row an output) and `value` (of their sum)."""

    higher_is_better: ClassVar[bool]
    several: ClassVar[bool] = False  # True: of use where outputs have several references; left out where none has
    registered_name: ClassVar[str]

    @property
    def name(self) -> str:
        return self.registered_name

    def statistics(self, outputs: list[str], references: list[list[str]]) -> Counts:
        """One row of counts an output."""
        raise NotImplementedError

    def value(self, counts: Counts) -> float:
        """The metric, from the sum of the rows."""
        raise NotImplementedError

    def compute(self, outputs: list[str], references: list[list[str]]) -> float:
        """The metric; `references` has for each output a list of what is acceptable."""
        return self.value(self.checked_statistics(outputs, references).sum(axis=0))

    def checked_statistics(self, outputs: list[str], references: list[list[str]]) -> Counts:
        """`statistics` of lists that fit each other."""
        if len(outputs) != len(references):
            raise UserError(f"{len(outputs)} outputs, but references for {len(references)}")
        if not outputs:
            raise UserError("there are no outputs to score")
        bare = next((row for row, accepted in enumerate(references) if not accepted), None)
        if bare is not None:
            raise UserError(f"output {bare + 1} has no reference")
        return self.statistics(outputs, references)


def score_all(outputs: list[str], references: list[list[str]]) -> dict[str, float]:
    """Every registered metric by name; those of captions where some output has several references."""
    several = any(len(accepted) > 1 for accepted in references)
    names = [name for name in registry.names("metric") if several or not registry.find("metric", name).several]
    return {name: registry.build("metric", name).compute(outputs, references) for name in names}
