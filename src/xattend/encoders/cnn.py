"""A small convolutional network over pixels, trained with the rest of the model: places of a picture become the memory.

Each block looks 3 x 3 places wide, `depth` times, the first time with a stride that makes the grid coarser:

    m <- relu(norm(K * m))        state_i = W m_i + b        summary = the mean of the states

A picture of 64 x 64 with strides 2, 2, 2 has 8 x 8 places; a stride may be [2, 1], rows before columns, to keep a line of text wide.
`contrast = "even"` takes from each channel of a picture its median, which is the ground's, and divides by the standard deviation of the pixels:
light letters and faint ones look alike then, and are learnt sooner; `"ink"` also turns pictures over whose ink is darker than the ground. `norm`
normalises groups of channels of one picture (Wu and He 2018), so that what a picture becomes never depends on which others share its batch. But
the mean that it takes from a group is taken from the empty ground, too, which so comes to tell what lies elsewhere, and an attention may learn
to look there; `norm = "scale"` divides alone. A 3 x 3 window with a stride of 2 has its middle over the first of the two pixels of a place, and
with three of them what place i sees has its middle at pixel 8 i instead of 8 i + 3.5: a look is drawn half a place away from what was seen.
`fields = "centred"` pads some of them otherwise, which leaves half a pixel. `figure` leaves places out that show the ground alone, so that looks
are divided among things from the first update on. `rows = "pool"` keeps the largest value of each column, so that a picture is a line of places,
as a line of text is to a reader without an eye for curves. `summary` is by default the mean of the states, in which little is left of a thing
that covers few places; `"largest"` is a layer on the largest value of each channel, `"columns"` the last state of an LSTM over the largest
values of each column, which reads a picture from the left before anything is looked at (Li et al. 2019). Of a film every frame is read by
itself, and the grid is (frames, h, w).

>>> encoder = CNN(Space(features=(3, 16, 16)), size=4, widths=[8, 8], strides=[2, 2])
>>> memory = encoder(Padded(torch.rand(2, 1, 3, 16, 16), torch.ones(2, 1).bool()))
>>> memory.states_BSD.shape, memory.grid
(torch.Size([2, 16, 4]), (4, 4))
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Annotated, Literal

import pydantic
import torch
from torch import Tensor, nn

from xattend.cells.stack import Stack
from xattend.encoders.base import Encoder, masked_mean
from xattend.errors import UserError
from xattend.layers import places
from xattend.layers.dropout import Dropout
from xattend.layers.ground import Contrast, contrasted, figures
from xattend.layers.scale_norm import ScaleNorm
from xattend.registry import register
from xattend.types import Memory, Padded, Space

GROUP = 8  # channels that are normalised together
Positive = Annotated[int, pydantic.Field(ge=1)]
Norm = Literal["group", "scale", "none"]
Fields = Literal["corner", "centred"]
Stride = Positive | Annotated[list[Positive], pydantic.Field(min_length=2, max_length=2)]


def _leading(strides: Sequence[int]) -> list[int]:
    """How much each 3 x 3 convolution with a stride is padded before the first pixel, 1 or 0, so that places lie over what they see.

    A window padded by p has its middle at pixel stride i + 1 - p of the map before it, and place i has its own at stride i + (stride - 1) / 2: half a place too
    early for p = 1 and a stride of 2, half a place too late for p = 0. Of all choices the one where these add up to the least.

    >>> _leading([2, 2, 2]), _leading([2, 1])
    ([1, 1, 0], [1, 1])
    """

    def off(padded: Iterable[int]) -> float:
        total, pixels = 0.0, 1
        for stride, before in zip(strides, padded, strict=True):
            total += pixels * (1 - before - (stride - 1) / 2)
            pixels *= stride
        return abs(total)

    return list(min(product((1, 0), repeat=len(strides)), key=off))


class _Block(nn.Sequential):
    """3 x 3 convolutions of one width, the first with a stride, and padded so much above and on the left."""

    def __init__(self, before: int, width: int, stride: tuple[int, int], leading: tuple[int, int], depth: int, norm: Norm, dropout: float) -> None:
        top, left = leading
        layers: list[nn.Module] = [] if leading == (1, 1) else [nn.ZeroPad2d((left, 2 - left, top, 2 - top))]
        for number in range(depth):
            bias = norm == "none"  # with a norm behind it a bias would have no effect: the norm has its own
            layers.append(nn.Conv2d(width if number else before, width, 3, 1 if number else stride, 1 if number or not layers else 0, bias=bias))
            if norm != "none":
                kind = nn.GroupNorm if norm == "group" else ScaleNorm
                layers.append(kind(math.gcd(width, max(1, width // GROUP)), width))
            layers.append(nn.ReLU())
        super().__init__(*layers, Dropout(dropout))
        for layer in layers:
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")


@register("encoder", "cnn")
class CNN(Encoder):
    """3 x 3 convolutions from pixels to a grid of states."""

    reads = "frames"

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of the states"] = 256,
        widths: Annotated[list[Positive], pydantic.Field(min_length=1), "channels of each block"] = [32, 64, 128],  # noqa: B006
        strides: Annotated[list[Stride], "of each block: one number, or [rows, columns]"] = [2, 2, 2],  # noqa: B006
        depth: Annotated[Positive | list[Positive], "convolutions a block: one number, or one for each"] = 1,
        norm: Annotated[Norm, "what is done to groups of channels of a picture: mean 0 and variance 1, mean square 1, or nothing"] = "group",
        fields: Annotated[Fields, "where windows with a stride lie: their middle over the first pixel of a place, or so that what a place sees lies around it"] = "corner",
        rows: Annotated[Literal["keep", "pool"], "keep both axes, or pool the height away"] = "keep",
        contrast: Annotated[
            Contrast, "pixels as they are; less their channel's median and by the picture's standard deviation; or that, and light ink as dark ink"
        ] = "kept",
        figure: Annotated[
            float, pydantic.Field(ge=0, le=1), "places are looked at if so much of them is figure and not ground (with contrast even or ink); 0: all are"
        ] = 0.0,
        summary: Annotated[
            Literal["mean", "largest", "columns"],
            "of the whole picture: the mean of the states, a layer on the largest value of each channel, or an LSTM over the largest of each column",
        ] = "mean",
        positions: Annotated[places.Kind, "where a place lies, added to its state"] = "none",
        dropout: Annotated[float, "behind each block and on the states"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        if len(widths) != len(strides):
            raise UserError(f"encoder.widths has {len(widths)} blocks and encoder.strides {len(strides)}: give one stride a block")
        depths = [depth] * len(widths) if isinstance(depth, int) else depth
        if len(widths) != len(depths):
            raise UserError(f"encoder.widths has {len(widths)} blocks and encoder.depth {len(depths)}: give one number a block, or one for all")
        channels, height, width = space.frames()
        steps = [(given, given) if isinstance(given, int) else (given[0], given[1]) for given in strides]
        above, left = (_leading(of) if fields == "centred" else [1] * len(of) for of in zip(*steps))
        blocks: list[nn.Module] = []
        for before, after, step, *leading, deep in zip([channels, *widths], widths, steps, above, left, depths):
            blocks.append(_Block(before, after, step, (leading[0], leading[1]), deep, norm, dropout))
            height, width = -(-height // step[0]), -(-width // step[1])
        self.size = size
        if figure and contrast == "kept":
            raise UserError("encoder.figure needs to know the ground: set encoder.contrast = \"even\" or \"ink\"")
        self.rows, self.contrast, self.figure = rows, contrast, figure
        self.grid = (1 if rows == "pool" else height, width)
        self.blocks = nn.Sequential(*blocks)
        self.project = nn.Linear(widths[-1], size)
        self.places = places.Places(positions, self.grid, size)
        self.reader = Stack("lstm", widths[-1], size) if summary == "columns" else None
        self.whole = nn.Linear(widths[-1], size) if summary == "largest" else None
        self.dropout = Dropout(dropout)

    def forward(self, source: Padded) -> Memory:
        batch, frames = source.mask_BS.shape
        pixels_NCHW = contrasted(source.values.flatten(0, 1), self.contrast)
        map_NCHW: Tensor = self.blocks(pixels_NCHW.contiguous(memory_format=torch.channels_last))
        if self.rows == "pool":
            map_NCHW = map_NCHW.amax(dim=2, keepdim=True)
        states_BSD = self.places(self.project(map_NCHW.flatten(2).transpose(1, 2)).reshape(batch, -1, self.size))
        mask_BS = source.mask_BS.repeat_interleave(self.grid[0] * self.grid[1], dim=1)
        if self.figure:
            mask_BS = mask_BS & figures(pixels_NCHW, self.grid, self.figure).view_as(mask_BS)
        summary_BD = self._summary(states_BSD, mask_BS, map_NCHW, source.mask_BS)
        grid = self.grid if frames == 1 else (frames, *self.grid)
        return Memory(self.dropout(states_BSD), mask_BS, self.dropout(summary_BD), grid)

    def _summary(self, states_BSD: Tensor, mask_BS: Tensor, map_NCHW: Tensor, frames_BF: Tensor) -> Tensor:
        """Of the whole picture; of a film, the mean over its frames."""
        if self.whole is not None:
            seen_ND: Tensor = self.whole(map_NCHW.amax(dim=(2, 3)))
        elif self.reader is not None:  # what is known at the right edge
            seen_ND = self.reader.unroll(map_NCHW.amax(dim=2).transpose(1, 2), self.reader.start(len(map_NCHW)))[0][:, -1]
        else:
            return masked_mean(states_BSD, mask_BS)
        return masked_mean(seen_ND.view(*frames_BF.shape, self.size), frames_BF)
