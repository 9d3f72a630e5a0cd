"""The retina of RAM (Mnih et al. 2014, figure 1): square patches around one place, each twice as wide as the last, all equally many pixels.

    rho(x, l) = k patches; the first is g x g pixels around l, the k-th 2^(k-1) g, shrunk to g x g by the mean of its blocks

A place is a pair of real numbers (across, down): (0, 0) is the centre of the picture, (-1, -1) its top left corner. Between pixels the
picture is interpolated; beyond its edge there is nothing, which is 0. A block's mean around any place is what a box-filtered picture has
there, so the filters run once a picture, and a glimpse is g x g points of each.

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
        offsets = torch.arange(size) - (size - 1) / 2
        self.offsets: Tensor
        self.register_buffer("offsets", torch.stack([scale * offsets for scale in self.widths()]), persistent=False)

    def widths(self) -> list[int]:
        """Pixels of the picture to a pixel of each patch."""
        return [2**scale for scale in range(self.scales)]

    def bind(self, picture_BCHW: Tensor) -> Tree:
        """The picture, filtered by boxes of each scale; a box of even width lies between pixels, so the map grows by k - 1."""
        return tuple(
            picture_BCHW if k == 1 else F.avg_pool2d(F.pad(picture_BCHW, (k - 1,) * 4), k, stride=1) for k in self.widths()
        )

    def read(self, bound: Tree, where_NP: Tensor) -> Tensor:
        count, batch = len(where_NP), len(bound[0])
        x_N1, y_N1 = self._pixels(where_NP).unbind(dim=1)
        patches = []
        for k, offset_g, map_BCHW in zip(self.widths(), self.offsets, bound, strict=True):
            # where the points are in the filtered map, from -1, its first pixel's outer edge, to 1
            across_Ng = (2 * (x_N1[:, None] + offset_g) + k) / (self.width + k - 1) - 1
            down_Ng = (2 * (y_N1[:, None] + offset_g) + k) / (self.height + k - 1) - 1
            grid_Ngg2 = torch.stack([across_Ng[:, None, :].expand(-1, self.side, -1), down_Ng[:, :, None].expand(-1, -1, self.side)], dim=3)
            # copies of a picture are more points of the same picture: nothing is repeated
            grid_BGg2 = grid_Ngg2.reshape(batch, -1, self.side, 2)
            seen_BCGg = F.grid_sample(map_BCHW, grid_BGg2, align_corners=False)
            if count == batch:
                patches.append(seen_BCGg.flatten(1))
            else:
                copies = seen_BCGg.view(batch, self.channels, -1, self.side, self.side)
                patches.append(copies.transpose(1, 2).reshape(count, -1))
        return patches[0] if len(patches) == 1 else torch.cat(patches, dim=1)

    def _pixels(self, where_N2: Tensor) -> Tensor:
        """The place in pixels; the first pixel's centre is 0."""
        return (where_N2.detach() + 1) * (where_N2.new_tensor([self.width, self.height]) / 2) - 0.5

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
