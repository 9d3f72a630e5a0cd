"""The retina of RAM (Mnih et al. 2014, figure 1): square patches around one place, each twice as wide as the last, all equally many pixels.

    rho(x, l) = k patches; the first is g x g pixels around l, the k-th 2^(k-1) g, shrunk to g x g by the mean of its blocks

A place is a pair of real numbers (across, down): (0, 0) is the centre of the picture, (-1, -1) its top left corner. Between pixels the
picture is interpolated; beyond its edge there is nothing, which is 0. A block's mean around any place is what a box-filtered picture has
there, so the filters run once a picture, each on the one before,

    x_2k[i, j] = 1/4 (x_k[i, j] + x_k[i - k, j] + x_k[i, j - k] + x_k[i - k, j - k]),   x_1 = x

and a glimpse is g x g points of each. Points of a patch are whole pixels apart, so they all lie at the same share of the way between two
pixels: all scales are gathered at once by whole numbers, and mixed by one share across and one down. With one scale a point's neighbour is
the next point's own pixel, and is gathered once.

>>> retina = Retina(Space(features=(1, 4, 4)), size=2, scales=2)
>>> picture_BCHW = torch.arange(16.0).view(1, 1, 4, 4)
>>> retina.read(retina.bind(picture_BCHW), torch.zeros(1, 2)).tolist()
[[5.0, 6.0, 9.0, 10.0, 2.5, 4.5, 10.5, 12.5]]
"""

from __future__ import annotations

from typing import Annotated

import pydantic
import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.glimpses.base import Glimpse
from xattend.registry import register
from xattend.tree import Tree
from xattend.types import Space

Positive = Annotated[int, pydantic.Field(ge=1)]


@register("glimpse", "retina")
class Retina(Glimpse):
    """Patches of several scales around a place."""

    hard = True

    def __init__(
        self, space: Space, *,
        size: Annotated[Positive, "pixels of a patch's side"] = 8,
        scales: Annotated[Positive, "patches, each twice as wide as the one before"] = 1,
    ) -> None:  # fmt: skip
        super().__init__(space)
        self.side, self.scales = size, scales
        self.numbers, self.size = 2, scales * self.channels * size * size
        k_K = torch.tensor(self.widths())
        ends_2K = torch.stack([self.width - 1 + k_K, self.height - 1 + k_K])  # columns and rows of each filtered picture
        areas_K = (ends_2K + 2).prod(dim=0)  # each has a border of zeros, one pixel wide: what lies beyond
        beside_K = ends_2K[0] + 2
        self.pixels = int(areas_K.sum())
        half_21 = torch.tensor([[self.width / 2], [self.height / 2]])
        two_Kg = (k_K[:, None, None] * torch.arange(size)[:, None] + torch.arange(2)).flatten(1)  # a point's two neighbours
        given = {
            "taps": torch.arange(size + 1)[None] if scales == 1 else two_Kg,
            "least": torch.tensor(-1),  # the border before the first pixel
            "ends": ends_2K[..., None],  # and that behind the last
            "last": 1.0 * ends_2K,
            "beside": beside_K,  # from a pixel to the one below
            "origin": areas_K.cumsum(0) - areas_K + beside_K + 1,  # where a filtered picture's first pixel lies
            "radius": half_21,
            "start": half_21 - 0.5 + (k_K - 1) / 2 - k_K * (size - 1) / 2,  # of a patch around the picture's centre; the first pixel's centre is 0
            "far": -1.0 * (k_K * size + 1),  # a patch that begins here sees nothing, nor does one further out
        }
        for name, value in given.items():
            self.register_buffer(name, value, persistent=False)
        self.taps: Tensor
        self.least: Tensor
        self.ends: Tensor
        self.last: Tensor
        self.beside: Tensor
        self.origin: Tensor
        self.radius: Tensor
        self.start: Tensor
        self.far: Tensor

    def widths(self) -> list[int]:
        """Pixels of the picture to a pixel of each patch."""
        return [2**scale for scale in range(self.scales)]

    def bind(self, picture_BCHW: Tensor) -> Tree:
        """The picture, filtered by boxes of each scale, in one row; a box of even width lies between pixels, so the map grows by k - 1."""
        maps_BCF = picture_BCHW.new_zeros(*picture_BCHW.shape[:2], self.pixels)
        map_BCHW, start = picture_BCHW, 0
        for k in self.widths():
            if k > 1:
                map_BCHW = _doubled(map_BCHW, k // 2)
            height, width = (side + 2 for side in map_BCHW.shape[2:])
            bordered_BCHW = maps_BCF[:, :, start : start + height * width].view(*maps_BCF.shape[:2], height, width)
            bordered_BCHW[:, :, 1:-1, 1:-1] = map_BCHW
            start += height * width
        return maps_BCF

    def read(self, bound: Tree, where_NP: Tensor) -> Tensor:
        maps_BCF: Tensor = bound
        batch = len(maps_BCF)
        # the first point of each patch in each filtered picture, across and down: a whole number and a share
        first_N2K = torch.addcmul(self.start, where_NP.detach()[:, :, None], self.radius).clamp_(self.far, self.last)
        whole_N2K = first_N2K.floor()
        # copies of a picture are more points of the same one: nothing is repeated
        share_BC2K = (first_N2K - whole_N2K).view(batch, 1, -1, 2, self.scales, 1, 1)
        taps_N2Kg = (whole_N2K.long()[..., None] + self.taps).clamp_(self.least, self.ends)
        rows_NKg = torch.addcmul(self.origin[:, None], taps_N2Kg[:, 1], self.beside[:, None])
        points_BF = (rows_NKg[..., None] + taps_N2Kg[:, 0, :, None]).view(batch, 1, -1)
        taps = self.taps.shape[1]
        seen = maps_BCF.gather(2, points_BF.expand(-1, self.channels, -1)).view(batch, self.channels, -1, self.scales, taps, taps)
        seen = torch.lerp(*self._pairs(seen, 4), share_BC2K[:, :, :, 1])
        seen = torch.lerp(*self._pairs(seen, 5), share_BC2K[:, :, :, 0])
        return seen.permute(0, 2, 3, 1, 4, 5).reshape(len(where_NP), self.size)  # copies, scales, channels, rows, columns

    def _pairs(self, seen: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """Of each point the pixel before it and the one behind it, along an axis of taps."""
        if self.scales == 1:
            return seen.narrow(dim, 0, self.side), seen.narrow(dim, 1, self.side)
        twos = seen.view(*seen.shape[:dim], self.side, 2, *seen.shape[dim + 1 :])
        return twos.select(dim + 1, 0), twos.select(dim + 1, 1)

    def boxes(self, where_NP: Tensor) -> Tensor:
        centre_N12 = (where_NP.detach()[:, None] + 1) / 2
        half_K2 = torch.tensor([[k * self.side / 2 / self.width, k * self.side / 2 / self.height] for k in self.widths()]).to(where_NP)
        return torch.cat([centre_N12 - half_K2, centre_N12 + half_K2], dim=2)

    def light(self, where_NP: Tensor) -> Tensor:
        """Each patch has the same light, spread evenly over what it covers of the picture."""
        total = where_NP.new_zeros(len(where_NP), self.height, self.width)
        boxes_NK4 = self.boxes(where_NP)
        for box_N4 in boxes_NK4.unbind(dim=1):
            across_NW = _covered(box_N4[:, 0] * self.width, box_N4[:, 2] * self.width, self.width)
            down_NH = _covered(box_N4[:, 1] * self.height, box_N4[:, 3] * self.height, self.height)
            lit_NHW = down_NH[:, :, None] * across_NW[:, None, :]
            total += lit_NHW / lit_NHW.sum(dim=(1, 2), keepdim=True).clamp(min=1e-9) / self.scales
        return total


def _covered(from_N: Tensor, to_N: Tensor, pixels: int) -> Tensor:
    """The share of each pixel that lies between two edges.

    >>> _covered(torch.tensor([0.5]), torch.tensor([2.0]), 3).tolist()
    [[0.5, 1.0, 0.0]]
    """
    edge = torch.arange(pixels).to(from_N)
    return (torch.minimum(to_N[:, None], edge + 1) - torch.maximum(from_N[:, None], edge)).clamp(min=0)


def _doubled(map_BCHW: Tensor, k: int) -> Tensor:
    """Means over boxes of width 2 k from those of width k; beyond the picture there is 0.

    >>> _doubled(torch.tensor([[[[4.0, 8.0]]]]), 1).tolist()
    [[[[1.0, 3.0, 2.0], [1.0, 3.0, 2.0]]]]
    """
    wide_BCHW = F.pad(map_BCHW, (k,) * 4)
    tall_BCHW = wide_BCHW[:, :, k:] + wide_BCHW[:, :, :-k]
    return (tall_BCHW[..., k:] + tall_BCHW[..., :-k]).mul_(0.25)
