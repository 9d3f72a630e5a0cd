"""Connectionist temporal classification (Graves et al. 2006): the sum over all ways to spread labels over frames, blanks between them.

    p(l | x) = sum over paths pi with B(pi) = l of prod_t y^t_{pi_t}          B: repeats taken together, then blanks taken out
    l'       = blank l_1 blank l_2 ... blank                                   2 U + 1 states
    a_t(s)   = y^t_{l'_s} (a_{t-1}(s) + a_{t-1}(s-1) + [l'_s is a label other than l'_{s-2}] a_{t-1}(s-2))
    b_t(s)   the same from the end;   gamma_t(s) = a_t(s) b_t(s) / (y^t_{l'_s} p(l | x))

gamma says how probable it is that frame t belongs to state s: CTC's "attention matrix". The blank is PAD, id 0. Training uses torch's loss; the
passes here are for gamma, for forced alignment (the same with max for sum), and for checking each other.

>>> y_BTV = torch.full((1, 2, 2), 0.5).log()  # two frames, a blank and one label
>>> round(float(forward_backward(y_BTV, torch.tensor([2]), torch.tensor([[1]]), torch.tensor([1])).log_prob_B.exp()), 4)  # 1-, -1, 11
0.75

Shape suffixes: B batch, T frames, V vocabulary, U labels, N = 2 U + 1 states.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from xattend.types import PAD

BLANK = PAD


class Passed(NamedTuple):
    """log_prob_B: of the labels. log_gamma_BTN: of each state at each frame, -inf where it cannot be."""

    log_prob_B: Tensor
    log_gamma_BTN: Tensor


def states_of(labels_BU: Tensor) -> tuple[Tensor, Tensor]:
    """l', and where its states may be entered from two before: label_BN, skip_BN."""
    batch, count = labels_BU.shape
    label_BN = labels_BU.new_full((batch, 2 * count + 1), BLANK)
    label_BN[:, 1::2] = labels_BU
    skip_BN = torch.zeros_like(label_BN, dtype=torch.bool)
    skip_BN[:, 2:] = (label_BN[:, 2:] != BLANK) & (label_BN[:, 2:] != label_BN[:, :-2])
    return label_BN, skip_BN


def _back(log_BN: Tensor, by: int) -> Tensor:
    """Each state gets what the one `by` before it has."""
    return torch.nn.functional.pad(log_BN, (by, 0), value=-torch.inf)[:, : log_BN.shape[1]]


def _forward(own_BTN: Tensor, skip_BN: Tensor, *, best: bool = False) -> Tensor:
    """log a_BTN; with `best` the likeliest way alone."""
    now_BN = torch.full_like(own_BTN[:, 0], -torch.inf)
    now_BN[:, :2] = own_BTN[:, 0, :2]
    found = [now_BN]
    for t in range(1, own_BTN.shape[1]):
        ways_3BN = torch.stack([now_BN, _back(now_BN, 1), _back(now_BN, 2).masked_fill(~skip_BN, -torch.inf)])
        now_BN = (ways_3BN.amax(dim=0) if best else torch.logsumexp(ways_3BN, dim=0)) + own_BTN[:, t]
        found.append(now_BN)
    return torch.stack(found, dim=1)


def _turned(values: Tensor, lengths_B: Tensor) -> Tensor:
    """Axis 1 of each row from its own end to its beginning; what lies behind the end stays."""
    at_BT = torch.arange(values.shape[1], device=values.device).expand(len(values), -1)
    from_BT = torch.where(at_BT < lengths_B[:, None], lengths_B[:, None] - 1 - at_BT, at_BT)
    return values.gather(1, from_BT.view(*from_BT.shape, *[1] * (values.dim() - 2)).expand_as(values))


def forward_backward(log_y_BTV: Tensor, frames_B: Tensor, labels_BU: Tensor, labels_B: Tensor) -> Passed:
    """Both passes, for rows of different lengths. In double precision, without a gradient."""
    with torch.no_grad():
        own_BTN, skip_BN, states_B = _own(log_y_BTV, labels_BU, labels_B)
        a_BTN = _forward(own_BTN, skip_BN)
        # from the end: rows turned round in time and in states; what may be skipped is the same, seen from the other side
        turned_BTN = _turned(_turned(own_BTN, frames_B).transpose(1, 2), states_B).transpose(1, 2)
        _, skips_back_BN = states_of(_turned(labels_BU, labels_B))
        b_BTN = _forward(turned_BTN, skips_back_BN)
        b_BTN = _turned(_turned(b_BTN, frames_B).transpose(1, 2), states_B).transpose(1, 2)
        log_prob_B = _ended(a_BTN, frames_B, states_B)
        log_gamma_BTN = a_BTN + b_BTN - own_BTN - log_prob_B[:, None, None]
        impossible = torch.isinf(own_BTN) | torch.isnan(log_gamma_BTN) | torch.isinf(log_prob_B)[:, None, None]
        beyond_BT = torch.arange(own_BTN.shape[1], device=own_BTN.device) >= frames_B[:, None]
        return Passed(log_prob_B, log_gamma_BTN.masked_fill(impossible | beyond_BT[:, :, None], -torch.inf))


def _own(log_y_BTV: Tensor, labels_BU: Tensor, labels_B: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """log y of each state at each frame, -inf for states a row has not; which may be skipped to; how many a row has."""
    label_BN, skip_BN = states_of(labels_BU)
    states_B = 2 * labels_B + 1
    own_BTN = log_y_BTV.double().gather(2, label_BN[:, None].expand(-1, log_y_BTV.shape[1], -1))
    real_BN = torch.arange(label_BN.shape[1], device=label_BN.device) < states_B[:, None]
    return own_BTN.masked_fill(~real_BN[:, None], -torch.inf), skip_BN, states_B


def _ended(a_BTN: Tensor, frames_B: Tensor, states_B: Tensor) -> Tensor:
    """log (a_T(last) + a_T(last - 1)) of each row."""
    rows_B = torch.arange(len(a_BTN), device=a_BTN.device)
    last_BN = a_BTN[rows_B, (frames_B - 1).clamp(min=0)]
    label_B = last_BN.gather(1, (states_B - 2).clamp(min=0)[:, None]).squeeze(1)
    blank_B = last_BN.gather(1, (states_B - 1)[:, None]).squeeze(1)
    return torch.where(states_B > 1, torch.logaddexp(label_B, blank_B), blank_B)


def posterior(log_y_BTV: Tensor, frames_B: Tensor, labels_BU: Tensor, labels_B: Tensor) -> Tensor:
    """For each label, and for the blank at the end, where it lies along the frames; each row sums to one: weights_B(U+1)T.

    A label's weights are its share of gamma, so a label that is heard for one frame and one that is heard for ten weigh the same.
    """
    gamma_BTN = forward_backward(log_y_BTV, frames_B, labels_BU, labels_B).log_gamma_BTN.exp()
    batch, count = labels_BU.shape
    rows = torch.cat([gamma_BTN[:, :, 1::2], gamma_BTN.gather(2, (2 * labels_B)[:, None, None].expand(-1, gamma_BTN.shape[1], 1))], dim=2)
    order_BU = torch.arange(count + 1, device=rows.device).expand(batch, -1)
    # the blank at the end stands behind the row's own last label
    order_BU = torch.where(order_BU == labels_B[:, None], count, torch.where(order_BU == count, labels_B[:, None], order_BU))
    rows_BUT = rows.gather(2, order_BU[:, None].expand(-1, rows.shape[1], -1)).transpose(1, 2)
    return (rows_BUT / rows_BUT.sum(dim=2, keepdim=True).clamp(min=1e-30)).float()


def forced(log_y_TV: Tensor, labels: list[int]) -> list[tuple[int, int]] | None:
    """The likeliest way: for each label its first frame, and the one behind its last. None if there are too few frames.

    >>> y_TV = torch.tensor([[0.9, 0.1], [0.1, 0.9], [0.2, 0.8], [0.9, 0.1]]).log()
    >>> forced(y_TV, [1])
    [(1, 3)]
    """
    labels_1U, count_1 = torch.tensor([labels], dtype=torch.long), torch.tensor([len(labels)])
    own_1TN, skip_1N, _ = _own(log_y_TV[None], labels_1U, count_1)
    best_TN = _forward(own_1TN, skip_1N, best=True)[0]
    states = best_TN.shape[1]
    state = states - 1 if states == 1 or best_TN[-1, -1] >= best_TN[-1, -2] else states - 2
    if torch.isinf(best_TN[-1, state]):
        return None
    path = [state]
    for t in range(len(best_TN) - 1, 0, -1):
        before = [state, *([state - 1] if state else []), *([state - 2] if bool(skip_1N[0, state]) else [])]
        state = max(before, key=lambda s: float(best_TN[t - 1, s]))
        path.append(state)
    path.reverse()
    found = []
    for number in range(len(labels)):
        at = [t for t, state in enumerate(path) if state == 2 * number + 1]
        found.append((at[0], at[-1] + 1))
    return found


def collapsed(path: list[int]) -> list[int]:
    """B: repeats taken together, then blanks taken out.

    >>> collapsed([0, 3, 3, 0, 3, 5, 0])
    [3, 3, 5]
    """
    return [label for t, label in enumerate(path) if label != BLANK and (t == 0 or path[t - 1] != label)]
