"""A glimpse: a window into a picture, placed by a few numbers. What lies in it is read, and some kinds can be written through.

Shapes: B pictures, N = B x copies (those of a picture stand one after the other), C channels, P numbers that place a window, R numbers in
it, K boxes, H x W pixels.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from xattend.tree import Tree
from xattend.types import Space


class Glimpse(nn.Module):
    """A kind of window, for pictures of one shape. It has no weights: who looks through it makes the numbers that place it.

    numbers   P, how many numbers place it; 0 for one that has one place only
    size      R, how many numbers are in it, all channels together
    hard      where it is has no gradient: it must be learnt from rewards
    """

    numbers: int
    size: int
    hard: ClassVar[bool] = False

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.channels, self.height, self.width = space.frames()

    def range(self) -> tuple[Tensor, Tensor]:
        """middle_P, a look at the whole picture, and reach_P, how far each number should go from there at most: what is farther away shows nothing."""
        return torch.zeros(self.numbers), torch.ones(self.numbers)

    def bind(self, picture_BCHW: Tensor) -> Tree:
        """Does once a picture what can be done once."""
        raise NotImplementedError

    def read(self, bound: Tree, where_NP: Tensor) -> Tensor:
        """What is in the window: patch_NR. N may be a multiple of the pictures."""
        raise NotImplementedError

    def write(self, patch_NR: Tensor, where_NP: Tensor) -> Tensor:
        """A picture with this in the window, and nothing elsewhere: picture_NCHW."""
        raise NotImplementedError(f"{type(self).__name__} cannot be written through")

    def boxes(self, where_NP: Tensor) -> Tensor:
        """boxes_NK4: left, top, right, bottom of each patch, as shares of the picture. They may reach beyond it."""
        raise NotImplementedError

    def light(self, where_NP: Tensor) -> Tensor:
        """weights_NHW: how much each pixel counts in what is read; they sum to one if anything is seen."""
        raise NotImplementedError
