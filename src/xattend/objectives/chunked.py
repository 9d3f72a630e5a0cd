"""Output layer and cross entropy together, a few tokens at a time: [tokens x vocabulary] never stands whole in memory.

    logits = h W^T + b;   nll = logsumexp(logits) - logit of the label;   d nll / d logits = softmax - one-hot

The loss is a sum, so all that comes from above in the backward pass is one number: the gradients of h, W and b can be
made in the forward pass, while a chunk's logits are still in the cache, and only be multiplied later.

>>> hidden, weight, bias = torch.zeros(3, 4), torch.zeros(5, 4), torch.zeros(5)
>>> total, nll = chunked_likelihood(hidden, weight, bias, torch.tensor([0, 1, 4]), 0.0)
>>> round(float(total), 4)  # three times log 5
4.8283

Shapes: N tokens, V vocabulary, D width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from xattend.layers.precision import in_float32, of_products

CHUNK = 1 << 21  # logits at a time: 8 MB of float32


def chunked_likelihood(
    hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, labels_N: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """(total, nll), both summed, as `negative_log_likelihood` of the logits gives them. Only `total` has a gradient."""
    products = of_products() or hidden_ND.dtype
    total, nll = _Chunked.apply(hidden_ND, weight_VD, bias_V, labels_N, smoothing, products)  # type: ignore[no-untyped-call]
    return total, nll


class _Chunked(torch.autograd.Function):
    @staticmethod
    @in_float32  # but for the products
    def forward(
        ctx: Any, hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, labels_N: Tensor, smoothing: float, products: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        learns = any(ctx.needs_input_grad)
        vocabulary = weight_VD.shape[0]
        rows = max(1, CHUNK // vocabulary)
        d_hidden_ND = torch.empty_like(hidden_ND) if learns else None
        d_weight_VD, d_bias_V = (torch.zeros_like(weight_VD), torch.zeros_like(bias_V)) if learns else (None, None)
        total, nll = hidden_ND.new_zeros(()), hidden_ND.new_zeros(())
        factor_ND, factor_VD, added_V = hidden_ND.to(products), weight_VD.to(products), bias_V.to(products)
        for start in range(0, len(hidden_ND), rows):
            h, labels = factor_ND[start : start + rows], labels_N[start : start + rows, None]
            logits = torch.addmm(added_V, h, factor_VD.t()).to(hidden_ND.dtype)
            highest = logits.amax(dim=1, keepdim=True)
            logits -= highest
            picked = logits.gather(1, labels).sum()
            mean = logits.mean(dim=1).sum() if smoothing else picked
            sums = logits.exp_().sum(dim=1, keepdim=True)
            normaliser = sums.log().sum()
            nll += normaliser - picked
            total += normaliser - (1 - smoothing) * picked - smoothing * mean
            if d_hidden_ND is not None and d_weight_VD is not None and d_bias_V is not None:
                logits /= sums  # the probabilities; from here on the gradient
                logits.scatter_add_(1, labels, logits.new_full((), smoothing - 1).expand_as(labels))
                if smoothing:
                    logits -= smoothing / vocabulary
                d_bias_V += logits.sum(dim=0)
                if products is logits.dtype:
                    torch.mm(logits, weight_VD, out=d_hidden_ND[start : start + rows])
                    d_weight_VD.addmm_(logits.t(), h)
                else:
                    error = logits.to(products)
                    d_hidden_ND[start : start + rows] = error @ factor_VD
                    d_weight_VD += error.t() @ h
        ctx.save_for_backward(*([] if not learns else [d_hidden_ND, d_weight_VD, d_bias_V]))
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_total: Tensor, _: Tensor) -> tuple[Any, ...]:
        return (*[gradient * d_total for gradient in ctx.saved_tensors], None, None, None)
