"""DRAW's window (glimpses/gaussian.py) with a backward of its own, for loops that keep their own gradients.

Both filter banks of a window are one tensor: F[0] lies across the picture, F[1] down it, so the picture must be square.

    e_ja = r (a - mu_j),   F = softmax_a(-ln 2 e^2),   r^2 = 1 / (2 sigma^2 ln 2),   mu_j = g + u_j d   (19 to 26; u_j = j - N/2 - 1/2)
    dL/dk = F (dL/dF - sum_a F dL/dF)                                                                  k = -ln 2 e^2
    dL/dmu = 2 ln 2 r sum_a e dL/dk,   dL/dg = sum_j dL/dmu_j,   dL/dd = sum_j u_j dL/dmu_j,   dL/dlog sigma^2 = ln 2 sum e^2 dL/dk

    read:   q = Fy x,  s = i q Fx^T              dL/dq = i dL/ds Fx,    dL/dFx = i dL/ds^T q,   dL/dFy = dL/dq x^T,   dL/dx = Fy^T dL/dq
    write:  v = (w / i) Fx,  c += Fy^T v         dL/dv = Fy dL/dc,      dL/dFx = w^T/i dL/dv,   dL/dFy = v dL/dc^T,   dL/dw = dL/dv Fx^T / i

torch's softmax and its exp are slow, doubly where a result is too small for a normal number, as most of a narrow filter is. So F is made of
powers of 2, which are four times as fast, relative to that of the nearest pixel, which is 1, and none is less than 2^`FAINT`: 28 of those
are nothing beside 1 even in double precision. Products are written so that no large factor but the last is transposed: others take two to
five times as long.

Pictures are as `Gaussian.bind` leaves them, rows outermost. Autograd through Gaussian is the reference in tests.

>>> from xattend.types import Space
>>> window = Gaussian(Space(features=(1, 5, 5)), size=3)
>>> where_NP, picture_BHc = torch.tensor([[0.0, 0.0, -6.0, 0.0, 0.0]]), torch.arange(25.0).view(1, 5, 5)
>>> read(bank(window, where_NP), picture_BHc)[0].round().tolist()
[[0.0, 2.0, 4.0, 10.0, 12.0, 14.0, 20.0, 22.0, 24.0]]

Shapes: N pictures, P numbers that place a window, n filters along a side, S pixels along a side, C channels, c = C x S, R = n x C x n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from xattend.glimpses.base import Glimpse
from xattend.glimpses.gaussian import Gaussian

FAINT = -60.0
LN2 = math.log(2)


class Bank(NamedTuple):
    """Both filter banks of a window, and what their backward needs."""

    window: Gaussian
    filters_2NnS: Tensor
    apart_2NnS: Tensor  # e
    root_N1: Tensor  # r
    stride_N1: Tensor
    intensity_N1: Tensor
    free_N3: Tensor

    @property
    def across(self) -> Tensor:
        return self.filters_2NnS[0]

    @property
    def down(self) -> Tensor:
        return self.filters_2NnS[1]


def fits(window: Glimpse) -> bool:
    """Whether this is such a window, on a square picture."""
    return isinstance(window, Gaussian) and window.height == window.width


def bank(window: Gaussian, where_NP: Tensor) -> Bank:
    side, zoom_N3 = window.width, where_NP[:, 2:]
    kept_N3 = torch.clamp(zoom_N3, window.least, window.most)
    root_N1, stride_N1, intensity_N1 = (kept_N3 * window.powers).exp_().mul_(window.units).chunk(3, dim=1)
    centre_2N1 = where_NP[:, :2].t().contiguous().add_(1).mul_((side + 1) / 2)[..., None]
    mu_2Nn = torch.addcmul(centre_2N1, stride_N1, window.steps)
    nearest_2Nn = mu_2Nn.round().clamp_(1, side).sub_(mu_2Nn).mul_(root_N1).square_()
    apart_2NnS = (window.across - mu_2Nn[..., None]).mul_(root_N1[..., None])
    filters_2NnS = torch.addcmul(nearest_2Nn[..., None], apart_2NnS, apart_2NnS, value=-1).clamp_(min=FAINT).exp2_()
    filters_2NnS.div_(filters_2NnS.sum(dim=3, keepdim=True))
    return Bank(window, filters_2NnS, apart_2NnS, root_N1, stride_N1, intensity_N1, kept_N3 == zoom_N3)


def unbank(was: Bank, d_filters_2NnS: Tensor, d_intensity_N1: Tensor) -> Tensor:
    """The gradient of the numbers that place a window: d_where_NP. That of the filters is used up, that of the intensity is given as that of
    its logarithm."""
    weighted = d_filters_2NnS.mul_(was.filters_2NnS)
    pulled = weighted.addcmul_(was.filters_2NnS, weighted.sum(dim=3, keepdim=True), value=-1).mul_(was.apart_2NnS)
    d_mu_2Nn = pulled.sum(dim=3).mul_(was.root_N1 * (2 * LN2))
    d_width_N1 = pulled.mul_(was.apart_2NnS).sum(dim=3).sum(dim=(0, 2)).mul_(LN2)[:, None]
    (d_x_N1, spread_x_N1), (d_y_N1, spread_y_N1) = (each.chunk(2, dim=1) for each in d_mu_2Nn @ was.window.moments)
    d_where_NP = torch.cat([d_x_N1, d_y_N1, d_width_N1, (spread_x_N1 + spread_y_N1).mul_(was.stride_N1), d_intensity_N1], dim=1)
    d_where_NP[:, 2:].mul_(was.free_N3)  # what was cut has no gradient
    return d_where_NP


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
    d_filters_2NnS = torch.empty_like(through.filters_2NnS)
    torch.bmm(d_faint.transpose(1, 2), rows_NncS, out=d_filters_2NnS[0])
    torch.bmm(d_rows_Nnc, picture_NHc.transpose(1, 2), out=d_filters_2NnS[1])
    d_picture_NHc = torch.bmm(through.down.transpose(1, 2), d_rows_Nnc[:, :, since:])
    return unbank(through, d_filters_2NnS, d_intensity_N1), d_picture_NHc


def write(through: Bank, patch_NR: Tensor, canvas_NHc: Tensor) -> tuple[Tensor, Tensor]:
    """Adds to the canvas; gives the patch behind its intensity and the rows made of it, which backward needs."""
    count, n = len(patch_NR), through.window.side
    faint_Nncn = (patch_NR / through.intensity_N1).view(count, -1, n)
    rows_Nnc = torch.bmm(faint_Nncn, through.across).view(count, n, -1)
    canvas_NHc.baddbmm_(through.down.transpose(1, 2), rows_Nnc)
    return faint_Nncn, rows_Nnc


def unwrite(d_canvas_NHc: Tensor, through: Bank, faint_Nncn: Tensor, rows_Nnc: Tensor) -> tuple[Tensor, Tensor]:
    """d_patch_NR and d_where_NP."""
    d_rows_NncS = torch.bmm(through.down, d_canvas_NHc).view(len(d_canvas_NHc), -1, through.window.width)
    d_faint_Nncn = torch.bmm(d_rows_NncS, through.across.transpose(1, 2))
    d_filters_2NnS = torch.empty_like(through.filters_2NnS)
    torch.bmm(faint_Nncn.transpose(1, 2), d_rows_NncS, out=d_filters_2NnS[0])
    torch.bmm(rows_Nnc, d_canvas_NHc.transpose(1, 2), out=d_filters_2NnS[1])
    d_intensity_N1 = (d_faint_Nncn * faint_Nncn).flatten(1).sum(dim=1, keepdim=True).neg_()
    return d_faint_Nncn.flatten(1) / through.intensity_N1, unbank(through, d_filters_2NnS, d_intensity_N1)
