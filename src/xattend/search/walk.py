"""Writing one token after another with no way back: what greedy search and sampling share.

Shape suffixes: B sentences of the batch, N those not yet finished, H heads, S source, T target, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from xattend.search.base import Steps
from xattend.search.limits import Array, Plan, real_width
from xattend.types import BOS, EOS, Hypothesis, Memory

# (allowed log-probabilities_NV, tokens written so far, which rows of the batch these are_N) -> tokens_N
Choose = Callable[[Tensor, int, Tensor], Tensor]


def walk(decoder: Steps, memory: Memory, plan: Plan, choose: Choose, *, attention: bool) -> list[Hypothesis]:
    """One hypothesis a row; `choose` picks each next token. Rows that have ended leave the batch."""
    batch, longest = len(plan.limit_B), int(plan.limit_B.max())
    mask_BS = memory.mask_BS.cpu().numpy()
    tokens_BT = np.full((batch, longest + 1), EOS)
    logprobs_BT = np.zeros((batch, longest + 1), dtype=np.float32)
    looked: list[tuple[Array, Array]] = []
    steps_B = np.zeros(batch, dtype=np.int64)
    finished_B = np.zeros(batch, dtype=bool)

    rows_N = torch.arange(batch, device=plan.limit_B.device)
    state, token_N = decoder.start(memory), torch.full_like(rows_N, BOS)
    for written in range(longest + 1):
        step = decoder.step(token_N, state)
        allowed_NV = plan.scores(step.logits_BV, written)
        token_N = choose(allowed_NV, written, rows_N)
        ends_N = token_N == EOS
        writes_N = ends_N | (written < plan.limit_B)  # the rest stand at their limit without an end: cut
        rows = rows_N.cpu().numpy()
        wrote = rows[writes_N.cpu().numpy()]
        tokens_BT[wrote, written] = token_N[writes_N].cpu().numpy()
        logprobs_BT[wrote, written] = allowed_NV.gather(1, token_N.unsqueeze(1))[writes_N, 0].cpu().numpy()
        steps_B[wrote] += 1
        finished_B[rows[ends_N.cpu().numpy()]] = True
        if attention:
            looked.append((rows, step.weights_BHS.float().cpu().numpy()))
        stay_N = writes_N & ~ends_N
        if not bool(stay_N.any()):
            break
        state = step.state
        if not bool(stay_N.all()):
            kept = stay_N.nonzero().squeeze(1)
            state, plan, rows_N, token_N = state.take(kept), plan.take(kept), rows_N[kept], token_N[kept]

    weights = _gather(looked, steps_B) if attention else [None] * batch
    found = []
    for row in range(batch):
        steps, done = int(steps_B[row]), bool(finished_B[row])
        logprobs = logprobs_BT[row, :steps].tolist()
        total, seen = sum(logprobs), weights[row]
        cut = None if seen is None else real_width(mask_BS[row], seen)
        found.append(Hypothesis(tokens_BT[row, : steps - done].tolist(), total, total, logprobs, done, cut))
    return found


def _gather(looked: list[tuple[Array, Array]], steps_B: Array) -> list[Array]:
    """Each step's weights of the rows then present -> each row's weights_THS."""
    heads, width = looked[0][1].shape[1:]
    found = [np.zeros((steps, heads, width), dtype=np.float32) for steps in steps_B.tolist()]
    for written, (rows, weights_NHS) in enumerate(looked):
        for row, weights_HS in zip(rows.tolist(), weights_NHS):
            if written < steps_B[row]:
                found[row][written] = weights_HS
    return found
