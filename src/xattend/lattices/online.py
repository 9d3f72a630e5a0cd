"""All ways to read a source once and write a target on the way, at most one token a step: summed by dynamic programming, or drawn.

    before(t, u) = log p(steps 1 .. t wrote y_1 .. y_u)
    before(t, u) = log( exp(before(t-1, u) + stay(t, u)) + exp(before(t-1, u-1) + emit(t, u-1)) )
    stay(t, u) = log(1 - b),   emit(t, u) = log b + log p(y_{u+1}),     b = p(a token is written at step t, after u tokens)
    log p(y | x) = before(S, U)

A path may be drawn instead, step by step, and rewarded with what it makes of the target (Luo et al. 2016). So that it writes all of the
target and nothing else, it must write when as many tokens are left as steps, and may not when none is. What it is made to do counts in the
reward with its probability, so that the mean reward is a lower bound of log p(y | x), and not above it:

    R = sum_{writes} log p(y_u) + sum_{made to} log p(b),   E[R] <= log p(y | x)

>>> half = torch.full((1, 2, 2), 0.5).log()  # two steps, one token; b = 1/2, and the token is certain
>>> lattice = Lattice(half, half, torch.zeros(1, 2, 1), torch.tensor([2]), torch.tensor([1]))
>>> marginal(lattice)[0].exp().tolist()  # now or then: 1/2 x 1/2 + 1/2 x 1/2
[0.5]

Shapes: B rows, S steps, U tokens, W = U + 1 numbers of tokens written.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

NEVER = -1e9


class Lattice(NamedTuple):
    """stay_BSW     log(1 - b)
    write_BSW    log b
    token_BSU    log p(y_{u+1}) after u tokens
    steps_B      steps of each row
    tokens_B     tokens of each row
    """

    stay_BSW: Tensor
    write_BSW: Tensor
    token_BSU: Tensor
    steps_B: Tensor
    tokens_B: Tensor

    def emit(self) -> Tensor:
        """emit_BSU"""
        return self.write_BSW[:, :, :-1] + self.token_BSU


def marginal(lattice: Lattice, emit_BSU: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """log p(y | x) of each row; and for each u that of the first u tokens being the right ones, whatever comes after: firsts_BW."""
    emit_BSU = lattice.emit() if emit_BSU is None else emit_BSU
    batch, steps, ways = lattice.stay_BSW.shape
    before_BW = torch.cat([emit_BSU.new_zeros(batch, 1), emit_BSU.new_full((batch, ways - 1), NEVER)], dim=1)
    arrived = []
    for step in range(steps):
        real_B1 = (step < lattice.steps_B)[:, None]
        moved_BU = (before_BW[:, :-1] + emit_BSU[:, step]).masked_fill(~real_B1, NEVER)
        stayed_BW = before_BW + lattice.stay_BSW[:, step].masked_fill(~real_B1, 0.0)
        before_BW = torch.cat([stayed_BW[:, :1], torch.logaddexp(stayed_BW[:, 1:], moved_BU)], dim=1)
        arrived.append(moved_BU)
    firsts_BU = torch.stack(arrived, dim=1).logsumexp(dim=1)
    whole_B = before_BW.gather(1, lattice.tokens_B[:, None])[:, 0]
    return whole_B, torch.cat([firsts_BU.new_zeros(batch, 1), firsts_BU], dim=1)


def posterior(lattice: Lattice) -> Tensor:
    """p(y_u is written at step s | x, y), weights_BUS: the gradient of log p(y | x) by emit, as of any sum over paths by its arcs."""
    with torch.inference_mode(False), torch.enable_grad():
        fixed = Lattice(*(part.detach().clone() for part in lattice))
        emit_BSU = fixed.emit().requires_grad_()
        (gradient_BSU,) = torch.autograd.grad(marginal(fixed, emit_BSU)[0].sum(), emit_BSU)
    return gradient_BSU.transpose(1, 2)


class Drawn(NamedTuple):
    """A path a row.

    reward_BS    what each step adds to R, with its gradient
    policy_BS    log-probability of what was drawn; 0 where there was no choice
    at_BS        how many tokens were written before each step
    wrote_BS     whether one was written at it
    free_BS      whether there was a choice
    """

    reward_BS: Tensor
    policy_BS: Tensor
    at_BS: Tensor
    wrote_BS: Tensor
    free_BS: Tensor


def draw(lattice: Lattice) -> Drawn:
    """A path of each row, by the model's own probabilities."""
    batch, steps = lattice.stay_BSW.shape[:2]
    written_B = torch.zeros(batch, dtype=torch.long)
    token_BSW = torch.nn.functional.pad(lattice.token_BSU, (0, 1))
    kept = []
    for step in range(steps):
        at_B1 = written_B[:, None]
        stay_B, write_B, token_B = (part[:, step].gather(1, at_B1)[:, 0] for part in (lattice.stay_BSW, lattice.write_BSW, token_BSW))
        real_B, left_B = step < lattice.steps_B, lattice.tokens_B - written_B
        must_B, may_B = left_B >= lattice.steps_B - step, left_B > 0
        free_B = real_B & may_B & ~must_B
        wrote_B = real_B & may_B & (must_B | (torch.rand(batch) < write_B.detach().exp()))
        log_B = torch.where(wrote_B, write_B, stay_B)
        reward_B = torch.where(wrote_B, token_B, 0.0) + torch.where(real_B & ~free_B, log_B, 0.0)
        kept.append((reward_B, torch.where(free_B, log_B, 0.0), written_B, wrote_B, free_B))
        written_B = written_B + wrote_B.long()
    return Drawn(*(torch.stack(part, dim=1) for part in zip(*kept, strict=True)))
