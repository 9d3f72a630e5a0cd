"""What an output may be: how long, and made of which tokens. Every search uses these settings.

A sentence's limit comes from that sentence's own source length, never from its neighbours in the batch:

    limit = min(max_length, ceil(max_ratio x source length) + max_extra)

Lengths here count tokens without EOS. A hypothesis with `limit` tokens may still end: EOS is not forced on it, and one
that does not end there is cut and marked `finished=False`.

`no_repeat = n` lets no n tokens be written twice (repeats.py). A forced prefix may repeat, the end is never ruled out, and
where nothing else is left the end is allowed, even before `min_length`.

>>> Limits(max_ratio=1.5, max_extra=2).longest(Memory.empty(2, torch.zeros(0)))
[100, 100]
>>> memory = Memory(torch.zeros(1, 4, 8), torch.tensor([[True, True, True, False]]), torch.zeros(1, 8))
>>> Limits(max_ratio=1.5, max_extra=2).longest(memory)
[7]

Shape suffixes: B batch, S source, N rows at one step, T tokens written, V vocabulary, P prefix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pydantic
import torch
from torch import Tensor

from xattend.errors import UserError
from xattend.search.repeats import Phrase, rule_out
from xattend.types import BOS, EOS, PAD, UNK, Memory

Array = np.ndarray[Any, Any]

MaxLength = Annotated[Annotated[int, pydantic.Field(gt=0)] | None, "longest output in tokens, whatever the source"]
MaxRatio = Annotated[float, pydantic.Field(ge=0), "longest output as a multiple of the source length ..."]
MaxExtra = Annotated[int, pydantic.Field(ge=0), "... plus so many tokens"]
MinLength = Annotated[int, pydantic.Field(ge=0), "shortest output in tokens"]
AllowUnk = Annotated[bool, "may the output have unknown-word tokens"]
NoRepeat = Annotated[int, pydantic.Field(ge=0), "never write the same so many tokens twice; 0 = off"]

WITHOUT_SOURCE = 100  # the limit of a language model's output, and of a picture's, when max_length does not say
FREE = -1  # no token is forced here
IMPOSSIBLE = -1e9  # log-probability of a forced token to which the model gives none: it is obeyed all the same


@dataclass(frozen=True)
class Limits:
    """The settings above, and what follows from them for one batch."""

    max_length: int | None = None
    max_ratio: float = 3.0
    max_extra: int = 20
    min_length: int = 0
    allow_unk: bool = True
    no_repeat: int = 0
    never: tuple[Phrase, ...] = ()  # phrases that may not be written; no recipe sets them (Search.forbidding)

    @property
    def looks_back(self) -> bool:
        """Whether what may come next depends on the tokens written so far, so that a search must keep them."""
        return self.no_repeat > 0 or bool(self.never)

    def __post_init__(self) -> None:
        if self.max_length is not None and self.max_length < max(1, self.min_length):
            raise UserError(f"max_length {self.max_length} is less than {max(1, self.min_length)}, the shortest output")

    def longest(self, memory: Memory) -> list[int]:
        """For each sentence, the most tokens its output may have."""
        if memory.mask_BS.shape[1] == 0 or len(memory.grid) > 1:  # how many places a picture has says nothing of what is written
            return [max(self.max_length or WITHOUT_SOURCE, self.min_length)] * memory.mask_BS.shape[0]
        found = []
        for length in memory.mask_BS.sum(dim=1).tolist():
            limit = math.ceil(self.max_ratio * length) + self.max_extra
            limit = limit if self.max_length is None else min(limit, self.max_length)
            found.append(max(limit, self.min_length, 1))
        return found

    def plan(self, memory: Memory, prefix: list[list[int]] | None) -> Plan:
        """Limits and forced tokens of a batch. A forced prefix longer than the limit raises that row's limit."""
        longest, rows = self.longest(memory), len(memory.mask_BS)
        if prefix is None:
            prefix = [[]] * rows
        if len(prefix) != rows:
            raise UserError(f"{len(prefix)} prefixes for {rows} rows")
        if any(token in (PAD, BOS, EOS) or token < 0 for tokens in prefix for token in tokens):
            raise UserError("a prefix cannot have padding, start or end tokens")
        forced_BP = torch.full((rows, max(map(len, prefix), default=0)), FREE)
        for row, tokens in enumerate(prefix):
            forced_BP[row, : len(tokens)] = torch.tensor(tokens, dtype=torch.long)
        device = memory.mask_BS.device
        limit_B = torch.tensor([max(limit, len(tokens)) for limit, tokens in zip(longest, prefix)])
        return Plan(self, limit_B.to(device), forced_BP.to(device))


@dataclass(frozen=True)
class Plan:
    """The limits of one batch: the most tokens a row may have, and its forced tokens (FREE where it may choose)."""

    limits: Limits
    limit_B: Tensor
    forced_BP: Tensor

    def take(self, rows_N: Tensor) -> Plan:
        return Plan(self.limits, self.limit_B[rows_N], self.forced_BP[rows_N])

    def nothing_written(self, rows: int) -> Tensor | None:
        """The tokens of so many hypotheses before the first step; None if the limits do not look back."""
        return self.limit_B.new_zeros(rows, 0) if self.limits.looks_back else None

    def scores(self, logits_NV: Tensor, written: int, tokens_NT: Tensor | None) -> Tensor:
        """The model's log-probabilities, with -inf where a token may not come next. They are not normalised anew.

        N is a multiple of this plan's rows (its beams, in a row); `written` is how many tokens come before, and
        `tokens_NT` which ones, if the limits look back.
        """
        scores_NV = torch.log_softmax(logits_NV, dim=-1, dtype=torch.float32)
        if bool(scores_NV[:, EOS].isnan().any()):  # one NaN makes its whole row NaN
            raise UserError("the model's scores are not numbers (NaN): its weights or its input are broken")
        forced_NV = self._forced(scores_NV, written)
        scores_NV[:, PAD] = scores_NV[:, BOS] = -torch.inf
        if not self.limits.allow_unk:
            scores_NV[:, UNK] = -torch.inf
        end_N = None if tokens_NT is None else scores_NV[:, EOS].clamp(min=IMPOSSIBLE)
        if written < self.limits.min_length:
            scores_NV[:, EOS] = -torch.inf
        if tokens_NT is not None and end_N is not None:
            rule_out(scores_NV, tokens_NT, no_repeat=self.limits.no_repeat, never=self.limits.never)
            scores_NV[:, EOS] = torch.where(scores_NV.amax(dim=1).isinf(), end_N, scores_NV[:, EOS])
        return scores_NV if forced_NV is None else torch.where(forced_NV.isnan(), scores_NV, forced_NV)

    def _forced(self, logprobs_NV: Tensor, written: int) -> Tensor | None:
        """-inf for all but the forced token, NaN in rows that may choose; None if all may."""
        if written >= self.forced_BP.shape[1]:
            return None
        forced_B = self.forced_BP[:, written]
        vocabulary = logprobs_NV.shape[1]
        if int(forced_B.max()) >= vocabulary:
            raise UserError(f"prefix token {int(forced_B.max())} is outside the vocabulary of {vocabulary}")
        forced_N1 = forced_B.repeat_interleave(len(logprobs_NV) // len(forced_B)).unsqueeze(1)
        token_N1 = forced_N1.clamp(min=0)
        own_N1 = logprobs_NV.gather(1, token_N1).clamp(min=IMPOSSIBLE)
        alone_NV = torch.full_like(logprobs_NV, -torch.inf).scatter_(1, token_N1, own_N1)
        return alone_NV.masked_fill_(forced_N1 == FREE, torch.nan)


def real_width(mask_S: Array, weights_THS: Array) -> Array:
    """Weights without the padding on the right that only the batch's longest sentence needed."""
    width = weights_THS.shape[-1]
    if width == len(mask_S):  # else they lie over something other than the source, such as memory slots
        real = np.flatnonzero(mask_S)
        width = int(real[-1]) + 1 if len(real) else 0
    return weights_THS[..., :width].copy()  # a view would keep the whole batch's weights alive


def longer(tokens_NT: Tensor | None, rows_N: Tensor | None, token_N: Tensor) -> Tensor | None:
    """The tokens written after a step, if anybody keeps them: those of the rows that go on, and one more."""
    if tokens_NT is None:
        return None
    return torch.cat([tokens_NT if rows_N is None else tokens_NT[rows_N], token_N.unsqueeze(1)], dim=1)
