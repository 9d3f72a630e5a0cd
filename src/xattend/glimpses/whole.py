"""No window: the whole picture at every look, which is DRAW without attention (Gregor et al. 2015, equations 17 and 18).

>>> whole = Whole(Space(features=(1, 2, 2)))
>>> whole.read(whole.bind(torch.arange(4.0).view(1, 1, 2, 2)), torch.zeros(1, 0)).tolist()
[[0.0, 1.0, 2.0, 3.0]]
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.glimpses.base import Glimpse
from xattend.registry import register
from xattend.tree import Tree
from xattend.types import Space


@register("glimpse", "whole")
class Whole(Glimpse):
    """Every pixel, always."""

    numbers = 0

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.size = self.channels * self.height * self.width

    def bind(self, picture_BCHW: Tensor) -> Tree:
        return picture_BCHW.flatten(1)

    def read(self, bound: Tree, where_NP: Tensor) -> Tensor:
        flat_BR: Tensor = bound
        return flat_BR if len(flat_BR) == len(where_NP) else flat_BR.repeat_interleave(len(where_NP) // len(flat_BR), dim=0)

    def write(self, patch_NR: Tensor, where_NP: Tensor) -> Tensor:
        return patch_NR.view(-1, self.channels, self.height, self.width)

    def boxes(self, where_NP: Tensor) -> Tensor:
        return torch.tensor([0.0, 0.0, 1.0, 1.0]).to(where_NP).expand(len(where_NP), 1, 4)

    def light(self, where_NP: Tensor) -> Tensor:
        return where_NP.new_full((len(where_NP), self.height, self.width), 1 / (self.height * self.width))
