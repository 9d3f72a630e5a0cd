"""The RNN transducer (Graves 2012): what CTC becomes when a label depends on those before it.

    p(k | t, u) = softmax(joint(h_t, g_u))            h: the encoder at frame t; g: a network that has read the first u labels; k = blank: go on in time
    a(t, u)     = a(t-1, u) p(blank | t-1, u) + a(t, u-1) p(y_u | t, u-1)
    p(y | x)    = a(T-1, U) p(blank | T-1, U)

A column a(., u) is a linear recurrence in t, so logcumsumexp solves it: with C_t = sum_{s<t} log p(blank | s, u),
log a(t, u) = C_t + logcumsumexp_t(log a(., u-1) + log p(y_u | ., u-1) - C). The loss loops over labels alone.

>>> log_blank_BTU, log_label_BTU = torch.full((1, 2, 2), 0.5).log(), torch.full((1, 2, 1), 0.5).log()
>>> p = log_probability(log_blank_BTU, log_label_BTU, torch.tensor([2]), torch.tensor([1])).exp()  # said at frame 0 or 1: 2 x .5^3
>>> round(float(p), 4)
0.25

Shape suffixes: B batch, T frames, U labels.
"""

from __future__ import annotations

import torch
from torch import Tensor


def column(log_blank_BT: Tensor, log_in_BT: Tensor | None) -> Tensor:
    """log a(., u): from the blanks of column u and what comes in from column u - 1; None for the first, which comes in at frame 0."""
    passed_BT = log_blank_BT.cumsum(dim=1) - log_blank_BT
    return passed_BT if log_in_BT is None else passed_BT + torch.logcumsumexp(log_in_BT - passed_BT, dim=1)


def columns(log_blank_BTU: Tensor, log_label_BTU: Tensor) -> Tensor:
    """log a_BTU of all U + 1 columns."""
    found = [column(log_blank_BTU[:, :, 0], None)]
    for u in range(1, log_blank_BTU.shape[2]):
        found.append(column(log_blank_BTU[:, :, u], found[-1] + log_label_BTU[:, :, u - 1]))
    return torch.stack(found, dim=2)


def log_probability(log_blank_BTU: Tensor, log_label_BTU: Tensor, frames_B: Tensor, labels_B: Tensor) -> Tensor:
    """log p(y | x) of each row, with its gradient.

    log_blank_BTU   of going on from each frame, having said u labels: U + 1 columns
    log_label_BTU   of saying label u + 1 there: U columns
    """
    a_BTU = columns(log_blank_BTU.double(), log_label_BTU.double())
    rows_B = torch.arange(len(a_BTU), device=a_BTU.device)
    return a_BTU[rows_B, frames_B - 1, labels_B] + log_blank_BTU.double()[rows_B, frames_B - 1, labels_B]


def emitted(log_blank_BTU: Tensor, log_label_BTU: Tensor, frames_B: Tensor, labels_B: Tensor) -> Tensor:
    """When each label is said: the posterior over frames, rows sum to one: weights_BUT. It is the gradient of log p with respect to log p(y_u | t, u)."""
    with torch.enable_grad():
        log_label_BTU = log_label_BTU.detach().double().requires_grad_()
        total = log_probability(log_blank_BTU.detach(), log_label_BTU, frames_B, labels_B).sum()
        (found_BTU,) = torch.autograd.grad(total, log_label_BTU)
    return found_BTU.transpose(1, 2).float()
