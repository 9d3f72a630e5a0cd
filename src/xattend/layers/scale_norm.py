"""Channels of a map divided by their root mean square over the picture, and nothing taken from them: an empty ground stays empty.

    y = w x / s + b        s^2 = mean of x^2 over a group of channels of one picture

Shapes: N pictures, C channels, G groups of channels, H x W places.

>>> ScaleNorm(1, 2)(torch.tensor([[[[3.0]], [[0.0]]]])).flatten().tolist()[1]
0.0
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

FLAT = 1e-3  # a map that is zero everywhere stays so


class _Scaled(torch.autograd.Function):
    """y = w x / s + b with s^2 = mean of x^2 over a group of channels of a picture, and its gradient, in the type of x.

    dx = g w / s - x sum(g w x) / (n s^3)        n numbers in a group
    """

    @staticmethod
    def forward(ctx: Any, map_NCHW: Tensor, weight_C: Tensor, bias_C: Tensor, groups: int) -> Tensor:
        square_NC = torch.linalg.vector_norm(map_NCHW, dim=(2, 3), dtype=torch.promote_types(map_NCHW.dtype, torch.float32)).square()
        mean_NG = square_NC.view(len(square_NC), groups, -1).sum(dim=2) / (map_NCHW[0].numel() // groups)
        inverse_NC = (mean_NG + FLAT).rsqrt().repeat_interleave(map_NCHW.shape[1] // groups, dim=1)
        ctx.save_for_backward(map_NCHW, weight_C, inverse_NC)
        ctx.groups = groups
        return torch.addcmul(_over(bias_C[None], map_NCHW), map_NCHW, _over(weight_C * inverse_NC, map_NCHW))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (g_NCHW,), (map_NCHW, weight_C, inverse_NC) = gradients, ctx.saved_tensors
        along_NC = (g_NCHW * map_NCHW).sum(dim=(2, 3), dtype=inverse_NC.dtype)
        along_NG = (weight_C * along_NC).view(len(along_NC), ctx.groups, -1).sum(dim=2) / (map_NCHW[0].numel() // ctx.groups)
        back_NC = -inverse_NC.pow(3) * along_NG.repeat_interleave(map_NCHW.shape[1] // ctx.groups, dim=1)
        dx_NCHW = torch.mul(g_NCHW, _over(weight_C * inverse_NC, map_NCHW)).addcmul_(map_NCHW, _over(back_NC, map_NCHW))
        return dx_NCHW, (along_NC * inverse_NC).sum(dim=0), g_NCHW.sum(dim=(0, 2, 3), dtype=inverse_NC.dtype), None


def _over(each_NC: Tensor, map_NCHW: Tensor) -> Tensor:
    """A number for each channel, over all places of a map, in its type."""
    return each_NC.to(map_NCHW.dtype)[:, :, None, None]


class ScaleNorm(nn.Module):
    """Each group of channels by its root mean square over the picture, and nothing taken from it."""

    def __init__(self, groups: int, width: int) -> None:
        super().__init__()
        self.groups = groups
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, map_NCHW: Tensor) -> Tensor:
        scaled: Tensor = _Scaled.apply(map_NCHW, self.weight, self.bias, self.groups)  # type: ignore[no-untyped-call]
        return scaled
