"""A picture read by looking at it: a recurrent network that moves a soft window, one state a look (Gregor et al. 2015, section 4.1).

    where_t = m + l tanh((W h_{t-1} + b) / l),   r_t = read(x, where_t),   h_t = cell(h_{t-1}, [r_t ; where_t])

DRAW's reading half, by itself: with the system `classify` it is the classifier of that section, with `seq2seq` a captioner whose memory is what
was seen, look by look. The summary is the last state. Where it looks is learnt by the gradient, so the window must be soft (glimpse `gaussian`);
a retina is learnt from rewards (system `ram`). Of a film every frame is looked at by itself.

>>> encoder = Glimpses(Space(features=(1, 16, 16)), looks=3, size=8, glimpse={"kind": "gaussian", "size": 4})
>>> memory = encoder(Padded(torch.rand(2, 1, 1, 16, 16), torch.ones(2, 1).bool()))
>>> memory.states_BSD.shape, memory.grid
(torch.Size([2, 3, 8]), (3,))
"""

from __future__ import annotations

from typing import Annotated, Any

import pydantic
import torch
from torch import Tensor, nn

from xattend import registry
from xattend.cells.base import Cell
from xattend.encoders.base import Encoder, masked_mean
from xattend.errors import UserError
from xattend.glimpses.base import Glimpse
from xattend.glimpses.network import GlimpseNetwork
from xattend.layers.dropout import Dropout
from xattend.registry import Named, register
from xattend.types import Memory, Padded, Space

Positive = Annotated[int, pydantic.Field(ge=1)]
START = 0.01  # standard deviation of the weights that place the window: the first looks are at the whole picture


@register("encoder", "glimpses")
class Glimpses(Encoder):
    """Soft windows, each placed by the state after the last."""

    reads = "frames"

    def __init__(
        self, space: Space, *,
        glimpse: Annotated[str | dict[str, Any], Named("glimpse"), "the window"] = "gaussian",
        looks: Annotated[Positive, "how often it looks"] = 8,
        cell: Annotated[str, Named("cell"), "the recurrent cell"] = "lstm",
        size: Annotated[Positive, "width of its state"] = 256,
        inner: Annotated[Positive, "width of what was seen, and of where, before they are put together"] = 128,
        dropout: Annotated[float, "on what was seen and where"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.window: Glimpse = registry.build_named("glimpse", glimpse, space)
        if self.window.hard:
            raise UserError("this encoder learns where to look by the gradient, and a hard glimpse has none: set encoder.glimpse.kind = \"gaussian\"")
        self.looks, self.size = looks, size
        self.network = GlimpseNetwork(self.window, inner, size)
        self.cell: Cell = registry.build("cell", cell, size, size)
        self.place = nn.Linear(size, self.window.numbers) if self.window.numbers else None
        if self.place is not None:
            nn.init.normal_(self.place.weight, std=START)
            nn.init.zeros_(self.place.bias)
        self.middle_P: Tensor
        self.reach_P: Tensor
        for name, numbers in zip(("middle_P", "reach_P"), self.window.range(), strict=True):
            self.register_buffer(name, numbers, persistent=False)
        self.dropout = Dropout(dropout)

    def where(self, state_ND: Tensor) -> Tensor:
        """The place of the next look, never far from where there is something to see: a window that has left the picture has no gradient back."""
        if self.place is None:
            return state_ND.new_zeros(len(state_ND), 0)
        asked_NP: Tensor = self.place(state_ND).to(self.reach_P.dtype)
        return self.middle_P + self.reach_P * (asked_NP / self.reach_P).tanh()

    def walk(self, picture_NCHW: Tensor) -> tuple[Tensor, list[Tensor]]:
        """states_NTD, and where each look was."""
        bound, state = self.window.bind(picture_NCHW), self.cell.start(len(picture_NCHW))
        states, places = [], []
        for _ in range(self.looks):
            where_NP = self.where(state[0])
            seen_ND = self.network(self.window.read(bound, where_NP), where_NP)
            state = self.cell(self.dropout(seen_ND), state)
            states.append(state[0])
            places.append(where_NP)
        return torch.stack(states, dim=1), places

    def windows(self, picture_NCHW: Tensor) -> Tensor:
        """boxes_NT4: what each look saw, left, top, right, bottom as shares of the picture; of a window with several patches the box around all."""
        boxes_NTK4 = torch.stack([self.window.boxes(where_NP) for where_NP in self.walk(picture_NCHW)[1]], dim=1)
        return torch.cat([boxes_NTK4[..., :2].amin(dim=2), boxes_NTK4[..., 2:].amax(dim=2)], dim=-1)

    def forward(self, source: Padded) -> Memory:
        batch, frames = source.mask_BS.shape
        states_NTD, _ = self.walk(source.values.flatten(0, 1))
        mask_BS = source.mask_BS.repeat_interleave(self.looks, dim=1)
        summary_BD = masked_mean(states_NTD[:, -1].reshape(batch, frames, self.size), source.mask_BS)
        grid = (self.looks,) if frames == 1 else (frames, self.looks)
        return Memory(states_NTD.reshape(batch, -1, self.size), mask_BS, summary_BD, grid)
