"""Films as a memory of one state a frame: what is seen in it, how it moves, or both (Venugopalan et al. 2015, Yao et al. 2015).

frames        a convolutional network over each frame by itself        v_t = W pool(cnn(x_t)) + b
clip          convolutions over space and time, which see motion       m_t = W max_places(cnn3d(x)_t) + b
frames+clip   both, side by side at each frame                         [v_t ; m_t]

The summary is the mean of the states, so with attention `every-step` or `none` a film is its mean frame (Venugopalan et al.); any other
attention looks at frames anew before every word (Yao et al.). `positions` says when a frame comes; without them attention cannot tell early
from late. `recurrent` runs over the frames, forwards, and its states are the memory.

A 3-D convolution sees a frame, the one before it and the one behind it; blocks on top of each other see further. Frames that are padding
are zeros to it, as what lies before the film and behind it is, and channels are normalised in groups, a frame at a time. So what a film
becomes depends neither on padding nor on its batch.

>>> encoder = FramesAndClip(Space(features=(1, 16, 16)), size=4, widths=[8, 8], clip_widths=[8])
>>> memory = encoder(Padded(torch.rand(2, 5, 1, 16, 16), torch.ones(2, 5).bool()))
>>> memory.states_BSD.shape, memory.grid
(torch.Size([2, 5, 8]), (5,))

Shape suffixes: B batch, S frames, N = B x S, C channels, H height, W width, D width of a state.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import pydantic
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend.cells.stack import Stack
from xattend.encoders.base import Encoder, masked_mean
from xattend.layers.dropout import Dropout
from xattend.layers.positions import Positions
from xattend.registry import register
from xattend.types import Memory, Padded, Space

GROUP = 8  # channels that are normalised together
Positive = Annotated[int, pydantic.Field(ge=1)]
Widths = Annotated[list[Positive], pydantic.Field(min_length=1), "channels of each block; each halves height and width"]
Pool = Literal["max", "none"]
When = Literal["none", "sinusoidal"]


class _Block(nn.Module):
    """relu(norm(K * x)), half as high and wide. `time` frames are seen at once."""

    def __init__(self, before: int, width: int, time: int, dropout: float) -> None:
        super().__init__()
        self.time = time
        # with a norm behind it a bias would have no effect: the norm has its own
        self.convolution: nn.Conv2d | nn.Conv3d = (
            nn.Conv2d(before, width, 3, 2, 1, bias=False) if time == 1
            else nn.Conv3d(before, width, (time, 3, 3), (1, 2, 2), (time // 2, 1, 1), bias=False)
        )  # fmt: skip
        nn.init.kaiming_normal_(self.convolution.weight, nonlinearity="relu")
        self.norm = nn.GroupNorm(math.gcd(width, max(1, width // GROUP)), width)
        self.dropout = Dropout(dropout)

    def forward(self, map_NCHW: Tensor, mask_BS: Tensor) -> Tensor:
        if self.time == 1:
            map_NCHW = self.convolution(map_NCHW)
        else:
            # frames that are padding look as the nothing around a film does
            map_BSCHW = (map_NCHW * mask_BS.reshape(-1, 1, 1, 1)).view(*mask_BS.shape, *map_NCHW.shape[1:])
            map_NCHW = self.convolution(map_BSCHW.transpose(1, 2)).transpose(1, 2).flatten(0, 1)
        normed_NCHW: Tensor = self.dropout(F.relu(self.norm(map_NCHW)))
        return normed_NCHW


class _Network(nn.Module):
    """A film's frames to vectors, one a frame: [B, S, D]."""

    def __init__(self, space: Space, size: int, widths: list[int], time: int, pool: Pool, dropout: float) -> None:
        super().__init__()
        channels, height, width = space.frames()
        self.blocks = nn.ModuleList(_Block(before, after, time, dropout) for before, after in zip([channels, *widths], widths))
        places = -(-height // 2 ** len(widths)) * -(-width // 2 ** len(widths))
        self.pool = pool
        self.project = nn.Linear(widths[-1] * (places if pool == "none" else 1), size)

    def forward(self, source: Padded) -> Tensor:
        # centred: shares of 255 are all positive
        map_NCHW = source.values.flatten(0, 1).contiguous(memory_format=torch.channels_last) * 2 - 1
        for block in self.blocks:
            map_NCHW = block(map_NCHW, source.mask_BS)
        seen_ND = map_NCHW.flatten(1) if self.pool == "none" else map_NCHW.amax(dim=(2, 3))
        states_ND: Tensor = self.project(seen_ND)
        return states_ND.view(*source.mask_BS.shape, -1)


class _Film(Encoder):
    """What all three share: networks side by side, when each frame comes, a pass over time."""

    reads = "frames"

    def __init__(self, networks: list[_Network], positions: When, recurrent: bool, dropout: float) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)
        self.size = sum(network.project.out_features for network in networks)
        self.positions = Positions(positions, self.size, 0)
        self.stack = Stack("gru", self.size, self.size) if recurrent else None
        self.dropout = Dropout(dropout)

    def forward(self, source: Padded) -> Memory:
        states_BSD = torch.cat([network(source) for network in self.networks], dim=-1)
        if self.stack is not None:
            states_BSD, _ = self.stack.unroll(states_BSD, self.stack.start(len(states_BSD)), None)
        summary_BD = masked_mean(states_BSD, source.mask_BS)
        frames = states_BSD.shape[1]
        states_BSD = states_BSD + self.positions(0, frames, states_BSD)
        return Memory(self.dropout(states_BSD), source.mask_BS, self.dropout(summary_BD), (frames,))


@register("encoder", "frames")
class Frames(_Film):
    """Each frame by itself."""

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of the states"] = 128,
        widths: Widths = [16, 32, 64, 64],  # noqa: B006
        pool: Annotated[Pool, "how a frame's places become one vector: the largest of each channel, or all side by side"] = "max",
        positions: Annotated[When, "when a frame comes, added to its state"] = "sinusoidal",
        recurrent: Annotated[bool, "a recurrent pass over the frames"] = False,
        dropout: Annotated[float, "behind each block, on the states and on their mean"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__([_Network(space, size, widths, 1, pool, dropout)], positions, recurrent, dropout)


@register("encoder", "clip")
class Clip(_Film):
    """3-D convolutions."""

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of the states"] = 128,
        widths: Widths = [8, 16, 32],  # noqa: B006
        positions: Annotated[When, "when a frame comes, added to its state"] = "sinusoidal",
        recurrent: Annotated[bool, "a recurrent pass over the frames"] = False,
        dropout: Annotated[float, "behind each block, on the states and on their mean"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__([_Network(space, size, widths, 3, "max", dropout)], positions, recurrent, dropout)


@register("encoder", "frames+clip")
class FramesAndClip(_Film):
    """Both: what is seen and how it moves."""

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of each of the two; the memory is twice as wide"] = 128,
        widths: Widths = [16, 32, 64, 64],  # noqa: B006
        clip_widths: Widths = [8, 16, 32],  # noqa: B006
        pool: Annotated[Pool, "how a frame's places become one vector: the largest of each channel, or all side by side"] = "max",
        positions: Annotated[When, "when a frame comes, added to its state"] = "sinusoidal",
        recurrent: Annotated[bool, "a recurrent pass over the frames"] = False,
        dropout: Annotated[float, "behind each block, on the states and on their mean"] = 0.0,
    ) -> None:  # fmt: skip
        networks = [_Network(space, size, widths, 1, pool, dropout), _Network(space, size, clip_widths, 3, "max", dropout)]
        super().__init__(networks, positions, recurrent, dropout)
