"""Usage (Graves et al. 2016): how full each slot is. Writing fills a slot; a read head can say that what it has read may go.

    psi = prod_r (1 - f_r w_r),   u = (u + w_w - u w_w) psi,   f_r = sigmoid

f is the free gate of each read head, w_r and w_w where it read and where was written at the step before.

>>> u_BN, written_BN, read_BRN = torch.tensor([[0.5, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([[[1.0, 0.0]]])
>>> usage(u_BN, written_BN, read_BRN, torch.tensor([[0.8]])).mul(100).round().tolist()
[[10.0, 100.0]]
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.addressing.base import Addressing, PartState, Seen
from xattend.registry import register


def usage(usage_BN: Tensor, write_BN: Tensor, reads_BRN: Tensor, free_BR: Tensor) -> Tensor:
    """The usage now."""
    kept_BN = (1 - free_BR[:, :, None] * reads_BRN).prod(dim=1) if reads_BRN.shape[1] > 1 else 1 - free_BR * reads_BRN[:, 0]
    return (usage_BN + write_BN - usage_BN * write_BN) * kept_BN


@register("addressing", "usage")
class Usage(Addressing):
    """Keeps `usage` for the parts after it; the weights go through as they are."""

    one_write, group = True, "write"

    def __init__(self, width: int, heads: int, reads: int) -> None:
        super().__init__(width, heads, reads)
        self.numbers = reads  # a free gate each

    def start(self, batch: int, slots: int, like: Tensor) -> PartState:
        return {"usage": like.new_zeros(batch, slots)}

    def forward(self, numbers_BHP: Tensor, weights_BHN: Tensor, seen: Seen, state: PartState) -> tuple[Tensor, PartState]:
        now_BN = usage(state["usage"], seen.writes_BWN[:, 0], seen.reads_BRN, torch.sigmoid(numbers_BHP[:, 0]))
        return weights_BHN, {**state, "usage": now_BN}
