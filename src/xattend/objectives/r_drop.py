"""R-Drop (Liang et al. 2021): every row is read twice, with another dropout each time, and the two answers are drawn together.

    L = 1/2 sum_i -log p_i(y) + weight / 4 (KL(p_1 | p_2) + KL(p_2 | p_1))

This is half of the paper's equation 4, so that the loss stays one a token. An update costs twice as much. In evaluation
it is the plain negative log-likelihood.

With d = log p_1 - log p_2, the slopes of the divergences' sum by the logits are

    z_1:   p_1 (d - KL(p_1 | p_2)) + p_1 - p_2           z_2:   -p_2 (d + KL(p_2 | p_1)) - (p_1 - p_2)

>>> RDrop(weight=5.0).readings
2

Shapes: N tokens of one reading, V vocabulary, D width.
"""

from __future__ import annotations

from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor
from torch.autograd.function import once_differentiable

from xattend.decoders.base import Decoder
from xattend.errors import UserError
from xattend.layers.precision import in_float32, of_products
from xattend.objectives.base import Objective, as_loss, inputs_and_labels, real
from xattend.objectives.chunked import CHUNK, chunked_likelihood
from xattend.registry import register
from xattend.types import Loss, Memory, Padded


@register("objective", "r-drop")
class RDrop(Objective):
    """Cross entropy, and two readings of a row that should agree."""

    readings = 2

    def __init__(
        self, *,
        weight: Annotated[float, Field(ge=0), "of the divergence between the two readings"] = 5.0,
        label_smoothing: Annotated[float, Field(ge=0, lt=1), "share of the target spread over all words"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.weight, self.smoothing = weight, label_smoothing

    def forward(self, decoder: Decoder, memory: Memory, target: Padded) -> Loss:
        inputs_BT, labels_BT, mask_BT = inputs_and_labels(target)
        hidden_ND, output = real(decoder.hidden(memory, inputs_BT), mask_BT), decoder.output
        labels_N = labels_BT[mask_BT]
        if not self.training:
            return as_loss(*chunked_likelihood(hidden_ND, output.weight, output.bias, labels_N, 0.0), target)
        first_N, second_N = labels_N[: len(labels_N) // 2], labels_N[len(labels_N) // 2 :]
        if not torch.equal(first_N, second_N):  # two readings of one row would not be compared, but two rows
            raise UserError('objective "r-drop" needs every row twice: its system, or the objective around it, does not read rows again')
        total, nll, apart = agreeing_likelihood(hidden_ND, output.weight, output.bias, first_N, self.smoothing, self.weight)
        rows = len(target.values) // 2
        return as_loss(total, nll, Padded(target.values[:rows], target.mask_BS[:rows]), divergence=apart)


def agreeing_likelihood(
    hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, labels_N: Tensor, smoothing: float, weight: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(total, nll, divergence), each summed over tokens. `hidden_ND` has the first reading's tokens and then the second's; only `total` has a gradient."""
    products = of_products() or hidden_ND.dtype
    total, nll, apart = _Agreeing.apply(hidden_ND, weight_VD, bias_V, labels_N, smoothing, weight, products)  # type: ignore[no-untyped-call]
    return total, nll, apart


class _Agreeing(torch.autograd.Function):
    """A few tokens at a time, gradients in the forward pass, as in objectives/chunked.py."""

    @staticmethod
    @in_float32  # but for the products
    def forward(
        ctx: Any, hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, labels_N: Tensor, smoothing: float, weight: float, products: torch.dtype
    ) -> tuple[Tensor, Tensor, Tensor]:
        vocabulary, width = weight_VD.shape
        hidden_2ND = hidden_ND.view(2, -1, width)
        rows = max(1, CHUNK // (2 * vocabulary))
        d_hidden_2ND, d_weight_VD, d_bias_V = torch.empty_like(hidden_2ND), torch.zeros_like(weight_VD), torch.zeros_like(bias_V)
        total, nll, apart = (hidden_ND.new_zeros(()) for _ in range(3))
        factor_2ND, factor_VD, added_V = hidden_2ND.to(products), weight_VD.to(products), bias_V.to(products)
        for start in range(0, hidden_2ND.shape[1], rows):
            some = slice(start, start + rows)
            h, labels = factor_2ND[:, some].reshape(-1, width), labels_N[some, None].repeat(2, 1)
            log_p = torch.addmm(added_V, h, factor_VD.t()).to(hidden_ND.dtype)
            log_p -= log_p.logsumexp(dim=1, keepdim=True)
            picked, mean = log_p.gather(1, labels).sum(), log_p.mean(dim=1).sum()
            nll -= picked / 2
            total -= ((1 - smoothing) * picked + smoothing * mean) / 2
            p = log_p.exp()
            (p_1, p_2), (log_p_1, log_p_2) = p.chunk(2), log_p.chunk(2)
            d, gap = log_p_1.sub_(log_p_2), p_1 - p_2
            one, two = (p_1 * d).sum(dim=1, keepdim=True), (p_2 * d).sum(dim=1, keepdim=True).neg_()
            apart += (one + two).sum()
            slope = log_p  # d's room is that of its first half, and is used up last
            torch.mul(p_2, d + two, out=log_p_2).neg_().sub_(gap)
            torch.mul(p_1, d - one, out=log_p_1).add_(gap)
            error = slope.mul_(weight / 4).add_(p, alpha=0.5)
            error.scatter_add_(1, labels, error.new_full((), (smoothing - 1) / 2).expand_as(labels))
            error -= smoothing / (2 * vocabulary)
            d_bias_V += error.sum(dim=0)
            error = error.to(products)
            d_hidden_2ND[:, some] = (error @ factor_VD).view(2, -1, width).to(hidden_ND.dtype)
            d_weight_VD += error.t() @ h
        ctx.save_for_backward(d_hidden_2ND.view_as(hidden_ND), d_weight_VD, d_bias_V)
        ctx.mark_non_differentiable(nll, apart)
        return total + weight / 4 * apart, nll, apart

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_total: Tensor, *_: Tensor) -> tuple[Any, ...]:
        return (*[gradient * d_total for gradient in ctx.saved_tensors], None, None, None, None)
