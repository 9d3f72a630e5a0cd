"""A backbone small enough for tests: its weights are fixed, and no package is needed."""

from __future__ import annotations

import copy
from typing import ClassVar

import torch
from torch import Tensor, nn

from xattend.backbones import Backbone, Stage
from xattend.registry import register


@register("backbone", "tiny-for-tests")
class Tiny(Backbone):
    """Two strided convolutions over 16 x 16 pixels: 2 x 2 places behind 4 x 4."""

    size = 16
    mean = (0.5, 0.5, 0.5)
    std = (0.25, 0.5, 1.0)
    read_so_far: ClassVar[list[int]] = []  # how many pictures at a time

    @property
    def stages(self) -> dict[str, Stage]:
        return {"last": Stage((2, 2), 5), "middle": Stage((4, 4), 4)}

    def version(self) -> str:
        return "1"

    def load(self) -> nn.Module:
        state = torch.random.get_rng_state()
        torch.manual_seed(11)
        try:
            return nn.Sequential(nn.Conv2d(3, 4, 4, 4), nn.Conv2d(4, 5, 2, 2))
        finally:
            torch.random.set_rng_state(state)

    def read(self, pixels_BCHW: Tensor, stage: str) -> Tensor:
        self.read_so_far.append(len(pixels_BCHW))
        assert isinstance(self.network, nn.Sequential)
        map_BDHW: Tensor = self.network(pixels_BCHW) if stage == "last" else self.network[:1](pixels_BCHW)
        return map_BDHW

    def tail(self, stage: str) -> nn.Module:
        assert stage == "middle"
        assert isinstance(self.network, nn.Sequential)
        return copy.deepcopy(self.network[1:]).requires_grad_(True)
