"""Allocation (Graves et al. 2016): the emptiest slot, to be written.

    a[phi_j] = (1 - u[phi_j]) prod_{i<j} u[phi_i],   phi: slots from the least used on
    w = g_w (g_a a + (1 - g_a) w_found)

g_a says whether to write to the emptiest slot or to the slots found, g_w whether to write at all. The order phi is taken as fixed: it has no
gradient. Usage is kept a little above 0, so that the products have one.

>>> allocation(torch.tensor([[0.5, 0.0, 1.0]])).round(decimals=3).tolist()
[[0.0, 1.0, 0.0]]
>>> allocation(torch.tensor([[0.5, 0.2, 1.0]])).mul(100).round().tolist()  # .8 at the emptiest, .2 x .5 at the next
[[10.0, 80.0, 0.0]]
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.addressing.base import Addressing, PartState, Seen
from xattend.registry import register

SMALL = 1e-6


def allocation(usage_BN: Tensor) -> Tensor:
    """allocation_BN."""
    sorted_BN, order_BN = (SMALL + (1 - SMALL) * usage_BN).sort(dim=-1)
    before_BN = torch.cat([torch.ones_like(sorted_BN[:, :1]), sorted_BN[:, :-1].cumprod(dim=-1)], dim=-1)
    return torch.zeros_like(usage_BN).scatter(-1, order_BN, (1 - sorted_BN) * before_BN)


@register("addressing", "allocation")
class Allocation(Addressing):
    """The emptiest slot or the slots found, or neither."""

    needs, one_write, group = ("usage",), True, "write"
    numbers = 2

    def forward(self, numbers_BHP: Tensor, weights_BHN: Tensor, seen: Seen, state: PartState) -> tuple[Tensor, PartState]:
        gates_BHP = torch.sigmoid(numbers_BHP)
        empty_B1N = allocation(state["usage"])[:, None]
        return gates_BHP[..., 1:] * torch.lerp(weights_BHN, empty_B1N, gates_BHP[..., :1]), state
