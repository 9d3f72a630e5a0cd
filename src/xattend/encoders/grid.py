"""Features of a frozen network as the memory: each place's vector, brought to the model's width (Xu et al. 2015, section 3.1.1).

    state_i = W a_i + b        summary = the mean of the states = W (1/S sum_i a_i) + b

The annotation vectors a_i come from a backbone through the data (field `image` with `backbone`), computed once before training.

>>> import torch
>>> encoder = Grid(Space(features=(6,), grid=(2, 2)), size=4)
>>> memory = encoder(Padded(torch.rand(3, 4, 6), torch.ones(3, 4).bool()))
>>> memory.states_BSD.shape, memory.grid
(torch.Size([3, 4, 4]), (2, 2))
"""

from __future__ import annotations

from typing import Annotated, Literal

from torch import nn

from xattend.encoders.base import Encoder, masked_mean
from xattend.layers import places
from xattend.layers.dropout import Dropout
from xattend.registry import register
from xattend.types import Memory, Padded, Space


@register("encoder", "grid")
class Grid(Encoder):
    """A linear layer over a picture's features."""

    reads = "vectors"

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of the states"] = 512,
        positions: Annotated[places.Kind, "where a place lies, added to its state"] = "none",
        norm: Annotated[Literal["none", "layer"], "layer: a place's features have mean 0 and variance 1 first; for those that no activation has bounded"] = "none",
        pool: Annotated[bool, "keep the mean of the places alone: all that a decoder without attention reads"] = False,
        dropout: Annotated[float, "on the states and on their mean"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.size, self.pool = size, pool
        self.grid = (1, 1) if pool else space.grid
        self.norm = nn.LayerNorm(space.vector(), elementwise_affine=False) if norm == "layer" else nn.Identity()
        self.project = nn.Linear(space.vector(), size)
        self.places = places.Places(positions, self.grid, size)
        self.dropout = Dropout(dropout)

    def forward(self, source: Padded) -> Memory:
        values_BSF, mask_BS = self.norm(source.values), source.mask_BS
        if self.pool:
            values_BSF, mask_BS = masked_mean(values_BSF, mask_BS)[:, None], mask_BS[:, :1]
        states_BSD = self.places(self.project(values_BSF))
        summary_BD = self.dropout(masked_mean(states_BSD, mask_BS))
        return Memory(self.dropout(states_BSD), mask_BS, summary_BD, self.grid or (states_BSD.shape[1],))
