"""What systems that paint pictures share: the bound on a picture's probability, in its two parts, and samples.

    log p(x)  >=  E_q[log p(x | z)] - KL(q(z | x) || p(z))
    L^x = -log D(x | c_T)      Bernoulli: x is black and white, the canvas c_T holds logits                           (Gregor et al. 2015, 9)
    L^z = sum_t KL(N(mu_t, sigma_t^2) || N(0, 1)) = 1/2 sum_t sum_j (mu^2 + sigma^2 - log sigma^2 - 1)                 (10, 11)

Each term has its own -1/2, of every step and every number of the code. All is in nats a picture. The target side is not read. A picture that
is grey counts by shares, which is no likelihood: set data.source.binary. In evaluation the noise comes from the picture itself (layers/dice.py).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.data.fields.base import Field
from xattend.errors import UserError
from xattend.glimpses.base import Glimpse
from xattend.layers import dice
from xattend.search.base import Search
from xattend.systems.base import System
from xattend.systems.looked import traces
from xattend.systems.parts import Parts
from xattend.types import Batch, Loss, Prediction


class Painted(NamedTuple):
    """A picture painted after another, or out of nothing.

    canvas_BCHW   logits of the last canvas
    code_B        L^z
    film          logits of the canvas after each step, if they were asked for
    where         for each window its place at each step, if that was asked for
    """

    canvas_BCHW: Tensor
    code_B: Tensor
    film: list[Tensor]
    where: list[list[Tensor]]


def divergence(mean_BZ: Tensor, log_std_BZ: Tensor) -> Tensor:
    """KL(N(mean, std^2) || N(0, 1)), summed over the code's numbers.

    >>> divergence(torch.tensor([[1.0, 0.0, 0.0]]), torch.zeros(1, 3)).tolist()
    [0.5]
    """
    return 0.5 * (mean_BZ.square() + (2 * log_std_BZ).exp() - 2 * log_std_BZ - 1).sum(dim=1)


class Generative(System):
    """A subclass gives `steps`, `code`, its `windows` with their names, and `paint`."""

    writes = False
    terms = ("picture", "code")
    glimpses = True
    steps: int
    code: int
    windows: list[Glimpse]
    heads: tuple[str, ...] = ()

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        assert parts.source is not None
        self.source: Field = parts.source
        self.space = parts.source.space
        self.space.frames()

    def paint(self, picture_BCHW: Tensor | None, noise_TBZ: Tensor, *, film: bool = False) -> Painted:
        """After a picture, with noise for the codes; without one the noise is the codes, drawn from the prior."""
        raise NotImplementedError

    def noise(self, picture_BCHW: Tensor) -> Tensor:
        """noise_TBZ, new at every step."""
        count = len(picture_BCHW)
        if self.training:
            return torch.randn(self.steps, count, self.code)
        return dice.normal(picture_BCHW, self.steps * self.code).view(count, self.steps, self.code).transpose(0, 1)

    def bound(self, picture_BCHW: Tensor) -> tuple[Tensor, Tensor]:
        """L^x and L^z of each picture."""
        painted = self.paint(picture_BCHW, self.noise(picture_BCHW))
        return self.missed(painted.canvas_BCHW, picture_BCHW), painted.code_B

    @staticmethod
    def missed(canvas_BCHW: Tensor, picture_BCHW: Tensor) -> Tensor:
        """L^x"""
        return F.binary_cross_entropy_with_logits(canvas_BCHW, picture_BCHW, reduction="none").flatten(1).sum(dim=1)

    def loss(self, batch: Batch) -> Loss:
        picture_B, code_B = self.bound(self.pictures(batch))
        parts = {"picture": float(picture_B.detach().sum()), "code": float(code_B.detach().sum())}
        return Loss(picture_B.sum() + code_B.sum(), len(batch), len(batch), parts)

    def pictures(self, batch: Batch) -> Tensor:
        assert batch.source is not None
        return batch.source.picture()

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        """The bound in nats, and on request the trace: how the picture was painted after it was looked at. There is nothing to search."""
        pictures_BCHW = self.pictures(batch)
        painted = self.paint(pictures_BCHW, self.noise(pictures_BCHW), film=attention)
        picture_B, code_B = self.missed(painted.canvas_BCHW, pictures_BCHW), painted.code_B
        film = traces(self.windows, painted.where, canvas_TBCHW=[canvas.sigmoid() for canvas in painted.film], heads=self.heads) if attention else []
        found = []
        for row, (picture, code) in enumerate(zip(picture_B.tolist(), code_B.tolist(), strict=True)):
            text, nats = f"{picture + code:.2f} nats: picture {picture:.2f}, code {code:.2f}", -picture - code
            found.append(Prediction(text, [], nats, nats, [(text, nats)], film[row] if attention else None))
        return found

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        """Minus the bound, by its two terms."""
        return (-torch.stack(self.bound(self.pictures(batch)), dim=1)).tolist()

    @torch.inference_mode()
    def sample(self, count: int, seed: int = 1) -> Tensor:
        """Pictures out of nothing, as probabilities of white, after each step: film_TBCHW."""
        noise_TBZ = torch.randn(self.steps, count, self.code, generator=torch.Generator().manual_seed(seed))
        return torch.stack(self.paint(None, noise_TBZ, film=True).film).sigmoid()

    def align(self, batch: Batch) -> list[Tensor]:
        raise UserError("aligning links words, and this model paints pictures: predict --attention shows where it looked")
