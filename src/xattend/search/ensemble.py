"""An ensemble: several decoders that write one output together. To search it is a decoder like any other.

Their next-token distributions are averaged, as probabilities or as log-probabilities (then normalised anew). Each
member reads its own memory; `pack` puts those side by side in one Memory, so that rows are chosen and ordered for all
members alike:

    ensemble = Ensemble([first, second])
    Beam().search(ensemble, ensemble.pack([memory_of_first, memory_of_second]))

Who has whole systems instead of decoders uses `Together`, a search: each system in turn is asked to predict and hands over its
decoder and its memory, then all are searched as one, and every system gets the same hypotheses back.

    first.predict(batch, Together(Beam(), [lambda search: second.predict(its_batch, search)]))

Where it looked: the mean over heads and over those members whose source axis is as long as the first one's.

Shape suffixes: B rows, V vocabulary, H heads, S source, G axes of the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from xattend.errors import UserError
from xattend.search.base import Search, Steps
from xattend.types import Hypothesis, Memory, State, Step


class Ensemble:
    """Decoders with one target vocabulary."""

    def __init__(
        self, decoders: Sequence[Steps], *, combine: Literal["probabilities", "log-probabilities"] = "probabilities"
    ) -> None:
        if not decoders:
            raise UserError("an ensemble needs at least one model")
        self.decoders, self.combine = list(decoders), combine

    def pack(self, memories: Sequence[Memory]) -> Memory:
        """One memory that holds each member's. It looks like the first one, from which length limits come."""
        if len(memories) != len(self.decoders):
            raise UserError(f"{len(memories)} memories for an ensemble of {len(self.decoders)}")
        if len({len(memory.mask_BS) for memory in memories}) != 1:
            raise UserError("the memories of an ensemble have different numbers of rows")
        members = tuple(
            (m.states_BSD, m.mask_BS, m.summary_BD, _grid(m), m.carry, m.given_BTS)
            for m in memories
        )
        return replace(memories[0], carry=members, given_BTS=None)

    def start(self, memory: Memory) -> State:
        states = []
        for decoder, (states_BSD, mask_BS, summary_BD, grid_BG, carry, given_BTS) in zip(
            self.decoders, memory.carry, strict=True
        ):
            grid = tuple(int(size) for size in grid_BG[0].tolist())
            states.append(decoder.start(Memory(states_BSD, mask_BS, summary_BD, grid, carry, given_BTS)))
        return State(tuple(state.source for state in states), tuple(state.moving for state in states))

    def step(self, token_B: Tensor, state: State) -> Step:
        steps = [
            decoder.step(token_B, State(source, moving, looks=state.looks))
            for decoder, source, moving in zip(self.decoders, state.source, state.moving, strict=True)
        ]
        sizes = sorted({step.logits_BV.shape[1] for step in steps})
        if len(sizes) > 1:
            raise UserError(f"the members of an ensemble must share a target vocabulary; theirs have {sizes} tokens")
        logprobs_MBV = torch.stack([torch.log_softmax(step.logits_BV.float(), dim=-1) for step in steps])
        if self.combine == "probabilities":
            logits_BV = logprobs_MBV.double().exp().mean(dim=0).log().float()
        else:
            logits_BV = logprobs_MBV.mean(dim=0)
        return Step(logits_BV, state.then(tuple(step.state.moving for step in steps)), self._looked(steps) if state.looks else None)

    @staticmethod
    def _looked(steps: list[Step]) -> Tensor:
        weights = [step.looked().float().mean(dim=1, keepdim=True) for step in steps]
        return torch.stack([each for each in weights if each.shape == weights[0].shape]).mean(dim=0)


def _grid(memory: Memory) -> Tensor:
    """A grid is plain numbers, and only batch-first tensors travel in a memory's carry."""
    return torch.tensor([memory.grid] * len(memory.mask_BS), device=memory.mask_BS.device)


class Together(Search):
    """`search` of several systems at once: of the one that is given this search, and of `others`, given it in their turn.

    `found` has what was found, every hypothesis of it. Without others this is `search` and nothing else.
    """

    def __init__(
        self, search: Search, others: Sequence[Callable[[Search], object]] = (), held: Sequence[tuple[Steps, Memory]] = ()
    ) -> None:
        self.inner, self.others, self.held = search, list(others), list(held)
        self.found: list[list[Hypothesis]] = []

    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        held = [*self.held, (decoder, memory)]
        if self.others:
            rest = Together(self.inner, self.others[1:], held)
            self.others[0](rest)
            self.found = rest.found
        else:
            if len(held) > 1:
                decoder = Ensemble([decoder for decoder, _ in held])
                memory = decoder.pack([memory for _, memory in held])
            self.found = self.inner.search(decoder, memory, prefix=prefix, attention=attention)
        return self.found
