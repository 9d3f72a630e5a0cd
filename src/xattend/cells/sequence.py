"""All steps of a GRU as one autograd function: torch's own goes back through a graph of its steps, and spends most of its time there.

    r, z = sigmoid(x + W h + b),   n = tanh(x_n + r * (W h + b)),   h' = z h + (1 - z) n
    dL/d(r, z, W h + b) = dL/dh' * (a rec r (1-r),  (h - n) z (1-z),  a r),   dL/dx_n = a dL/dh'       a = (1 - z)(1 - n^2),  rec = W h + b of n
    dL/dh = z dL/dh' + W' dL/d(r, z, W h + b)

What multiplies dL/dh' is known when all steps have been made, so it is made for all of them at once; between two matrix products two small operations
are left, and W's gradient is one product over all steps. The cell's plain loop is the reference: tests.

Shapes: B batch, T steps, D width of the state, G = 3 D.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from xattend.layers.precision import of_products, product


def gru(projected_BTG: Tensor, first_BD: Tensor, weight_GD: Tensor, bias_G: Tensor) -> Tensor:
    """outputs_BTD

    >>> gru(torch.zeros(1, 2, 3), torch.ones(1, 1), torch.zeros(3, 1), torch.zeros(3)).tolist()  # z = 1/2, n = 0
    [[[0.5], [0.25]]]
    """
    outputs_BTD: Tensor = _GRU.apply(of_products() or weight_GD.dtype, projected_BTG, first_BD, weight_GD, bias_G)  # type: ignore[no-untyped-call]
    return outputs_BTD


class _GRU(torch.autograd.Function):
    """Within `inference_mode` an operation costs half as much to call; what is handed out is made outside of it."""

    @staticmethod
    def forward(ctx: Any, products: torch.dtype, projected_BTG: Tensor, first_BD: Tensor, weight_GD: Tensor, bias_G: Tensor) -> Tensor:
        outputs_BTD = first_BD.new_empty(len(first_BD), projected_BTG.shape[1], first_BD.shape[1])
        with torch.autocast("cpu", enabled=False):
            ctx.kept, ctx.products = _forth(products, projected_BTG, first_BD, weight_GD, bias_G, outputs_BTD), products
        ctx.save_for_backward(first_BD, weight_GD, outputs_BTD)  # outputs kept on ctx itself would hold it, and never be freed
        return outputs_BTD

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_outputs_BTD: Tensor) -> tuple[Tensor | None, ...]:
        (gates_BTG, n_BTD), (first_BD, weight_GD, outputs_BTD) = ctx.kept, ctx.saved_tensors
        d_gates_BTG, d_first_BD = torch.empty_like(gates_BTG), torch.empty_like(first_BD)
        found = _back(ctx.products, gates_BTG, n_BTD, first_BD, weight_GD, outputs_BTD, d_outputs_BTD, d_gates_BTG, d_first_BD)
        return None, d_gates_BTG, d_first_BD, *(one.clone() for one in found)


@torch.inference_mode()
def _forth(
    products: torch.dtype, x_BTG: Tensor, first_BD: Tensor, weight_GD: Tensor, bias_G: Tensor, outputs_BTD: Tensor
) -> tuple[Tensor, Tensor]:
    """Writes the outputs; gives r, z and W h + b of n side by side, and n."""
    (steps, size), weight_DG = outputs_BTD.shape[1:], weight_GD.to(products).t().contiguous()
    gates_BTG, n_BTD = torch.empty_like(x_BTG, memory_format=torch.contiguous_format), torch.empty_like(outputs_BTD)
    gates, n, outputs, h_BD = gates_BTG.unbind(1), n_BTD.unbind(1), outputs_BTD.unbind(1), first_BD
    (x_rz, x_n), (rz, rec) = ((whole[..., : 2 * size].unbind(1), whole[..., 2 * size :].unbind(1)) for whole in (x_BTG, gates_BTG))
    r, z = (part.unbind(1) for part in gates_BTG[..., : 2 * size].chunk(2, dim=2))
    for t in range(steps):
        product(h_BD, weight_DG, bias_G, out=gates[t])
        rz[t].add_(x_rz[t]).sigmoid_()
        torch.addcmul(x_n[t], r[t], rec[t], out=n[t]).tanh_()
        h_BD = torch.lerp(n[t], h_BD, z[t], out=outputs[t])
    return gates_BTG, n_BTD


@torch.inference_mode()
def _back(
    products: torch.dtype, gates_BTG: Tensor, n_BTD: Tensor, first_BD: Tensor, weight_GD: Tensor, outputs_BTD: Tensor,
    d_outputs_BTD: Tensor, d_gates_BTG: Tensor, d_first_BD: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gradients of W and b; those of the sums that gates are made of, and of the first state, are written where they belong."""
    batch, steps, size = n_BTD.shape
    r, z, rec = gates_BTG.chunk(3, dim=2)
    before_BTD = torch.cat([first_BD[:, None], outputs_BTD[:, :-1]], dim=1)
    factors_BT3D = gates_BTG.new_empty(batch, steps, 3, size)
    of_r, of_z, of_rec = factors_BT3D.unbind(2)
    of_n = (1 - z).addcmul_(n_BTD.square(), z - 1)
    torch.mul(of_n, r, out=of_rec)
    torch.addcmul(of_rec, of_rec, r, value=-1, out=of_r).mul_(rec)
    torch.sub(before_BTD, n_BTD, out=of_z).mul_(z).mul_(1 - z)
    d_h_BTD, weight_GD = torch.empty_like(n_BTD), weight_GD.to(products)
    d_3 = d_gates_BTG.view(batch, steps, 3, size).unbind(1)
    d_h, d_h_wide, factors, d, z_, d_out = d_h_BTD.unbind(1), d_h_BTD[:, :, None].unbind(1), factors_BT3D.unbind(1), d_gates_BTG.unbind(1), z.unbind(1), d_outputs_BTD.unbind(1)
    d_h[-1].copy_(d_out[-1])
    for t in range(steps - 1, -1, -1):
        torch.mul(d_h_wide[t], factors[t], out=d_3[t])
        d_before = torch.addcmul(d_out[t - 1], d_h[t], z_[t], out=d_h[t - 1]) if t else torch.mul(d_h[0], z_[0], out=d_first_BD)
        product(d[t], weight_GD, d_before, out=d_before)
    d_GN, before_ND = d_gates_BTG.flatten(0, 1).t(), before_BTD.flatten(0, 1)
    d_weight_GD, d_bias_G = product(d_GN, before_ND.to(products)), d_gates_BTG.sum(dim=(0, 1))
    torch.mul(d_h_BTD, of_n, out=d_gates_BTG[..., 2 * size :])
    return d_weight_GD, d_bias_G
