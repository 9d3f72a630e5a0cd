"""Random numbers that a picture determines: draws for evaluation that are the same whichever pictures share its batch, and every time.

    u_j = frac(1000 sum_i w_ij x_i)      w fixed, drawn once from a seed

Different pictures have different numbers, and those of one picture have nothing to do with each other.

>>> picture_BCHW = torch.rand(3, 1, 4, 4)
>>> numbers_BN = uniform(picture_BCHW, 5)
>>> torch.allclose(uniform(picture_BCHW[1:2], 5), numbers_BN[1:2]), bool(((numbers_BN >= 0) & (numbers_BN < 1)).all())
(True, True)
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

SCALE = 1000.0
EDGE = 1e-6  # a normal number needs a uniform one that is neither 0 nor 1


@lru_cache(maxsize=8)
def _weights(pixels: int, count: int) -> Tensor:
    return torch.rand(pixels, count, generator=torch.Generator().manual_seed(20140624), dtype=torch.float64)


def uniform(picture_BCHW: Tensor, count: int) -> Tensor:
    """So many numbers in [0, 1) for each picture: [B, count]."""
    flat_BF = picture_BCHW.detach().flatten(1).double().cpu()
    return (SCALE * (flat_BF @ _weights(flat_BF.shape[1], count))).frac().to(picture_BCHW)


def normal(picture_BCHW: Tensor, count: int) -> Tensor:
    """The same, normally distributed."""
    found_BN: Tensor = torch.special.ndtri(uniform(picture_BCHW, count).clamp(EDGE, 1 - EDGE))
    return found_BN
