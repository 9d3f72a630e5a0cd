"""Search: from a decoder's `start` and `step` to hypotheses. It never knows what kind of model it searches."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, Self

from torch import Tensor

from xattend.errors import UserError
from xattend.search.limits import Limits
from xattend.search.repeats import Phrase
from xattend.types import Hypothesis, Memory, State, Step

if TYPE_CHECKING:
    from xattend.data.fields.base import Field


class Steps(Protocol):
    """All that search may use of a decoder (an ensemble of decoders is one, too)."""

    def start(self, memory: Memory) -> State: ...

    def step(self, token_B: Tensor, state: State) -> Step: ...


class Search:
    """Contract: the same answer for batch 1 and batch N, and the same best answer for every n-best."""

    limits: Limits

    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        """For each sequence of the memory its hypotheses, best first.

        prefix      tokens that each output must start with (one list a row; may be empty)
        attention   keep where each step looked
        """
        raise NotImplementedError

    def writing(self, target: Field) -> None:
        """Told what its outputs are made of; a search that asks another model checks that it means the same."""

    def forbidding(self, phrases: Sequence[Phrase]) -> Self:
        """This search, but none of these phrases is ever written."""
        other = copy(self)
        other.limits = replace(self.limits, never=tuple(phrases))
        return other

    def requiring(self, phrases_B: Sequence[Sequence[Phrase]]) -> Search:
        """This search for one batch, in whose rows these phrases must be written. Only `constrained` can do it."""
        raise UserError("this search cannot require phrases: set search.kind to constrained")
