"""A classifier: an encoder, and a softmax over the target's words on its summary.

    p(y | x) = softmax(W summary + b)

With encoder `glimpses` it is the soft-window classifier of DRAW (Gregor et al. 2015, section 4.1); with `dense` and `cnn`, what RAM is
compared with. Every row's target is one unit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.encoders.base import Encoder
from xattend.encoders.glimpses import Glimpses
from xattend.layers.dropout import Dropout
from xattend.objectives.base import as_loss
from xattend.registry import register
from xattend.search.base import Search
from xattend.systems.answers import prediction
from xattend.systems.base import System
from xattend.systems.label import Label, label_scores, labels_of, memory_of
from xattend.systems.looked import traces
from xattend.systems.parts import Parts
from xattend.types import Batch, Loss, Memory, Prediction


@register("system", "classify")
class Classify(System):
    """Any encoder, one word a row."""

    uses = ("encoder",)

    def __init__(
        self, parts: Parts, *,
        dropout: Annotated[float, "on the summary"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        assert parts.source is not None
        self.target = parts.target
        self.encoder: Encoder = parts.build("encoder", parts.source.space)
        self.dropout = Dropout(dropout)
        self.label = Label(self.encoder.size, parts.target.space.symbols())
        self.glimpses = isinstance(self.encoder, Glimpses)

    def read(self, batch: Batch) -> Tensor:
        assert batch.source is not None
        memory: Memory = self.encoder(batch.source)
        summary_BD: Tensor = self.dropout(memory.summary_BD)
        return summary_BD

    def loss(self, batch: Batch) -> Loss:
        assert batch.target is not None
        nll = F.cross_entropy(self.label(self.read(batch)), labels_of(batch.target), reduction="sum")
        return as_loss(nll, nll, batch.target)

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        found = search.search(self.label, memory_of(self.read(batch)))
        answers = [prediction(hypotheses, self.target, [], (0,)) for hypotheses in found]
        if attention and isinstance(self.encoder, Glimpses):
            assert batch.source is not None
            _, where = self.encoder.walk(batch.source.values[:, 0])
            answers = [replace(one, trace=trace) for one, trace in zip(answers, traces([self.encoder.window], [where]), strict=True)]
        return answers

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        return label_scores(self.label(self.read(batch)), batch.target)
