"""Fully connected layers over a whole picture, on request behind one convolution: the networks that RAM is compared with.

    h_1 = relu(W x + b), h_2 = relu(W h_1 + b), ...               Mnih et al. 2014, table 1: "FC", two layers of 64 or 256 units
    filters = 8, filter = 10, stride = 5, widths = [256]          the same table: "convolutional"

A picture has one state, which is the memory's summary as well; of a film every frame has one.

>>> import torch
>>> encoder = Dense(Space(features=(1, 8, 8)), widths=[16, 4])
>>> memory = encoder(Padded(torch.rand(2, 1, 1, 8, 8), torch.ones(2, 1).bool()))
>>> memory.states_BSD.shape, memory.grid
(torch.Size([2, 1, 4]), (1,))
"""

from __future__ import annotations

from typing import Annotated

import pydantic
from torch import nn

from xattend.encoders.base import Encoder, masked_mean
from xattend.errors import UserError
from xattend.layers.dropout import Dropout
from xattend.registry import register
from xattend.types import Memory, Padded, Space

Positive = Annotated[int, pydantic.Field(ge=1)]


@register("encoder", "dense")
class Dense(Encoder):
    """Rectified layers, every unit of which sees the whole picture."""

    reads = "frames"

    def __init__(
        self, space: Space, *,
        widths: Annotated[list[Positive], pydantic.Field(min_length=1), "units of each layer"] = [256, 256],  # noqa: B006
        filters: Annotated[int, pydantic.Field(ge=0), "channels of a convolution before them; 0: none"] = 0,
        filter: Annotated[Positive, "its width in pixels"] = 10,
        stride: Annotated[Positive, "pixels between its places"] = 5,
        dropout: Annotated[float, "behind each layer"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        channels, height, width = space.frames()
        layers: list[nn.Module] = []
        if filters:
            if filter > min(height, width):
                raise UserError(f"encoder.filter = {filter} is wider than the picture of {height} x {width}")
            layers += [nn.Conv2d(channels, filters, filter, stride), nn.ReLU()]
            channels, height, width = filters, (height - filter) // stride + 1, (width - filter) // stride + 1
        layers.append(nn.Flatten())
        for before, after in zip([channels * height * width, *widths], widths):
            layers += [nn.Linear(before, after), nn.ReLU(), Dropout(dropout)]
        self.layers = nn.Sequential(*layers)
        self.size = widths[-1]
        for layer in layers:
            if isinstance(layer, (nn.Linear, nn.Conv2d)):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                assert layer.bias is not None
                nn.init.zeros_(layer.bias)

    def forward(self, source: Padded) -> Memory:
        batch, frames = source.mask_BS.shape
        states_BSD = self.layers(source.values.flatten(0, 1)).view(batch, frames, self.size)
        return Memory(states_BSD, source.mask_BS, masked_mean(states_BSD, source.mask_BS), (frames,))
