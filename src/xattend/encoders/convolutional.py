"""Convolutions over the source: gated layers that keep a state a position, and a pyramid that reduces them to one vector.

States, for attention (Gehring et al. 2017, without their positions and weight normalisation): each layer looks `width` positions wide,

    [a_j ; b_j] = W [h_{j-r} ; ... ; h_{j+r}] + c,   r = (width - 1) / 2        h_j <- (h_j + a_j * sigmoid(b_j)) sqrt(1/2)

and what lies outside the sentence is zero. With `layers = 0` the states are the word vectors themselves.

Summary, for decoders without attention (the sentence model of RCTM I, Kalchbrenner and Blunsom 2013): kernels of growing
width, one weight a feature and place, are slid over the states, so that each level has fewer columns, until one is left:

    E^1_j = h_j        E^i_j = tanh(sum_{k<i} K^i_k * E^{i-1}_{j+k}),   i = 2, 3, ..., widest, widest, ...

A sentence that has n columns left, fewer than the next kernel is wide, is finished by a kernel of its own width, L^n.
The paper takes the widest kernel from the longest sentence N, about sqrt(2 N); here `widest` is a setting, and a longer
sentence meets the last kernel again and again. So `layers = 0` with attention `every-step` or `none` is RCTM's encoder.

>>> encoder = Convolutional(Space(vocabulary=10), size=4, layers=2)
>>> memory = encoder(Padded(torch.ones(2, 7, dtype=torch.long), torch.ones(2, 7).bool()))
>>> memory.states_BSD.shape, memory.summary_BD.shape
(torch.Size([2, 7, 4]), torch.Size([2, 4]))
"""

from __future__ import annotations

import math
from typing import Annotated

import pydantic
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend.encoders.base import Encoder, symbol_embedding
from xattend.errors import UserError
from xattend.layers.dropout import Dropout
from xattend.registry import register
from xattend.types import Memory, Padded, Space


class _Gated(nn.Module):
    """One gated layer with its shortcut. (A product with windows laid out side by side: on a CPU nn.Conv1d takes 1.7 times as long.)"""

    def __init__(self, size: int, width: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.weigh = nn.Linear(width * size, 2 * size)
        self.dropout = Dropout(dropout)
        # keeps the variance through the gate (Gehring et al. 2017)
        nn.init.normal_(self.weigh.weight, std=math.sqrt(4 * (1 - dropout) / (width * size)))
        nn.init.zeros_(self.weigh.bias)

    def forward(self, h_BSD: Tensor, mask_BS1: Tensor) -> Tensor:
        beyond = self.width // 2
        seen_BSD = F.pad(self.dropout(h_BSD) * mask_BS1, (0, 0, beyond, beyond))
        return (h_BSD + F.glu(self.weigh(torch.cat(_windows(seen_BSD, self.width), dim=-1)), dim=-1)) * math.sqrt(0.5)


class Pyramid(nn.Module):
    """Columns of a sentence, reduced to one. Shape suffix W: columns that one kernel sees."""

    def __init__(self, size: int, widest: int) -> None:
        super().__init__()
        self.kernels = nn.ParameterList([_kernel(width, size) for width in range(2, widest + 1)])  # K^2 ... K^widest
        self.tops = nn.ParameterList([_kernel(width, size) for width in range(2, widest)])  # L^2 ... L^(widest - 1)

    def forward(self, columns_BSD: Tensor, lengths_B: Tensor) -> Tensor:
        left_B, level = lengths_B.clamp(min=1), 0
        # rows with fewer columns than the kernel is wide wait for their top, and what lies right of a row's columns is never read
        while int(left_B.max()) >= len(kernel_WD := self.kernels[min(level, len(self.kernels) - 1)]):
            width, level = len(kernel_WD), level + 1
            slid_BSD = torch.tanh(sum(weight_D * seen for weight_D, seen in zip(kernel_WD, _windows(columns_BSD, width), strict=True)))
            keep = max(slid_BSD.shape[1], width - 1)
            slides_B = left_B >= width
            columns_BSD = torch.where(slides_B[:, None, None], _widened(slid_BSD, keep), _widened(columns_BSD, keep))
            left_B = torch.where(slides_B, left_B - width + 1, left_B)
        summary_BD = columns_BSD[:, 0]
        for top_WD in self.tops[: columns_BSD.shape[1] - 1]:
            width = len(top_WD)
            finished_BD = torch.tanh((top_WD * columns_BSD[:, :width]).sum(dim=1))
            summary_BD = torch.where((left_B == width)[:, None], finished_BD, summary_BD)
        return summary_BD


def _kernel(width: int, size: int) -> nn.Parameter:
    """Weights that keep the variance of what they read."""
    return nn.Parameter(torch.empty(width, size).uniform_(-1, 1) * math.sqrt(3 / width))


def _windows(columns_BSD: Tensor, width: int) -> list[Tensor]:
    """Every column that has `width - 1` columns on its right, then its first neighbour on the right, and so on."""
    places = columns_BSD.shape[1] - width + 1
    return [columns_BSD[:, place : place + places] for place in range(width)]


def _widened(columns_BSD: Tensor, columns: int) -> Tensor:
    """So many columns: cut off, or zeros put on at the right."""
    return F.pad(columns_BSD, (0, 0, 0, columns - columns_BSD.shape[1]))


@register("encoder", "conv")
class Convolutional(Encoder):
    """Gated convolutions for the states, a pyramid of convolutions for the summary."""

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of word vectors, states and summary"] = 256,
        layers: Annotated[int, pydantic.Field(ge=0), "gated layers; 0 leaves the word vectors as states (RCTM)"] = 4,
        width: Annotated[int, pydantic.Field(ge=1), "positions that a gated layer sees at once, an odd number"] = 3,
        widest: Annotated[int, pydantic.Field(ge=2), "width of the summary's widest kernel"] = 8,
        dropout: Annotated[float, "on word vectors, before each layer and on the states"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        if width % 2 == 0:
            raise UserError(f"encoder.width = {width}: a layer sees as many positions on the left as on the right; take an odd number")
        self.size = size
        self.embedding = symbol_embedding(space.symbols(), size)
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList([_Gated(size, width, dropout) for _ in range(layers)])
        self.pyramid = Pyramid(size, widest)

    def forward(self, source: Padded) -> Memory:
        mask_BS1 = source.mask_BS[:, :, None]
        states_BSD = self.dropout(self.embedding(source.values))
        for layer in self.layers:
            states_BSD = layer(states_BSD, mask_BS1)
        states_BSD = states_BSD * mask_BS1
        summary_BD = self.pyramid(states_BSD, source.lengths_B)
        if self.layers:  # word vectors alone have been through it
            states_BSD = self.dropout(states_BSD)
        return Memory(states_BSD, source.mask_BS, summary_BD, (states_BSD.shape[1],))
