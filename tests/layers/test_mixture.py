"""The mixture density of pen points, beside torch's own distributions."""

from __future__ import annotations

import math

import torch
from torch import distributions

from xattend.layers.mixture import Mixture, numbers


def reference(outputs_NO: torch.Tensor, gaussians: int) -> distributions.MixtureSameFamily:
    """The same mixture, made of covariances."""
    pi, mean, scale, rho, _ = outputs_NO.split([gaussians, 2 * gaussians, 2 * gaussians, gaussians, 2], dim=1)
    mean_NM2, sigma_NM2 = (part.view(-1, 2, gaussians).transpose(1, 2) for part in (mean, scale.exp()))
    across = 0.999 * rho.tanh() * sigma_NM2.prod(dim=2)
    covariance = torch.diag_embed(sigma_NM2.square())
    covariance[..., 0, 1] = covariance[..., 1, 0] = across
    return distributions.MixtureSameFamily(distributions.Categorical(logits=pi), distributions.MultivariateNormal(mean_NM2, covariance))


def test_the_density_is_that_of_torch() -> None:
    outputs, moves = torch.randn(50, numbers(4), dtype=torch.float64), torch.randn(50, 2, dtype=torch.float64)
    torch.testing.assert_close(Mixture.of(outputs).log_density(moves), reference(outputs, 4).log_prob(moves))


def test_pen_and_end_are_bernoulli() -> None:
    outputs = torch.zeros(2, numbers(1))
    outputs[:, -2], outputs[:, -1] = math.log(3), -math.log(4)  # up in 3 of 4, the end in 1 of 5
    logs = Mixture.of(outputs).log_likelihood(torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), torch.tensor([False, True]))
    wanted = [math.log(4 / 5) - math.log(2 * math.pi) + math.log(3 / 4), math.log(1 / 5)]
    torch.testing.assert_close(logs, torch.tensor(wanted))


def test_samples_have_the_moments_of_the_density() -> None:
    outputs = torch.tensor([[0.0, 0.0, 1.0, -1.0, 0.5, 0.5, -1.0, -1.0, 0.0, 0.0, 0.8, 0.8, 1.1, -30.0]]).expand(20_000, -1)
    points, ends = Mixture.of(outputs).draw(torch.Generator().manual_seed(1))
    known = reference(outputs[:1], 2)
    torch.testing.assert_close(points[:, :2].mean(dim=0), known.mean[0], atol=0.03, rtol=0)
    torch.testing.assert_close(points[:, :2].var(dim=0), known.variance[0], atol=0.05, rtol=0.03)
    assert abs(float(points[:, 2].mean()) - 1 / (1 + math.exp(-1.1))) < 0.02
    assert not ends.any()


def test_bias_makes_samples_narrow() -> None:
    outputs = torch.randn(1, numbers(3)).expand(2000, -1)
    spread = [Mixture.of(outputs, bias).draw(torch.Generator().manual_seed(1))[0][:, :2].std() for bias in (0.0, 3.0)]
    assert spread[1] < spread[0]
    one = torch.zeros(1, numbers(2))
    one[0, 0] = 1.0
    torch.testing.assert_close(Mixture.of(one, 1.0).logs_NM, torch.tensor([[2.0, 0.0]]).log_softmax(dim=1))
    torch.testing.assert_close(Mixture.of(one, 1.0).scale_N2M, torch.full((1, 2, 2), -1.0))
