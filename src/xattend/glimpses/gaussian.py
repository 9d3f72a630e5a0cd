"""DRAW's window (Gregor et al. 2015, section 3.2): a grid of N x N Gaussian filters, whose place, stride, width and intensity are learnt.

    (g~x, g~y, log s^2, log d~, log i) = five numbers             (21)
    gx = (A + 1)/2 (g~x + 1),  gy = (B + 1)/2 (g~y + 1)           (22, 23)   pixels are 1 .. A across, 1 .. B down
    d = (max(A, B) - 1)/(N - 1) d~                                (24)
    mu_j = g + (j - N/2 - 1/2) d,   j = 1 .. N                    (19, 20)
    F[j, a] = exp(-(a - mu_j)^2 / 2 s^2) / Z_j                    (25, 26)   Z_j: a filter's weights sum to one
    read = i Fy x Fx^T,   write = 1/i Fy^T w Fx                   (27, 29)

A softmax over a is (25) exactly, and stays right where a filter lies so far outside that every exponential would be 0. With five zeros the
window is the whole picture, evenly. log s^2 and log d~ are kept within what a picture can tell apart (`WIDTH`, `STRIDE`).

>>> window = Gaussian(Space(features=(1, 5, 5)), size=3)
>>> sharp_BP = torch.tensor([[0.0, 0.0, -6.0, 0.0, 0.0]])  # three filters, two pixels apart: 1, 3 and 5
>>> window.read(window.bind(torch.arange(25.0).view(1, 1, 5, 5)), sharp_BP).round().tolist()
[[0.0, 2.0, 4.0, 10.0, 12.0, 14.0, 20.0, 22.0, 24.0]]
"""

from __future__ import annotations

import math
from typing import Annotated

import pydantic
import torch
from torch import Tensor

from xattend.glimpses.base import Glimpse
from xattend.registry import register
from xattend.tree import Tree
from xattend.types import Space

WIDTH = (-8.0, 8.0)  # of log s^2
STRIDE = (-8.0, 3.0)  # of log d~
REACH = [1.0, 1.0, 3.0, 2.5, 1.0]  # the centre stays in the picture; filters are 4 times narrower or wider, 12 times closer or farther apart, e times as bright


@register("glimpse", "gaussian")
class Gaussian(Glimpse):
    """N x N Gaussian filters on a grid that moves and zooms."""

    numbers = 5

    def __init__(
        self, space: Space, *,
        size: Annotated[int, pydantic.Field(ge=2), "filters along a side (N)"] = 12,
    ) -> None:  # fmt: skip
        super().__init__(space)
        self.side, self.size = size, self.channels * size * size
        for name, count in (("across", self.width), ("down", self.height)):
            self.register_buffer(name, torch.arange(1.0, count + 1), persistent=False)
        self.steps: Tensor
        self.register_buffer("steps", torch.arange(1.0, size + 1) - size / 2 - 0.5, persistent=False)
        grown = {  # for glimpses/fused.py, which takes all exponentials at once: of log s^2, log d~ and log i
            "least": [WIDTH[0], STRIDE[0], -math.inf],
            "most": [WIDTH[1], STRIDE[1], math.inf],
            "powers": [-0.5, 1.0, 1.0],
            "units": [math.sqrt(0.5 / math.log(2)), (max(self.width, self.height) - 1) / (size - 1), 1.0],
        }
        for name, given in grown.items():
            self.register_buffer(name, torch.tensor(given), persistent=False)
        self.register_buffer("moments", torch.stack([torch.full_like(self.steps, (self.width + 1) / 2), self.steps], dim=1), persistent=False)
        self.least: Tensor
        self.most: Tensor
        self.powers: Tensor
        self.units: Tensor
        self.moments: Tensor
        self.across: Tensor
        self.down: Tensor

    def range(self) -> tuple[Tensor, Tensor]:
        """In the middle filters are half as wide as they are apart: between narrower ones most pixels of a large picture would not be seen at all."""
        apart = max((max(self.width, self.height) - 1) / (self.side - 1), 1.0)
        return torch.tensor([0.0, 0.0, 2 * math.log(apart / 2), 0.0, 0.0]), torch.tensor(REACH)

    def bind(self, picture_BCHW: Tensor) -> Tree:
        """Rows outermost, so that all channels are filtered by one product each way."""
        return picture_BCHW.transpose(1, 2).flatten(2)  # B, H, C x W

    def centre(self, where_NP: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """gx, gy, d and 1 / 2 s^2."""
        gx_N, gy_N, width_N, stride_N, _ = where_NP.unbind(dim=1)
        delta_N = (max(self.width, self.height) - 1) / (self.side - 1) * stride_N.clamp(*STRIDE).exp()
        return (self.width + 1) / 2 * (gx_N + 1), (self.height + 1) / 2 * (gy_N + 1), delta_N, 0.5 * (-width_N.clamp(*WIDTH)).exp()

    def filters(self, where_NP: Tensor) -> tuple[Tensor, Tensor]:
        """Fx_NnW and Fy_NnH."""
        gx_N, gy_N, delta_N, sharp_N = self.centre(where_NP)
        steps_Nn = delta_N[:, None] * self.steps
        return tuple(  # type: ignore[return-value]
            (-(place - (g_N[:, None] + steps_Nn)[:, :, None]).square() * sharp_N[:, None, None]).softmax(dim=2)
            for g_N, place in ((gx_N, self.across), (gy_N, self.down))
        )

    def read(self, bound: Tree, where_NP: Tensor) -> Tensor:
        picture_NHc: Tensor = bound if len(bound) == len(where_NP) else bound.repeat_interleave(len(where_NP) // len(bound), dim=0)
        x_NnW, y_NnH = self.filters(where_NP)
        rows_NcW = (y_NnH @ picture_NHc).view(len(where_NP), -1, self.width)  # n x C rows
        patch_NR = (rows_NcW @ x_NnW.transpose(1, 2)).view(len(where_NP), -1)  # rows, channels, columns
        return patch_NR * where_NP[:, 4:].exp()

    def write(self, patch_NR: Tensor, where_NP: Tensor) -> Tensor:
        x_NnW, y_NnH = self.filters(where_NP)
        faint_NR = patch_NR * (-where_NP[:, 4:]).exp()
        rows_NHc = y_NnH.transpose(1, 2) @ faint_NR.view(-1, self.side, self.channels * self.side)
        written_NcW = rows_NHc.view(len(patch_NR), -1, self.side) @ x_NnW
        return written_NcW.view(-1, self.height, self.channels, self.width).transpose(1, 2)

    def boxes(self, where_NP: Tensor) -> Tensor:
        """From half a stride before the first filter's centre to half a stride behind the last."""
        gx_N, gy_N, delta_N, _ = self.centre(where_NP.detach())
        half_N = self.side / 2 * delta_N
        edges = [(gx_N - 0.5 - half_N) / self.width, (gy_N - 0.5 - half_N) / self.height,
                 (gx_N - 0.5 + half_N) / self.width, (gy_N - 0.5 + half_N) / self.height]  # fmt: skip
        return torch.stack(edges, dim=1)[:, None]

    def light(self, where_NP: Tensor) -> Tensor:
        x_NnW, y_NnH = self.filters(where_NP.detach())
        return y_NnH.mean(dim=1)[:, :, None] * x_NnW.mean(dim=1)[:, None, :]
