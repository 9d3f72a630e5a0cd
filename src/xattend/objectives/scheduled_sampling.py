"""Scheduled sampling (Bengio et al. 2015), decided anew for every token.

    input_t = y_{t-1} with probability 1 - p, else a word drawn from the model's own distribution at step t-1

The drawn word is a constant for the gradient. The target is read step by step, through `step`, so it serves every
decoder; it costs more than teacher forcing, which the fused paths read at once.

>>> ScheduledSampling(probability=0.1).probability
0.1
"""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from xattend.decoders.base import Decoder
from xattend.objectives.base import as_loss, inputs_and_labels, negative_log_likelihood
from xattend.objectives.cross_entropy import CrossEntropy
from xattend.registry import register
from xattend.types import Loss, Memory, Padded


@register("objective", "scheduled-sampling")
class ScheduledSampling(CrossEntropy):
    """Sometimes the decoder reads what it wrote itself."""

    def __init__(
        self, *,
        probability: Annotated[float, Field(ge=0, le=1), "chance that a token is the model's own"] = 0.1,
        label_smoothing: Annotated[float, Field(ge=0, lt=1), "share of the target spread over all words"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(label_smoothing=label_smoothing)
        self.probability = probability

    def forward(self, decoder: Decoder, memory: Memory, target: Padded) -> Loss:
        if not self.training:
            return super().forward(decoder, memory, target)
        inputs_BT, labels_BT, mask_BT = inputs_and_labels(target)
        logits_BTV = self._read(decoder, memory, inputs_BT)
        return as_loss(*negative_log_likelihood(logits_BTV[mask_BT], labels_BT[mask_BT], self.smoothing), target)

    def _read(self, decoder: Decoder, memory: Memory, inputs_BT: Tensor) -> Tensor:
        state, logits = decoder.start(memory), []
        token_B = inputs_BT[:, 0]
        for t in range(inputs_BT.shape[1]):
            step = decoder.step(token_B, state)
            state = step.state
            logits.append(step.logits_BV)
            if t + 1 < inputs_BT.shape[1]:
                drawn_B = step.logits_BV.detach().softmax(dim=-1).multinomial(1).squeeze(1)
                own_B = torch.rand(len(drawn_B), device=drawn_B.device) < self.probability
                token_B = torch.where(own_B, drawn_B, inputs_BT[:, t + 1])
        return torch.stack(logits, dim=1)
