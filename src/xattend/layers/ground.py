"""Figure and ground of drawn pictures: the ground is the shade that most pixels have, their median.

Shapes: N pictures, C channels, H x W pixels, S places of a grid.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

Contrast = Literal["kept", "even", "ink"]
FLAT = 1e-3  # a picture of one shade has no contrast to even out


def contrasted(pixels_NCHW: Tensor, contrast: Contrast) -> Tensor:
    """Pixels, shares of 255, as the first convolution sees them."""
    if contrast == "kept":
        return pixels_NCHW * 2 - 1  # centred: shares of 255 are all positive
    ground_NC11 = pixels_NCHW.flatten(2).median(dim=2).values[:, :, None, None]
    even_NCHW = (pixels_NCHW - ground_NC11) / (pixels_NCHW.std(dim=(1, 2, 3), keepdim=True) + FLAT)
    if contrast == "even":
        return even_NCHW
    # ink is what there is less of: the long tail of the shades, which draws their mean away from their median
    return even_NCHW * torch.where(even_NCHW.mean(dim=(1, 2, 3), keepdim=True) < 0, -1.0, 1.0)


def figures(even_NCHW: Tensor, grid: tuple[int, int], least: float) -> Tensor:
    """Which places of a grid are figure, [N, S]: at least such a share of their pixels lies a standard deviation or more off the ground. All places of a
    picture that has none.

    >>> picture = torch.zeros(1, 1, 4, 4)
    >>> picture[..., :2, :3] = 2.0
    >>> figures(picture, (2, 2), 0.6).tolist(), figures(picture, (2, 2), 0.5).tolist()
    ([[True, False, False, False]], [[True, True, False, False]])
    """
    off_N1HW = (even_NCHW.abs().amax(dim=1, keepdim=True) >= 1).float()
    figure_NS = nn.functional.adaptive_avg_pool2d(off_N1HW, grid).flatten(1) >= least
    return figure_NS | ~figure_NS.any(dim=1, keepdim=True)
