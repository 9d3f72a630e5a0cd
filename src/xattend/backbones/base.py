"""A backbone: a network that was trained on other pictures, and of which only what it sees is used.

    a = (a_1, ..., a_S),  a_i in R^D        one feature vector for each of S places of the picture

(Xu et al. 2015, section 3.1.1: the annotation vectors of a convolutional layer.) A stage is a layer that can be read: early ones have
more places, late ones know more. Weights come with a package or lie in a folder; nothing is ever downloaded, and none are unpickled.
A backbone that can be cut in two has a `tail`: the layers behind a stage, to be trained on.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn

from xattend.errors import UserError, suggestion


class Stage(NamedTuple):
    """What can be read after a layer: how its places lie, and how wide a place's vector is."""

    grid: tuple[int, int]
    width: int


class Backbone:
    """Cheap to make: weights are loaded when features are asked for first."""

    registered_name: str
    size: int  # pixels of a side of the pictures it reads
    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    @property
    def stages(self) -> dict[str, Stage]:
        """By name; the first is the one that is read if nothing is said."""
        raise NotImplementedError

    def version(self) -> str:
        """Changes when the weights do: features are kept under it."""
        raise NotImplementedError

    def load(self) -> nn.Module:
        """The network with its weights."""
        raise NotImplementedError

    def read(self, pixels_BCHW: Tensor, stage: str) -> Tensor:
        """The map at a stage, [B, D, h, w], of normalised pixels."""
        raise NotImplementedError

    def tail(self, stage: str) -> nn.Module:
        """The layers behind a stage with their weights, new each time: [B, D, h, w] of the stage -> that of the first stage."""
        raise UserError(f"backbone '{self.registered_name}' cannot be cut in two: choose another encoder than 'tail'")

    def stage(self, name: str | None) -> tuple[str, Stage]:
        """A stage by name; the first if none is given."""
        stages = self.stages
        if name is None:
            return next(iter(stages.items()))
        if name not in stages:
            raise UserError(f"backbone '{self.registered_name}' has no stage '{name}': {suggestion(name, stages)}")
        return name, stages[name]

    @cached_property
    def network(self) -> nn.Module:
        """The network, frozen."""
        return self.load().eval().requires_grad_(False)

    @torch.inference_mode()
    def features(self, pixels_BCHW: Tensor, stage: str) -> Tensor:
        """Features of pictures, [B, S, D], row by row of the grid. Pixels are bytes, 0 to 255, in colour."""
        mean, std = (torch.tensor(three).view(3, 1, 1) for three in (self.mean, self.std))
        map_BDHW = self.read((pixels_BCHW.float() / 255 - mean) / std, stage)
        return map_BDHW.flatten(2).transpose(1, 2).contiguous()


def missing(package: str, extra: str) -> UserError:
    """What to say of a package that is not installed."""
    return UserError(f"this backbone needs {package}: pip install 'xattend[{extra}]'")
