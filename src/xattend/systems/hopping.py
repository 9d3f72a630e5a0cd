"""Stories answered by hops: look at the memory, take in what was seen, look again; then one answer. The contract of memory networks.

    asked = ask(story)                       the sentences as slots, and the question's vector
    asked, weights_BS = hop(k, asked)        k = 0 .. K-1: where it looks, and what it asks for next
    logits_BV = answer(asked)                one of the target's words

`memn2n`, `memnn` and `dmn` write these three. An answer is one unit of the target vocabulary; after it comes the end, which is certain, so that
every search, n-best list and ensemble takes such a system like any other (`Once`). In a trace the positions are sentences and the heads are hops.

>>> once, logits_BV = Once(), torch.tensor([[0.0, 0.0, 0.0, 0.0, 5.0]])
>>> memory = Memory(torch.zeros(1, 2, 1), torch.ones(1, 2, dtype=torch.bool), torch.zeros(1, 1), (2,), (logits_BV, torch.ones(1, 3, 2)))
>>> state = once.start(memory)
>>> first = once.step(torch.tensor([BOS]), state)
>>> int(first.logits_BV.argmax()), int(once.step(torch.tensor([4]), first.state).logits_BV.argmax()) == EOS
(4, True)

Shapes: B batch, S sentences, K hops, V target vocabulary, F facts, H = K heads, D width.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from xattend.data.fields.story import Story
from xattend.data.fields.turns import Turns
from xattend.errors import UserError
from xattend.search.base import Search
from xattend.systems.answers import prediction
from xattend.systems.base import System
from xattend.systems.parts import Parts
from xattend.types import BOS, EOS, PAD, Batch, Loss, Memory, Padded, Prediction, State, Step

NEVER = (PAD, BOS, EOS)  # no answers
IMPOSSIBLE = -1e9
Asked = TypeVar("Asked")


class Thought(NamedTuple):
    """What came of all hops."""

    logits_BV: Tensor
    weights_BKS: Tensor


class Once:
    """An answer as steps for a search: the answer, then the end. What the memory carries is the answer's logits, and where each hop looked."""

    def start(self, memory: Memory) -> State:
        logits_BV, weights_BKS = memory.carry
        return State(None, {"logits": logits_BV, "weights": weights_BKS, "written": torch.zeros(len(logits_BV), dtype=torch.bool)})

    def step(self, token_B: Tensor, state: State) -> Step:
        logits_BV, weights_BKS, written_B = (state.moving[key] for key in ("logits", "weights", "written"))
        end_BV = torch.full_like(logits_BV, IMPOSSIBLE)
        end_BV[:, EOS] = 0.0
        now_BV = torch.where(written_B[:, None], end_BV, logits_BV)
        looks_BKS = weights_BKS * ~written_B[:, None, None]  # the end mark looks nowhere
        return Step(now_BV, state.then({"logits": logits_BV, "weights": weights_BKS, "written": torch.ones_like(written_B)}), looks_BKS)


class Hopping(System, Generic[Asked]):
    """A subclass sets `hops` and writes `ask`, `hop` and `answer`; one that learns in another way, `loss` in training (`learn`)."""

    looks = True
    hops: int

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        if not isinstance(parts.source, Story) or isinstance(parts.source, Turns):
            raise UserError("this system answers stories: set data.source.kind = \"story\"")
        self.source: Story = parts.source
        self.target = parts.target

    # --- the contract

    def ask(self, source: Padded) -> Asked:
        """The story, read, and the question."""
        raise NotImplementedError

    def hop(self, number: int, asked: Asked) -> tuple[Asked, Tensor]:
        """One look: what is asked after it, and weights_BS."""
        raise NotImplementedError

    def answer(self, asked: Asked) -> Tensor:
        """logits_BV of the answer."""
        raise NotImplementedError

    def learn(self, source: Padded, label_B: Tensor) -> tuple[Tensor, Tensor, dict[str, float]]:
        """What is minimised, the negative log-likelihood of the answers, both summed, and other sums for the log."""
        nll = likelihood(self.think(source).logits_BV, label_B)
        return nll, nll, {}

    # --- what follows from it

    def think(self, source: Padded) -> Thought:
        """All hops, and the answer."""
        asked, seen = self.ask(source), []
        for number in range(self.hops):
            asked, weights_BS = self.hop(number, asked)
            seen.append(weights_BS)
        logits_BV = self.answer(asked)
        never_V = torch.zeros(logits_BV.shape[1], dtype=torch.bool)
        never_V[list(NEVER)] = True
        return Thought(logits_BV.masked_fill(never_V, IMPOSSIBLE), torch.stack(seen, dim=1))

    def loss(self, batch: Batch) -> Loss:
        assert batch.source is not None
        label_B = self._labels(batch)
        if self.training:
            total, nll, parts = self.learn(batch.source, label_B)
        else:
            total = nll = likelihood(self.think(batch.source).logits_BV, label_B)
            parts = {}
        # an answer and its end, which is certain
        return Loss(total, 2 * len(batch), len(batch), {"nll": float(nll.detach()), **parts})

    def _labels(self, batch: Batch) -> Tensor:
        assert batch.target is not None
        if batch.target.values.shape[1] != 3:
            raise UserError(
                "an answer of several words: this system chooses among answers, so each must be one unit of the target side; "
                "data.target.separator = \"|\" makes whole answers units"
            )
        return batch.target.values[:, 1]

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        """The answer by probability; with attention, the sentences that each hop looked at."""
        assert batch.source is not None
        source, thought = batch.source, self.think(batch.source)
        nothing_BSD = thought.weights_BKS.new_zeros(*source.mask_BS.shape, 0)
        memory = Memory(nothing_BSD, source.mask_BS, nothing_BSD[:, 0], (source.mask_BS.shape[1],), tuple(thought))
        found = search.search(Once(), memory, attention=attention)
        names = [f"hop {number}" for number in range(1, self.hops + 1)]
        predictions = []
        for hypotheses, sentences in zip(found, self.source.names(source), strict=True):
            one = prediction(hypotheses, self.target, sentences, (len(sentences),))
            trace = one.trace
            if trace is not None:
                heads = names if trace.weights_THS.shape[1] == self.hops else []  # an ensemble has the mean of them
                one = replace(one, trace=replace(trace, kind="memory", heads=heads))
            predictions.append(one)
        return predictions

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        assert batch.source is not None
        logs_BV = self.think(batch.source).logits_BV.float().log_softmax(dim=-1)
        return [[log, 0.0] for log in logs_BV.gather(1, self._labels(batch)[:, None]).squeeze(1).tolist()]

    def align(self, batch: Batch) -> list[Tensor]:
        raise UserError("aligning links words, and this model looks at sentences: predict --attention shows which")


def likelihood(logits_BV: Tensor, label_B: Tensor) -> Tensor:
    """The summed negative log-likelihood."""
    return torch.nn.functional.cross_entropy(logits_BV, label_B, reduction="sum")


def untaught(source: Padded, hops: int) -> dict[str, float]:
    """What no hop can be taught, for the log: rows that name no facts, and facts that there is no hop for. Only what there is."""
    assert source.beside is not None
    facts = source.beside.beside
    assert facts is not None
    found = {"rows_without_facts": facts.lengths_B == 0, "facts_beyond_hops": (facts.lengths_B - hops).clamp(min=0)}
    return {name: float(count_B.sum()) for name, count_B in found.items() if count_B.any()}


def gold(source: Padded, hops: int) -> tuple[Tensor, Tensor]:
    """The supporting fact of each hop, facts_BK, and which of them there are. More facts than hops are left out: the first are needed first."""
    assert source.beside is not None
    facts = source.beside.beside
    assert facts is not None
    missing = max(0, hops - facts.values.shape[1])
    facts_BK = torch.nn.functional.pad(facts.values, (0, missing))[:, :hops]
    return facts_BK, torch.nn.functional.pad(facts.mask_BS, (0, missing))[:, :hops]
