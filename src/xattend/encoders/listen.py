"""Listen (Chan et al. 2016): recurrent layers over frames of sound, each of the upper ones half as long as the one below.

    h_i^j = BiLSTM(h_{i-1}^j, [h_{2i}^{j-1} ; h_{2i+1}^{j-1}])         a pyramid: three such layers make eight frames one

With `halve = 0` it is a stack of bidirectional layers for vectors (Chorowski et al. 2015: three of GRUs). `front` puts convolutions over time
and bands before them, each of which halves both (Amodei et al. 2016). A last frame without a partner is paired with zeros.

>>> encoder = Listen(Space(features=(40,)), size=8, layers=1, halve=2)
>>> memory = encoder(Padded(torch.randn(2, 10, 40), torch.ones(2, 10).bool()))
>>> memory.states_BSD.shape  # ten frames, five pairs, three pairs of pairs
torch.Size([2, 3, 16])

Shape suffixes: B batch, S frames, D width, C channels, F bands.
"""

from __future__ import annotations

from typing import Annotated

import pydantic
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend.cells.stack import Stack
from xattend.encoders.base import Encoder
from xattend.errors import UserError
from xattend.layers.dropout import Dropout
from xattend.layers.order import turn
from xattend.registry import Named, register
from xattend.types import Memory, Padded, Space

Channels = Annotated[list[Annotated[int, pydantic.Field(ge=1)]], "channels of convolutions before the layers; each halves time and bands"]


class Front(nn.Module):
    """Convolutions of 3 x 3 with strides of 2: what stands in padding is zero to them, as what lies behind a sound's end."""

    def __init__(self, width: int, channels: list[int]) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv2d(before, after, 3, 2, 1) for before, after in zip([1, *channels], channels))
        for _ in channels:
            width = -(-width // 2)
        self.size = width * channels[-1]

    def forward(self, values_BSD: Tensor, mask_BS: Tensor) -> tuple[Tensor, Tensor]:
        map_BCSF = values_BSD[:, None]
        for convolution in self.convolutions:
            map_BCSF = F.relu(convolution(map_BCSF * mask_BS[:, None, :, None]))
            mask_BS = mask_BS[:, ::2]
        return map_BCSF.transpose(1, 2).flatten(2), mask_BS


def paired(states_BSD: Tensor, mask_BS: Tensor) -> tuple[Tensor, Tensor]:
    """Two frames side by side as one."""
    states_BSD = states_BSD * mask_BS[:, :, None]
    if states_BSD.shape[1] % 2:
        states_BSD, mask_BS = F.pad(states_BSD, (0, 0, 0, 1)), F.pad(mask_BS, (0, 1))
    batch, length, width = states_BSD.shape
    return states_BSD.reshape(batch, length // 2, 2 * width), mask_BS[:, ::2]


@register("encoder", "listen")
class Listen(Encoder):
    """Convolutions, layers, and layers on pairs: any of them may be left out."""

    reads = "vectors"

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of one direction's state; the memory is twice as wide"] = 128,
        cell: Annotated[str, Named("cell"), "the recurrent cell"] = "lstm",
        layers: Annotated[int, pydantic.Field(ge=0), "bidirectional layers on all frames"] = 1,
        halve: Annotated[int, pydantic.Field(ge=0, le=6), "bidirectional layers on top of them, each on pairs of what is below"] = 2,
        front: Channels = [],  # noqa: B006
        dropout: Annotated[float, "between layers and on the states"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        if layers + halve == 0:
            raise UserError("encoder 'listen' needs a layer: set 'layers' or 'halve'")
        self.size = 2 * size
        self.plain = layers
        self.front = Front(space.vector(), front) if front else None
        below = self.front.size if self.front is not None else space.vector()
        widths = []
        for level in range(layers + halve):
            widths.append(below * (2 if level >= layers else 1))
            below = 2 * size
        self.forwards = nn.ModuleList(Stack(cell, width, size) for width in widths)
        self.backwards = nn.ModuleList(Stack(cell, width, size) for width in widths)
        self.dropout = Dropout(dropout)

    def forward(self, source: Padded) -> Memory:
        states_BSD, mask_BS = source.values, source.mask_BS
        if self.front is not None:
            states_BSD, mask_BS = self.front(states_BSD, mask_BS)
        summary_BD = states_BSD[:, 0]
        for level, (there, back) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            assert isinstance(there, Stack)
            assert isinstance(back, Stack)
            if level >= self.plain:
                states_BSD, mask_BS = paired(states_BSD, mask_BS)
            lengths_B = mask_BS.sum(dim=1)
            inputs_BSD = self.dropout(states_BSD) if level else states_BSD
            right_BSD, _ = there.unroll(inputs_BSD, there.start(len(inputs_BSD)))
            left_BSD, _ = back.unroll(turn(inputs_BSD, lengths_B), back.start(len(inputs_BSD)))
            states_BSD = torch.cat([right_BSD, turn(left_BSD, lengths_B)], dim=-1) * mask_BS[:, :, None]
            last_B1D = (lengths_B - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, states_BSD.shape[-1] // 2)
            ends = [side_BSD.gather(1, last_B1D).squeeze(1) for side_BSD in (right_BSD, left_BSD)]
            summary_BD = torch.cat(ends, dim=-1) * (lengths_B > 0)[:, None]
        return Memory(self.dropout(states_BSD), mask_BS, summary_BD, (states_BSD.shape[1],))
