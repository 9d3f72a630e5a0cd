"""CTC's loss of a batch of targets, by torch's kernel, which has a gradient; lattices/ctc.py is the plain way.

>>> y_BSV = torch.full((1, 2, 6), 1 / 6).log()
>>> target = Padded(torch.tensor([[2, 4, 4, 3]]), torch.ones(1, 4).bool())  # a repeated label needs three frames
>>> ctc_loss(y_BSV, torch.ones(1, 2).bool(), target)[1]
1

Shape suffixes: B batch, S frames, V vocabulary, U labels.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.lattices.ctc import BLANK
from xattend.types import Padded


def labels_of(target: Padded) -> tuple[Tensor, Tensor]:
    """The labels of each target, without its marks, and how many: labels_BU, count_B."""
    count_B = target.lengths_B - 2
    labels_BU = target.values[:, 1:-1]
    real_BU = torch.arange(labels_BU.shape[1], device=labels_BU.device) < count_B[:, None]
    return labels_BU * real_BU, count_B


def ctc_loss(log_y_BSV: Tensor, mask_BS: Tensor, target: Padded) -> tuple[Tensor, int]:
    """-log p of every row that has a probability, summed, and how many rows have none."""
    labels_BU, count_B = labels_of(target)
    nll_B = F.ctc_loss(log_y_BSV.transpose(0, 1), labels_BU, mask_BS.sum(dim=1), count_B, blank=BLANK, reduction="none", zero_infinity=False)
    possible_B = torch.isfinite(nll_B.detach()) & (nll_B.detach() < 1e6)
    if bool(possible_B.all()):
        return nll_B.sum(), 0
    # torch's gradient of an infinite loss is not a number, and stays so however it is weighted: those rows are taken out before
    if not bool(possible_B.any()):
        return (log_y_BSV * 0).sum(), len(nll_B)
    kept = F.ctc_loss(
        log_y_BSV[possible_B].transpose(0, 1), labels_BU[possible_B], mask_BS[possible_B].sum(dim=1), count_B[possible_B], blank=BLANK, reduction="sum",
    )  # fmt: skip
    return kept, int((~possible_B).sum())
