"""Ancestral sampling: each token drawn from the model's distribution, on request flattened or cut.

In this order: `temperature` divides the log-probabilities, `top_k` keeps the k likeliest tokens (Fan et al. 2018), and
`top_p` keeps the fewest likeliest tokens that together have at least that share of what is left (Holtzman et al. 2020).

Draw k of a sentence depends on the seed, k and that sentence, not on the batch: step t of draw k uses one number u_kt,
the same for every sentence, and takes the first token at which the cumulative probability exceeds it. So equal
sentences get equal draws; ask for `nbest` draws to see different ones.

>>> keep_likeliest(torch.tensor([[0.1, 0.6, 0.3]]).log(), top_k=2, top_p=1.0).exp()
tensor([[0.0000, 0.6000, 0.3000]])
>>> keep_likeliest(torch.tensor([[0.1, 0.6, 0.3]]).log(), top_k=None, top_p=0.5).exp()
tensor([[0.0000, 0.6000, 0.0000]])

Shape suffixes: N rows at one step, V vocabulary.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pydantic
import torch
from torch import Tensor

from xattend.registry import register
from xattend.search.base import Search, Steps
from xattend.search.limits import AllowUnk, Limits, MaxExtra, MaxLength, MaxRatio, MinLength, NoRepeat
from xattend.search.walk import walk
from xattend.types import Hypothesis, Memory


def keep_likeliest(logprobs_NV: Tensor, *, top_k: int | None, top_p: float) -> Tensor:
    """-inf for every token that top-k or top-p leaves out. Top-p counts shares of what top-k left."""
    if top_k is None and top_p == 1.0:
        return logprobs_NV
    likeliest_NC, index_NC = logprobs_NV.topk(min(top_k or logprobs_NV.shape[1], logprobs_NV.shape[1]), dim=1)
    share_NC = likeliest_NC.double().softmax(dim=1)
    before_NC = share_NC.cumsum(dim=1) - share_NC  # a token stays if the likelier ones do not reach top_p yet
    likeliest_NC = likeliest_NC.masked_fill(before_NC >= top_p, -torch.inf)
    return torch.full_like(logprobs_NV, -torch.inf).scatter(1, index_NC, likeliest_NC)


@register("search", "sample")
class Sample(Search):
    """`nbest` independent draws, likeliest first. The score is the model's own log-probability, without temperature."""

    def __init__(
        self, *,
        temperature: Annotated[float, pydantic.Field(gt=0), "below 1 sharpens, above 1 flattens"] = 1.0,
        top_k: Annotated[Annotated[int, pydantic.Field(gt=0)] | None, "draw from the so many likeliest tokens"] = None,
        top_p: Annotated[float, pydantic.Field(gt=0, le=1), "draw from the likeliest tokens with this share"] = 1.0,
        seed: Annotated[int, pydantic.Field(ge=0), "of the draws"] = 1,
        nbest: Annotated[int, pydantic.Field(gt=0), "draws a sentence"] = 1,
        max_length: MaxLength = None, max_ratio: MaxRatio = 3.0, max_extra: MaxExtra = 20,
        min_length: MinLength = 0, allow_unk: AllowUnk = True, no_repeat: NoRepeat = 0,
    ) -> None:  # fmt: skip
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p
        self.seed, self.nbest = seed, nbest
        self.limits = Limits(max_length, max_ratio, max_extra, min_length, allow_unk, no_repeat)

    @torch.inference_mode()
    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        batch = len(memory.mask_BS)
        rows_N = torch.arange(batch, device=memory.mask_BS.device).repeat_interleave(self.nbest)
        plan = self.limits.plan(memory, prefix).take(rows_N)
        # numpy's generator gives the same first numbers however many are asked for, on every device
        generators = [np.random.default_rng([self.seed, k]) for k in range(self.nbest)]
        longest = int(plan.limit_B.max())
        numbers_KT = torch.from_numpy(np.stack([generator.random(longest + 1) for generator in generators]))
        numbers_KT = numbers_KT.to(memory.mask_BS.device)

        def draw(allowed_NV: Tensor, written: int, rows_N: Tensor) -> Tensor:
            kept_NV = keep_likeliest(allowed_NV / self.temperature, top_k=self.top_k, top_p=self.top_p)
            cumulative_NV = kept_NV.double().softmax(dim=1).cumsum(dim=1)
            number_N1 = numbers_KT[rows_N % self.nbest, written].unsqueeze(1) * cumulative_NV[:, -1:]
            token_N = torch.searchsorted(cumulative_NV, number_N1, right=True).squeeze(1)
            return token_N.clamp(max=allowed_NV.shape[1] - 1)

        found = walk(decoder, memory.take(rows_N), plan, draw, attention=attention)
        groups = [found[row * self.nbest : (row + 1) * self.nbest] for row in range(batch)]
        return [sorted(group, key=lambda hypothesis: -hypothesis.score) for group in groups]
