"""A plain variational autoencoder (Kingma and Welling 2014): the whole picture at once, one code, painted in one step. DRAW's control.

    h = tanh(W x),  q(z | x) = N(W h, exp(W h)^2),  p(x | z) = Bernoulli(sigmoid(W tanh(W z)))
"""

from __future__ import annotations

import math
from typing import Annotated

import pydantic
import torch
from torch import Tensor, nn

from xattend.glimpses.whole import Whole
from xattend.registry import register
from xattend.systems.generative import Generative, Painted, divergence
from xattend.systems.parts import Parts

Positive = Annotated[int, pydantic.Field(ge=1)]


@register("system", "vae")
class VAE(Generative):
    """One look at everything, one stroke."""

    steps = 1
    heads = ("read",)

    def __init__(
        self, parts: Parts, *,
        size: Annotated[Positive, "units of each hidden layer"] = 512,
        layers: Annotated[Positive, "hidden layers, in either direction"] = 1,
        code: Annotated[Positive, "numbers of the code"] = 32,
    ) -> None:  # fmt: skip
        super().__init__(parts)
        features = self.space.frames()
        pixels = math.prod(features)
        self.code, self.windows = code, [Whole(self.space)]
        self.encoder = _hidden(pixels, size, layers)
        self.to_code = nn.Linear(size, 2 * code)
        self.decoder = _hidden(code, size, layers)
        self.output = nn.Linear(size, pixels)

    def paint(self, picture_BCHW: Tensor | None, noise_TBZ: Tensor, *, film: bool = False) -> Painted:
        (code_BZ,) = noise_TBZ
        spent_B = code_BZ.new_zeros(len(code_BZ))
        if picture_BCHW is not None:
            mean_BZ, log_std_BZ = self.to_code(self.encoder(picture_BCHW.flatten(1))).chunk(2, dim=1)
            code_BZ = mean_BZ + log_std_BZ.exp() * code_BZ
            spent_B = divergence(mean_BZ, log_std_BZ)
        canvas_BCHW = self.output(self.decoder(code_BZ)).view(-1, *self.space.frames())
        where = [[torch.zeros(len(code_BZ), 0)]]
        return Painted(canvas_BCHW, spent_B, [canvas_BCHW] if film else [], where if film else [])


def _hidden(before: int, size: int, layers: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for layer in range(layers):
        parts += [nn.Linear(size if layer else before, size), nn.Tanh()]
    return nn.Sequential(*parts)
