"""Writing one token after another with no way back: what greedy search and sampling share.

Shape suffixes: B sentences of the batch, N those not yet finished, H heads, S source, T target, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from xattend.search.base import Steps
from xattend.search.limits import Array, Plan, longer, real_width
from xattend.types import BOS, EOS, Hypothesis, Memory

# (allowed log-probabilities_NV, tokens written so far, which rows of the batch these are_N) -> tokens_N
Choose = Callable[[Tensor, int, Tensor], Tensor]


def walk(decoder: Steps, memory: Memory, plan: Plan, choose: Choose, *, attention: bool) -> list[Hypothesis]:
    """One hypothesis a row; `choose` picks each next token. Rows that have ended leave the batch."""
    batch, longest = len(plan.limit_B), int(plan.limit_B.max())
    limits = plan.limit_B.tolist()
    tokens: list[list[int]] = [[] for _ in range(batch)]
    logprobs: list[list[float]] = [[] for _ in range(batch)]  # one more than tokens if it ended
    looked: list[tuple[list[int], Array]] = []

    rows, rows_N = list(range(batch)), torch.arange(batch, device=plan.limit_B.device)
    state, token_N = replace(decoder.start(memory), looks=attention), torch.full_like(rows_N, BOS)
    tokens_NT = plan.nothing_written(batch)
    for written in range(longest + 1):
        step = decoder.step(token_N, state)
        allowed_NV = plan.scores(step.logits_BV, written, tokens_NT)
        token_N = choose(allowed_NV, written, rows_N)
        if attention:
            looked.append((rows, step.looked().float().cpu().numpy()))
        stay = []
        chosen = zip(rows, token_N.tolist(), allowed_NV.gather(1, token_N.unsqueeze(1)).squeeze(1).tolist())
        for place, (row, token, logprob) in enumerate(chosen):
            if token == EOS:
                logprobs[row].append(logprob)
            elif written < limits[row]:  # the rest stand at their limit without an end: cut
                tokens[row].append(token)
                logprobs[row].append(logprob)
                stay.append(place)
        if not stay:
            break
        state, kept = step.state, None
        if len(stay) < len(rows):
            kept = torch.tensor(stay, device=rows_N.device)
            state, plan, rows_N, token_N = state.take(kept), plan.take(kept), rows_N[kept], token_N[kept]
            rows = [rows[place] for place in stay]
        tokens_NT = longer(tokens_NT, kept, token_N)

    mask_BS = memory.mask_BS.cpu().numpy()
    weights = _gather(looked, [len(each) for each in logprobs]) if attention else [None] * batch
    found = []
    for row in range(batch):
        total, seen = sum(logprobs[row]), weights[row]
        cut = None if seen is None else real_width(mask_BS[row], seen)
        found.append(Hypothesis(tokens[row], total, total, logprobs[row], len(logprobs[row]) > len(tokens[row]), cut))
    return found


def _gather(looked: list[tuple[list[int], Array]], steps: list[int]) -> list[Array]:
    """Each step's weights of the rows then present -> each row's weights_THS."""
    heads, width = looked[0][1].shape[1:]
    found = [np.zeros((count, heads, width), dtype=np.float32) for count in steps]
    for written, (rows, weights_NHS) in enumerate(looked):
        for row, weights_HS in zip(rows, weights_NHS):
            if written < steps[row]:
                found[row][written] = weights_HS
    return found
