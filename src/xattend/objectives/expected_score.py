"""Training on what is written: the expected score of outputs that the model draws itself (Shen et al. 2016; Rennie et al. 2017).

Likelihood asks for the next word after the right ones; a user sees whole outputs, written after the model's own words, and judges them as a
whole. With y_1 ... y_K drawn from p(. | x) for one source and r the score of an output against that source's references

    gradient of E[r]  ~  1/K sum_k (r(y_k) - mean of the other r(y_j)) gradient of log p(y_k | x)

What the other draws scored is taken from the reward (leave-one-out), which changes no expectation and much of the noise. r is BLEU of one
sentence in the target's units, at most 4 long, with `smoothing` added to the counts of pairs and longer ones. The rows of a batch that have one source (five captions of a
photo: `training.together`) are each other's references and each other's other draws; its brevity goes by the mean length of the references, so
that nothing is won by writing as short as the shortest. The first `after` batches are learnt by another objective: draws of a model that knows
nothing are all as bad. Draws and their gradient are without the decoder's dropout, so that both are of one distribution. A word outside the
vocabulary is never right.

>>> reward([4, 5, 6, 7], References.of([[4, 5, 6, 7]]), 0.2)
1.0
>>> round(reward([4, 5], References.of([[4, 5, 6, 7], [4, 6]]), 0.2), 4)  # all its grams are there, but it is short: exp(1 - 3/2)
0.6065

Shapes: B batch, N draws (B times `samples`), T steps, V vocabulary.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import cross_entropy

from xattend import registry
from xattend.decoders.base import Decoder
from xattend.errors import UserError
from xattend.objectives.base import Objective, as_loss, inputs_and_labels, real
from xattend.objectives.cross_entropy import CrossEntropy
from xattend.registry import Named, register
from xattend.types import BOS, EOS, PAD, UNK, Loss, Memory, Padded

ORDER = 4  # units of the longest grams
LONGER = 2  # a draw that has not ended after so many times the longest reference scores nothing
NOTHING = -1  # in place of a reference's unknown words: no draw has it


def grams(units: Sequence[int], size: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(units[start : start + size]) for start in range(len(units) - size + 1))


class References(NamedTuple):
    """What outputs of one source are compared with: of each gram the most that a reference has, and the references' mean length."""

    most: list[Counter[tuple[int, ...]]]
    length: float

    @staticmethod
    def of(references: Sequence[Sequence[int]]) -> References:
        most: list[Counter[tuple[int, ...]]] = []
        for size in range(1, ORDER + 1):
            most.append(Counter())
            for units in references:
                most[-1] |= grams(units, size)
        return References(most, sum(map(len, references)) / len(references))


def reward(units: Sequence[int], references: References, smoothing: float) -> float:
    """BLEU of one output."""
    logs = 0.0
    for size, most in enumerate(references.most, 1):
        added = 0.0 if size == 1 else smoothing
        found = (grams(units, size) & most).total() + added
        if found == 0:
            return 0.0
        logs += math.log(found / (max(0, len(units) - size + 1) + added))
    return math.exp(logs / ORDER + min(0.0, 1 - references.length / len(units)))


@contextmanager
def without_dropout(decoder: Decoder) -> Iterator[None]:
    """The decoder as it is when it is used."""
    decoder.eval()
    try:
        yield
    finally:
        decoder.train()


@register("objective", "expected-score")
class ExpectedScore(Objective):
    """The expected sentence BLEU of drawn outputs, after some batches of another objective."""

    batches: Tensor

    def __init__(
        self, *,
        after: Annotated[int, Field(ge=0), "batches that are learnt by `first` before"] = 0,
        first: Annotated[str | dict[str, Any], Named("objective"), "the objective of those"] = "cross-entropy",
        samples: Annotated[int, Field(gt=0), "outputs drawn for each row"] = 1,
        smoothing: Annotated[float, Field(ge=0), "added to the counts of pairs of units and longer ones"] = 0.2,
    ) -> None:  # fmt: skip
        super().__init__()
        self.after, self.samples, self.smoothing = after, samples, smoothing
        self.first: Objective = registry.build_named("objective", first)
        if self.first.readings > 1:
            raise UserError("objective.first reads every row several times: choose another")
        self.whole = CrossEntropy()
        self.register_buffer("batches", torch.zeros((), dtype=torch.long))

    def wire(self, memory_size: int, vocabulary: int = 0) -> None:
        self.first.wire(memory_size, vocabulary)

    def forward(self, decoder: Decoder, memory: Memory, target: Padded) -> Loss:
        if not self.training:
            whole: Loss = self.whole(decoder, memory, target)
            return whole
        self.batches += 1
        if int(self.batches) <= self.after:
            first: Loss = self.first(decoder, memory, target)
            return first
        row_B = torch.arange(len(target.values), device=target.values.device)
        source_B = row_B if memory.source_B is None else memory.source_B
        rows_N = row_B.repeat_interleave(self.samples)
        with without_dropout(decoder):
            drawn = draw(decoder, memory.take(rows_N), most=LONGER * target.values.shape[1])
            reward_N = self._rewards(drawn, source_B.tolist(), rows_N.tolist(), target)
            inputs_NT, labels_NT, mask_NT = inputs_and_labels(drawn)
            hidden_MD = real(decoder.hidden(memory.take(rows_N), inputs_NT), mask_NT)
        log_M = -cross_entropy(writable(decoder.output(hidden_MD)), labels_NT[mask_NT], reduction="none")
        credit_NT = credits(reward_N, source_B[rows_N])[:, None].expand_as(mask_NT)
        total = -(credit_NT[mask_NT] * log_M).sum() / self.samples
        score = 100 * reward_N.mean() * target.mask_BS[:, 1:].sum()  # what is logged is divided by the tokens again
        return as_loss(total, -log_M.detach().sum() / self.samples, target, score=score)

    def _rewards(self, drawn: Padded, source_B: list[int], rows_N: list[int], target: Padded) -> Tensor:
        """The score of every draw against all the targets of its source."""
        same: dict[int, list[list[int]]] = {}
        for source, units in zip(source_B, written(target), strict=True):
            same.setdefault(source, []).append([NOTHING if unit == UNK else unit for unit in units])
        references = {source: References.of(those) for source, those in same.items()}
        ended_N = (drawn.values == EOS).any(dim=1).tolist()
        scores = [
            reward(units, references[source_B[row]], self.smoothing) if units and ended else 0.0
            for units, row, ended in zip(written(drawn), rows_N, ended_N, strict=True)
        ]
        return torch.tensor(scores, device=target.values.device)


def credits(reward_N: Tensor, source_N: Tensor) -> Tensor:
    """Each draw's reward, less the mean of what the other draws for its source got.

    >>> credits(torch.tensor([1.0, 0.0, 0.5, 0.25]), torch.tensor([7, 7, 7, 7])).tolist()
    [0.75, -0.5833333134651184, 0.0833333432674408, -0.25]
    """
    _, group_N, size_G = torch.unique(source_N, return_inverse=True, return_counts=True)
    if bool((size_G < 2).any()):
        raise UserError(
            "objective \"expected-score\" compares several outputs of a source, and a row has but one: set objective.samples to 2 or more, "
            "or training.together to how many rows have the same source"
        )
    sum_G = reward_N.new_zeros(len(size_G)).index_add_(0, group_N, reward_N)
    others_N: Tensor = (sum_G[group_N] - reward_N) / (size_G[group_N] - 1)
    return reward_N - others_N


@torch.no_grad()
def draw(decoder: Decoder, memory: Memory, *, most: int) -> Padded:
    """One output for each row of the memory, drawn unit by unit, BOS and EOS with it: the target it would have been."""
    state, rows = decoder.start(memory), len(memory.mask_BS)
    token_N = torch.full((rows,), BOS, device=memory.mask_BS.device)
    done_N = torch.zeros_like(token_N, dtype=torch.bool)
    drawn = [token_N]
    for _ in range(most):
        step = decoder.step(token_N, state)
        token_N = writable(step.logits_BV).softmax(dim=-1).multinomial(1).squeeze(1).masked_fill(done_N, PAD)
        drawn.append(token_N)
        done_N |= token_N == EOS
        if bool(done_N.all()):
            break
        state = step.state
    values_NT = torch.stack(drawn, dim=1)
    return Padded(values_NT, values_NT != PAD)


def writable(logits_NV: Tensor) -> Tensor:
    """Of what can be written: not padding, nor a beginning."""
    return logits_NV.float().index_fill(1, torch.tensor([PAD, BOS], device=logits_NV.device), -math.inf)


def written(padded: Padded) -> list[list[int]]:
    """The units of each row, without what only marks its ends."""
    return [[unit for unit in row if unit not in (PAD, BOS, EOS)] for row in padded.values.tolist()]
