"""A language model: a decoder with nothing to look at.

    p(y) = prod_t p(y_t | y_<t),   s_t = cell(s_{t-1}, e(y_{t-1})),   p = softmax(V s_t + c)

Each row is a sequence of its own, so perplexity is that of separate rows, end marks included. Prediction continues a
given beginning.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import nn

from xattend.attention.base import Attention
from xattend.attention.none import NoAttention
from xattend.decoders.base import Decoder
from xattend.objectives.base import Objective
from xattend.registry import register
from xattend.search.base import Search
from xattend.systems.answers import prediction, token_scores
from xattend.systems.base import System
from xattend.systems.parts import Parts
from xattend.types import Batch, Loss, Memory, Prediction


@register("system", "language-model")
class LanguageModel(System):
    """Any decoder, any cell."""

    uses = ("decoder", "objective")
    needs_source = False

    def __init__(
        self, parts: Parts, *,
        init_range: Annotated[float | None, "draw every weight evenly from [-r, r]"] = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.target = parts.target

        def attention(query_size: int) -> Attention:
            return NoAttention(query_size, 0)

        self.decoder: Decoder = parts.build("decoder", parts.target.space, 0, attention)
        self.objective: Objective = parts.build("objective")
        if init_range is not None:
            for weight in self.parameters():
                nn.init.uniform_(weight, -init_range, init_range)

    def _nothing(self, batch: Batch) -> Memory:
        return Memory.empty(len(batch), self.decoder.output.weight)

    def loss(self, batch: Batch) -> Loss:
        batch = self.objective.rows(batch)
        assert batch.target is not None
        loss: Loss = self.objective(self.decoder, self._nothing(batch), batch.target)
        return loss

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        """Each row's target, without its end mark, is a beginning to go on from."""
        assert batch.target is not None
        rows = zip(batch.target.values.tolist(), batch.target.lengths_B.tolist(), strict=True)
        beginnings = [ids[1 : length - 1] for ids, length in rows]
        found = search.search(self.decoder, self._nothing(batch), prefix=beginnings, attention=attention)
        return [prediction(hypotheses, self.target, [], (0,)) for hypotheses in found]

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        assert batch.target is not None
        return token_scores(self.decoder(self._nothing(batch), batch.target.values[:, :-1]), batch.target)
