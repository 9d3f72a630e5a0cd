"""What was seen, and where, in one vector: RAM's glimpse network (Mnih et al. 2014, figure 1B).

    h_g = relu(W rho(x, l)),   h_l = relu(W l),   g = relu(W h_g + W h_l)

>>> from xattend.glimpses.retina import Retina
>>> from xattend.types import Space
>>> network = GlimpseNetwork(Retina(Space(features=(1, 8, 8)), size=4), 16, 32)
>>> network(torch.rand(2, 16), torch.zeros(2, 2)).shape
torch.Size([2, 32])
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from xattend.glimpses.base import Glimpse


class GlimpseNetwork(nn.Module):
    """`inner` is the width of h_g and of h_l. A glimpse that has one place only has no h_l."""

    def __init__(self, glimpse: Glimpse, inner: int, size: int) -> None:
        super().__init__()
        self.what = nn.Linear(glimpse.size, inner)
        self.where = nn.Linear(glimpse.numbers, inner) if glimpse.numbers else None
        # W h_g + W h_l is one product with both, side by side
        self.both = nn.Linear(inner if self.where is None else 2 * inner, size)
        for layer in (self.what, self.where, self.both):
            if layer is not None:
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                nn.init.zeros_(layer.bias)

    def forward(self, patch_NR: Tensor, where_NP: Tensor) -> Tensor:
        seen_ND = self.what(patch_NR)
        if self.where is not None:
            seen_ND = torch.cat([seen_ND, self.where(where_NP)], dim=1)
        glimpse_ND: Tensor = self.both(seen_ND.relu()).relu()
        return glimpse_ND
