"""DRAW's window (glimpses/gaussian.py) with a backward of its own, for loops that keep their own gradients.

Both filter banks of a window are one tensor: F[0] lies across the picture, F[1] down it, so the picture must be square.

    e_ja = a - mu_j,   F = softmax_a(-s e^2),   s = 1 / 2 sigma^2,   mu_j = g + u_j d                (19 to 26; u_j = j - N/2 - 1/2)
    dL/dk = F (dL/dF - sum_a F dL/dF)                                                               k = -s e^2
    dL/dmu = 2 s sum_a e dL/dk,   dL/dg = sum_j dL/dmu_j,   dL/dd = sum_j u_j dL/dmu_j,   dL/dlog sigma^2 = s sum e^2 dL/dk

    read:   q = Fy x,  r = i q Fx^T              dL/dq = i dL/dr Fx,    dL/dFx = i dL/dr^T q,   dL/dFy = dL/dq x^T,   dL/dx = Fy^T dL/dq
    write:  v = Fy^T (w / i),  c += v Fx         dL/dv = dL/dc Fx^T,    dL/dFx = v^T dL/dc,     dL/dFy = w/i dL/dv^T,  dL/dw = Fy dL/dv / i

Pictures are as `Gaussian.bind` leaves them, rows outermost. Autograd through Gaussian is the reference in tests.

>>> from xattend.types import Space
>>> window = Gaussian(Space(features=(1, 5, 5)), size=3)
>>> where_NP, picture_BHc = torch.tensor([[0.0, 0.0, -6.0, 0.0, 0.0]]), torch.arange(25.0).view(1, 5, 5)
>>> read(bank(window, where_NP), picture_BHc)[0].round().tolist()
[[0.0, 2.0, 4.0, 10.0, 12.0, 14.0, 20.0, 22.0, 24.0]]

Shapes: N pictures, P numbers that place a window, n filters along a side, S pixels along a side, C channels, c = C x S, R = n x C x n.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from xattend.glimpses.base import Glimpse
from xattend.glimpses.gaussian import STRIDE, WIDTH, Gaussian


class Bank(NamedTuple):
    """Both filter banks of a window, and what their backward needs."""

    window: Gaussian
    filters_N2nS: Tensor
    apart_N2nS: Tensor
    sharp_N1: Tensor
    stride_N1: Tensor
    free_N2: Tensor
    intensity_N1: Tensor

    @property
    def across(self) -> Tensor:
        return self.filters_N2nS[:, 0]

    @property
    def down(self) -> Tensor:
        return self.filters_N2nS[:, 1]


def fits(window: Glimpse) -> bool:
    """Whether this is such a window, on a square picture."""
    return isinstance(window, Gaussian) and window.height == window.width


def bank(window: Gaussian, where_NP: Tensor) -> Bank:
    side, n = window.width, window.side
    zoom_N2 = where_NP[:, 2:4]
    kept_N2 = torch.cat([zoom_N2[:, :1].clamp(*WIDTH), zoom_N2[:, 1:].clamp(*STRIDE)], dim=1)
    sharp_N1, stride_N1 = (-kept_N2[:, :1]).exp_().mul_(0.5), kept_N2[:, 1:].exp().mul_((side - 1) / (n - 1))
    centre_N2 = (where_NP[:, :2] + 1).mul_((side + 1) / 2)
    mu_N2n = torch.addcmul(centre_N2[:, :, None], stride_N1[:, :, None], window.steps)
    apart_N2nS = window.across - mu_N2n[..., None]
    filters_N2nS = apart_N2nS.square().mul_(-sharp_N1[:, :, None, None]).softmax(dim=3)
    return Bank(window, filters_N2nS, apart_N2nS, sharp_N1, stride_N1, kept_N2 == zoom_N2, where_NP[:, 4:].exp())


def unbank(was: Bank, d_across_NnS: Tensor, d_down_NnS: Tensor, d_intensity_N1: Tensor) -> Tensor:
    """The gradient of the numbers that place a window: d_where_NP. That of the intensity is given as that of its logarithm."""
    weighted = was.filters_N2nS * torch.stack([d_across_NnS, d_down_NnS], dim=1)
    pulled = weighted.addcmul_(was.filters_N2nS, weighted.sum(dim=3, keepdim=True), value=-1).mul_(was.apart_N2nS)
    d_mu_N2n = pulled.sum(dim=3).mul_(2 * was.sharp_N1[:, :, None])
    d_width_N1 = pulled.mul_(was.apart_N2nS).flatten(1).sum(dim=1, keepdim=True).mul_(was.sharp_N1)
    d_stride_N1 = (d_mu_N2n.sum(dim=1) @ was.window.steps)[:, None] * was.stride_N1
    d_zoom_N2 = torch.cat([d_width_N1, d_stride_N1], dim=1).mul_(was.free_N2)  # what was cut has no gradient
    return torch.cat([d_mu_N2n.sum(dim=2).mul_((was.window.width + 1) / 2), d_zoom_N2, d_intensity_N1], dim=1)


def read(through: Bank, picture_NHc: Tensor) -> tuple[Tensor, Tensor]:
    """patch_NR, and the filtered rows, which backward needs."""
    rows_NncS = torch.bmm(through.down, picture_NHc).view(len(picture_NHc), -1, through.window.width)
    return torch.bmm(rows_NncS, through.across.transpose(1, 2)).flatten(1).mul_(through.intensity_N1), rows_NncS


def unread(
    d_patch_NR: Tensor, through: Bank, picture_NHc: Tensor, rows_NncS: Tensor, patch_NR: Tensor, since: int
) -> tuple[Tensor, Tensor]:
    """d_where_NP, and the gradient of the picture's columns from `since` on; nobody asks for those before."""
    count, n = len(d_patch_NR), through.window.side
    d_intensity_N1 = (d_patch_NR * patch_NR).sum(dim=1, keepdim=True)
    d_faint = (d_patch_NR * through.intensity_N1).view(count, -1, n)
    d_rows_Nnc = torch.bmm(d_faint, through.across).view(count, n, -1)
    d_across_NnS = torch.bmm(d_faint.transpose(1, 2), rows_NncS)
    d_down_NnS = torch.bmm(d_rows_Nnc, picture_NHc.transpose(1, 2))
    d_picture_NHc = torch.bmm(through.down.transpose(1, 2), d_rows_Nnc[:, :, since:])
    return unbank(through, d_across_NnS, d_down_NnS, d_intensity_N1), d_picture_NHc


def write(through: Bank, patch_NR: Tensor, canvas_NHc: Tensor) -> tuple[Tensor, Tensor]:
    """Adds to the canvas; gives the patch behind its intensity and the rows made of it, which backward needs."""
    count, n, side = len(patch_NR), through.window.side, through.window.width
    faint_Nnc = (patch_NR / through.intensity_N1).view(count, n, -1)
    rows_NHcn = torch.bmm(through.down.transpose(1, 2), faint_Nnc).view(count, -1, n)
    canvas_NHc.view(count, -1, side).baddbmm_(rows_NHcn, through.across)
    return faint_Nnc, rows_NHcn


def unwrite(d_canvas_NHc: Tensor, through: Bank, faint_Nnc: Tensor, rows_NHcn: Tensor) -> tuple[Tensor, Tensor]:
    """d_patch_NR and d_where_NP."""
    count, side = len(d_canvas_NHc), through.window.width
    d_lines = d_canvas_NHc.view(count, -1, side)  # a row of one channel each
    d_rows_NHc = torch.bmm(d_lines, through.across.transpose(1, 2)).view(count, side, -1)
    d_across_NnS = torch.bmm(rows_NHcn.transpose(1, 2), d_lines)
    d_faint_Nnc = torch.bmm(through.down, d_rows_NHc)
    d_down_NnS = torch.bmm(faint_Nnc, d_rows_NHc.transpose(1, 2))
    d_intensity_N1 = (d_faint_Nnc * faint_Nnc).flatten(1).sum(dim=1, keepdim=True).neg_()
    return d_faint_Nnc.flatten(1) / through.intensity_N1, unbank(through, d_across_NnS, d_down_NnS, d_intensity_N1)
