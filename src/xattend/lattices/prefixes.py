"""CTC as a decoder, step by step: given a beginning, how probable is each next label, or the end? So every search can write with it.

    p(l ...)   the sum over paths that begin with l; p(l) the sum over those that are l and nothing more
    p(k | l)   = p(l k ...) / p(l ...),   p(end | l) = p(l) / p(l ...)              these sum to one

Graves' prefix search (2006) is best-first search over these numbers (search kind `exact`), and beam search over them is a prefix beam. All that is
kept of a beginning are two rows, over frames: paths that say it and end in its last label, n_t, and in a blank, b_t. Then

    e_t       = b_t + [k is not l's last label] n_t                     where the next label may set in
    p(l k...) = sum_t e_{t-1} y^t_k
    n'_t      = y^t_k (n'_{t-1} + e_{t-1}),   b'_t = y^t_blank (b'_{t-1} + n'_{t-1})

Both recurrences are linear, so logcumsumexp solves them without a loop: x_t = y_t (x_{t-1} + u_t) has log x = C + logcumsumexp(log u + log y - C)
with C = cumsum log y.

Shape suffixes: B rows, T frames, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.lattices.ctc import BLANK
from xattend.types import BOS, EOS, Memory, State, Step

NEVER = -1e30  # a logarithm of nothing that can be added to others


def solved(log_y_BT: Tensor, log_in_BT: Tensor) -> Tensor:
    """log x of x_t = y_t (x_{t-1} + u_t), x_{-1} = 0.

    >>> solved(torch.tensor([[0.5, 0.5]]).double().log(), torch.tensor([[1.0, 1.0]]).double().log()).exp().float().tolist()
    [[0.5, 0.75]]
    """
    before_BT = log_y_BT.cumsum(dim=1) - log_y_BT
    return log_y_BT + before_BT + torch.logcumsumexp(log_in_BT - before_BT, dim=1)


def _later(log_BT: Tensor) -> Tensor:
    """What was there a frame before."""
    return torch.nn.functional.pad(log_BT, (1, 0), value=NEVER)[:, :-1]


class PrefixSteps:
    """`start` takes log y_BTV as the states of a memory; frames that are padding count for nothing."""

    def start(self, memory: Memory) -> State:
        log_y_BTV, mask_BT = memory.states_BSD.double(), memory.mask_BS
        # behind its end a row says nothing but blanks: nothing is added to any sum
        silent_V = torch.full_like(log_y_BTV[0, 0], NEVER)
        silent_V[BLANK] = 0.0
        log_y_BTV = torch.where(mask_BT[:, :, None], log_y_BTV, silent_V).clamp(min=NEVER)
        blank_BT = log_y_BTV[:, :, BLANK].cumsum(dim=1)
        batch, frames = mask_BT.shape
        n_BT = blank_BT.new_full((batch, frames), NEVER)
        # before anything is said: the beginning is empty, and p(empty ...) = 1
        return State((log_y_BTV,), (n_BT, blank_BT, blank_BT.new_zeros(batch), torch.full((batch,), BOS, device=mask_BT.device)))

    def step(self, token_B: Tensor, state: State) -> Step:
        (log_y_BTV,) = state.source
        n_BT, b_BT, log_p_B, last_B = state.moving
        frames = log_y_BTV.shape[1]
        rows_B = torch.arange(len(token_B), device=token_B.device)
        if not bool((token_B == BOS).all()):
            own_BT = log_y_BTV.gather(2, token_B[:, None, None].expand(-1, frames, 1)).squeeze(2)
            in_BT = self._enter(n_BT, b_BT, (token_B == last_B)[:, None], fresh=last_B == BOS)
            said_n_BT = solved(own_BT, in_BT).clamp(min=NEVER)
            said_b_BT = solved(log_y_BTV[:, :, BLANK], _later(said_n_BT)).clamp(min=NEVER)
            log_p_B = torch.logsumexp(in_BT + own_BT, dim=1).clamp(min=NEVER)
            n_BT, b_BT, last_B = said_n_BT, said_b_BT, token_B
        fresh_B = last_B == BOS
        other_BT, same_BT = (self._enter(n_BT, b_BT, torch.full_like(fresh_B, same)[:, None], fresh=fresh_B) for same in (False, True))
        log_next_BV = torch.logsumexp(other_BT[:, :, None] + log_y_BTV, dim=1)
        again_B = torch.logsumexp(same_BT + log_y_BTV.gather(2, last_B[:, None, None].expand(-1, frames, 1)).squeeze(2), dim=1)
        log_next_BV[rows_B, last_B] = again_B
        log_next_BV[:, [BLANK, BOS]] = NEVER
        log_next_BV[:, EOS] = torch.logaddexp(n_BT[:, -1], b_BT[:, -1])
        logits_BV = (log_next_BV - log_p_B[:, None]).clamp(min=-1e9).float()
        nowhere = logits_BV.new_zeros(len(logits_BV), 1, frames) if state.looks else None
        return Step(logits_BV, state.then((n_BT, b_BT, log_p_B, last_B)), nowhere)

    @staticmethod
    def _enter(n_BT: Tensor, b_BT: Tensor, same_B1: Tensor, fresh: Tensor) -> Tensor:
        """log e_{t-1}: paths that have said the beginning before frame t, and from which a label may set in there."""
        sum_BT = torch.where(same_B1, b_BT, torch.logaddexp(n_BT, b_BT))
        before_BT = _later(sum_BT)
        # an empty beginning has been said before the first frame
        first_BT = torch.where(torch.arange(before_BT.shape[1], device=before_BT.device) == 0, 0.0, before_BT)
        return torch.where(fresh[:, None], first_BT, before_BT)
