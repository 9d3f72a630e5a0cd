"""Doubly stochastic attention (Xu et al. 2015, Show, Attend and Tell, section 4.2.1): in the end every place should have been looked at.

    L = - sum_t log p(y_t | y_<t, x) + penalty sum_i (1 - sum_t a_ti)^2

Over places the weights of a step sum to one by themselves; the penalty asks the same of each place over the steps. Both sums run over what
is real: no padding, EOS's step included. With several heads, or layers that look, a_ti is their mean.

>>> import torch
>>> weights_BTHS = torch.tensor([[[[0.5, 0.5, 0.0]], [[1.0, 0.0, 0.0]]]])
>>> float(unevenness(weights_BTHS, torch.tensor([[True, True]]), torch.tensor([[True, True, False]])))  # (1 - 1.5)^2 + (1 - .5)^2
0.5

Shapes: B batch, T target steps, H heads, S source positions.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from torch import Tensor

from xattend.decoders.base import Decoder
from xattend.errors import UserError
from xattend.objectives.base import as_loss, inputs_and_labels, real
from xattend.objectives.chunked import chunked_likelihood
from xattend.objectives.cross_entropy import CrossEntropy
from xattend.registry import register
from xattend.types import Loss, Memory, Padded


def unevenness(weights_BTHS: Tensor, steps_BT: Tensor, places_BS: Tensor) -> Tensor:
    """sum_i (1 - sum_t a_ti)^2 over real places i and real steps t, summed over the batch."""
    looks_BS = (weights_BTHS.mean(dim=2) * steps_BT[:, :, None]).sum(dim=1)
    return ((1 - looks_BS).square() * places_BS).sum()


@register("objective", "doubly-stochastic")
class DoublyStochastic(CrossEntropy):
    """Cross entropy, and a penalty on places that were looked at too much or too little."""

    def __init__(
        self, *,
        penalty: Annotated[float, Field(ge=0), "weight of sum_i (1 - sum_t a_ti)^2; 1 in the paper"] = 1.0,
        label_smoothing: Annotated[float, Field(ge=0, lt=1), "share of the target spread over all words"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(label_smoothing=label_smoothing)
        self.penalty = penalty

    def forward(self, decoder: Decoder, memory: Memory, target: Padded) -> Loss:
        if not self.training:
            return super().forward(decoder, memory, target)
        inputs_BT, labels_BT, mask_BT = inputs_and_labels(target)
        hidden_BTD, weights_BTHS = decoder.hidden_and_weights(memory, inputs_BT)
        if not bool(weights_BTHS.any()) and bool(memory.mask_BS.any()):
            raise UserError("objective \"doubly-stochastic\" needs an attention that looks at the source, and this one looks nowhere")
        uneven = unevenness(weights_BTHS, mask_BT, memory.mask_BS)
        output, hidden_ND = decoder.output, real(hidden_BTD, mask_BT)
        total, nll = chunked_likelihood(hidden_ND, output.weight, output.bias, labels_BT[mask_BT], self.smoothing)
        return as_loss(total + self.penalty * uneven, nll, target, uneven=uneven)
