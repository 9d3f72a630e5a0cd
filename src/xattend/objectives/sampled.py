"""Loss on a random sample of the output words, for large vocabularies (Jean et al. 2015).

    L = - sum_t log( exp(logit of y_t) / sum over C of exp(logit) ),   C = the batch's own target words + a uniform sample

A uniform proposal needs no correction term: it is the same for every word. The gradient reaches the rows of C alone.

>>> Sampled(words=2000).words
2000
"""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import Field

from xattend.decoders.base import Decoder
from xattend.objectives.base import Objective, as_loss, inputs_and_labels, real
from xattend.objectives.chunked import chunked_likelihood
from xattend.objectives.cross_entropy import CrossEntropy
from xattend.registry import register
from xattend.types import Loss, Memory, Padded


@register("objective", "sampled")
class Sampled(Objective):
    """Softmax over a few words. The logged `nll` is over those words too; evaluation uses all words."""

    def __init__(self, *, words: Annotated[int, Field(gt=0), "words drawn for each batch, besides its own"] = 1000) -> None:
        super().__init__()
        self.words = words
        self.whole = CrossEntropy()

    def forward(self, decoder: Decoder, memory: Memory, target: Padded) -> Loss:
        vocabulary = decoder.output.out_features
        if not self.training or self.words >= vocabulary:
            whole: Loss = self.whole(decoder, memory, target)
            return whole
        inputs_BT, labels_BT, mask_BT = inputs_and_labels(target)
        labels_N = labels_BT[mask_BT]
        drawn = torch.randint(vocabulary, (self.words,), device=labels_N.device)
        candidates_C = torch.unique(torch.cat([labels_N, drawn]))  # sorted, so a label's place is found by bisection
        places_N = torch.searchsorted(candidates_C, labels_N)
        hidden_ND = real(decoder.hidden(memory, inputs_BT), mask_BT)
        weight_CD, bias_C = decoder.output.weight[candidates_C], decoder.output.bias[candidates_C]
        return as_loss(*chunked_likelihood(hidden_ND, weight_CD, bias_C, places_N, 0.0), target)
