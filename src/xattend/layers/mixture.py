"""Mixture density output for pen points (Graves 2013, section 4.1): where the pen goes next, as bivariate Gaussians, and two yes-or-no
questions.

    p(x, up, end) = p(end) | (1 - p(end)) sum_j pi_j N(x | mu_j, sigma_j, rho_j) p(up)                            (23-26)
    pi = softmax(pi^),  mu = mu^,  sigma = exp(sigma^),  rho = tanh(rho^),  p(up) = sigmoid(e^)                    (18-22)

`up` says that the pen is lifted behind the point. `end`, which the paper has not, says that there is no point any more: so a drawing's
length is learnt, too, and its likelihood is one of whole drawings. All sums are of logarithms. `bias` makes samples neater (section 5.4):
sigma = exp(sigma^ - b), pi = softmax(pi^ (1 + b)); pen and end have their logits multiplied by 1 + b as well.

>>> mixture = Mixture.of(torch.zeros(1, numbers(2)))  # two standard normal distributions
>>> round(float(mixture.log_density(torch.zeros(1, 2))), 4)  # -log 2 pi
-1.8379

Shapes: N points, M Gaussians.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

LOWEST, HIGHEST = -7.0, 5.0  # of log sigma: a density cannot become a spike on one training point
STRAIGHT = 0.999  # the largest correlation


def numbers(gaussians: int) -> int:
    """How many numbers a network must give for a point."""
    return 6 * gaussians + 2


class Mixture(NamedTuple):
    """logs_NM     log pi
    mean_N2M    mu, across and along
    scale_N2M   log sigma
    rho_NM      correlation
    up_N        logit of the pen being lifted
    end_N       logit of the end
    """

    logs_NM: Tensor
    mean_N2M: Tensor
    scale_N2M: Tensor
    rho_NM: Tensor
    up_N: Tensor
    end_N: Tensor

    @staticmethod
    def of(outputs_NO: Tensor, bias: float = 0.0) -> Mixture:
        """Of a network's outputs, any leading axes."""
        gaussians = outputs_NO.shape[-1] // 6
        widths = [gaussians, 2 * gaussians, 2 * gaussians, gaussians, 2]
        pi, mean, scale, rho, rest = torch.split(outputs_NO, widths, dim=-1)
        return Mixture(
            (pi * (1 + bias)).log_softmax(dim=-1), torch.unflatten(mean, -1, (2, gaussians)),
            torch.unflatten(scale.clamp(LOWEST, HIGHEST) - bias, -1, (2, gaussians)), STRAIGHT * torch.tanh(rho),
            rest[..., 0] * (1 + bias), rest[..., 1] * (1 + bias),
        )  # fmt: skip

    def log_density(self, moves_N2: Tensor) -> Tensor:
        """log sum_j pi_j N(move | j), of each point."""
        z_N2M = (moves_N2[..., None] - self.mean_N2M) * torch.exp(-self.scale_N2M)
        x_NM, y_NM = z_N2M[..., 0, :], z_N2M[..., 1, :]
        left_NM = 1 - self.rho_NM.square()
        z_NM = (x_NM.square() + y_NM.square() - 2 * self.rho_NM * x_NM * y_NM) / left_NM  # (25)
        logs_NM = -z_NM / 2 - math.log(2 * math.pi) - self.scale_N2M.sum(dim=-2) - left_NM.log() / 2  # (24)
        return (self.logs_NM + logs_NM).logsumexp(dim=-1)

    def log_likelihood(self, points_N3: Tensor, ends_N: Tensor) -> Tensor:
        """Of each point with its pen, or of the end, where `ends` says that it is one."""
        pen_N = -F.binary_cross_entropy_with_logits(self.up_N, points_N3[..., 2], reduction="none")
        point_N = F.logsigmoid(-self.end_N) + self.log_density(points_N3[..., :2]) + pen_N
        return torch.where(ends_N, F.logsigmoid(self.end_N), point_N)

    def draw(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """points_N3 and ends_N, of one leading axis."""
        place_N = torch.multinomial(self.logs_NM.exp(), 1, generator=generator)
        at_N21 = place_N[:, None].expand(-1, 2, -1)
        mean_N2, scale_N2 = self.mean_N2M.gather(2, at_N21)[..., 0], self.scale_N2M.gather(2, at_N21)[..., 0].exp()
        rho_N = self.rho_NM.gather(1, place_N)[:, 0]
        x_N, y_N = torch.randn(2, len(place_N), generator=generator).unbind()
        turned_N2 = torch.stack([x_N, rho_N * x_N + (1 - rho_N.square()).sqrt() * y_N], dim=1)
        luck_2N = torch.rand(2, len(place_N), generator=generator)
        up_N = luck_2N[0] < self.up_N.sigmoid()
        return torch.cat([mean_N2 + scale_N2 * turned_N2, up_N[:, None].to(mean_N2.dtype)], dim=1), luck_2N[1] < self.end_N.sigmoid()
