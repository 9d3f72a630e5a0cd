"""Cross entropy under teacher forcing, with or without label smoothing (Szegedy et al. 2016).

    L = - sum_t log p(y_t | y_<t, x)

Only real positions reach the output layer: padding costs no product with the vocabulary.

>>> CrossEntropy(label_smoothing=0.1).smoothing
0.1
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from xattend.decoders.base import Decoder
from xattend.objectives.base import Objective, as_loss, inputs_and_labels, real
from xattend.objectives.chunked import chunked_likelihood
from xattend.registry import register
from xattend.types import Loss, Memory, Padded


@register("objective", "cross-entropy")
class CrossEntropy(Objective):
    """The usual objective."""

    def __init__(
        self, *,
        label_smoothing: Annotated[float, Field(ge=0, lt=1), "share of the target spread over all words"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.smoothing = label_smoothing

    def forward(self, decoder: Decoder, memory: Memory, target: Padded) -> Loss:
        inputs_BT, labels_BT, mask_BT = inputs_and_labels(target)
        hidden_ND, output = real(decoder.hidden(memory, inputs_BT), mask_BT), decoder.output
        smoothing = self.smoothing if self.training else 0.0
        return as_loss(*chunked_likelihood(hidden_ND, output.weight, output.bias, labels_BT[mask_BT], smoothing), target)
