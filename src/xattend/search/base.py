"""Search: from a decoder's `start` and `step` to hypotheses. It never knows what kind of model it searches."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from xattend.types import Hypothesis, Memory, State, Step


class Steps(Protocol):
    """All that search may use of a decoder (an ensemble of decoders is one, too)."""

    def start(self, memory: Memory) -> State: ...

    def step(self, token_B: Tensor, state: State) -> Step: ...


class Search:
    """Contract: the same answer for batch 1 and batch N, and the same best answer for every n-best."""

    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        """For each sequence of the memory its hypotheses, best first.

        prefix      tokens that each output must start with (one list a row; may be empty)
        attention   keep where each step looked
        """
        raise NotImplementedError
