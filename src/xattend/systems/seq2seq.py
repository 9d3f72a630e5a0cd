"""Encoder, attention, decoder: a source sequence goes in, a target sequence comes out.

    memory = encoder(x);   p(y | x) = prod_t p(y_t | y_<t, attention(memory))

Sutskever 2014, Cho 2014, Bahdanau 2015, Luong 2015 and the Transformer are recipes of this one system.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import nn

from xattend.attention.base import Attention
from xattend.decoders.base import Decoder
from xattend.encoders.base import Encoder, read_once
from xattend.errors import UserError
from xattend.objectives.base import Objective
from xattend.registry import register
from xattend.search.base import Search
from xattend.systems.answers import places, prediction, token_scores
from xattend.systems.base import System
from xattend.systems.parts import Parts
from xattend.types import Batch, Loss, Memory, Prediction


@register("system", "seq2seq")
class Seq2Seq(System):
    """Assembles an encoder, a decoder with its attention, and an objective."""

    uses = ("encoder", "attention", "decoder", "objective")

    def __init__(
        self, parts: Parts, *,
        init_range: Annotated[float | None, "draw every weight evenly from [-r, r], as papers of 2014-15 did"] = None,
        init: Annotated[Literal["own", "xavier"], "xavier: linear layers by Glorot's rule, their biases 0; own: as each part does by itself"] = "own",
    ) -> None:  # fmt: skip
        super().__init__()
        assert parts.source is not None
        self.source, self.target = parts.source, parts.target
        self.encoder: Encoder = parts.build("encoder", parts.source.space)

        def attention(query_size: int) -> Attention:
            built: Attention = parts.build("attention", query_size, self.encoder.size)
            return built

        self.decoder: Decoder = parts.build("decoder", parts.target.space, self.encoder.size, attention)
        self.objective: Objective = parts.build("objective")
        self.objective.wire(self.encoder.size, parts.target.space.symbols())
        if parts.recipe.section("decoder").get("tie") == "all":
            self._share_embedding()
        if init == "xavier":
            self._glorot()
        if init_range is not None:
            for weight in self.parameters():
                nn.init.uniform_(weight, -init_range, init_range)

    def _glorot(self) -> None:
        """Word vectors, also where they are the output layer, stay as they are."""
        words = {id(part.weight) for part in self.modules() if isinstance(part, nn.Embedding)}
        for part in self.modules():
            if isinstance(part, nn.Linear):
                if id(part.weight) not in words:
                    nn.init.xavier_uniform_(part.weight)
                if part.bias is not None:
                    nn.init.zeros_(part.bias)

    def _share_embedding(self) -> None:
        """One table for source words, target words and output layer."""
        if self.encoder.reads != "symbols":
            raise UserError("decoder.tie = \"all\" shares the table of source words, and this encoder reads no words")
        theirs, ours = self.encoder.embedding, self.decoder.get_submodule("embedding")
        assert isinstance(ours, nn.Embedding)
        if theirs.weight.shape != ours.weight.shape or self.target.share != "source":
            raise UserError(
                "decoder.tie = \"all\" needs one vocabulary and one width: set data.target.share = \"source\" and the same "
                f"embedding width (now {tuple(theirs.weight.shape)} and {tuple(ours.weight.shape)})"
            )
        ours.weight = theirs.weight
        self.decoder.output.weight = theirs.weight

    def read(self, batch: Batch) -> Memory:
        """The source, read."""
        assert batch.source is not None
        return read_once(self.encoder, batch.source)

    def loss(self, batch: Batch) -> Loss:
        assert batch.target is not None
        loss: Loss = self.objective(self.decoder, self.read(batch), batch.target)
        return loss

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        assert batch.source is not None
        memory = self.read(batch)
        found = search.search(self.decoder, memory, attention=attention)
        names = self.source.names(batch.source)
        if names is None:
            if len(memory.grid) == 1:  # sounds and films: each row has positions of its own number
                own = [(int(length),) for length in memory.mask_BS.sum(dim=1)]
                return [prediction(hypotheses, self.target, places(grid), grid) for hypotheses, grid in zip(found, own, strict=True)]
            cells, grid = places(memory.grid), memory.grid
            return [prediction(hypotheses, self.target, cells, grid) for hypotheses in found]
        return [
            prediction(hypotheses, self.target, tokens, (len(tokens),)) for hypotheses, tokens in zip(found, names, strict=True)
        ]

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        assert batch.target is not None
        return token_scores(self.decoder(self.read(batch), batch.target.values[:, :-1]), batch.target)

    @torch.inference_mode()
    def look(self, batch: Batch) -> tuple[list[torch.Tensor], tuple[int, ...]]:
        """One look a token of a given target, EOS left out, weights_TS a row; and how the places lie."""
        assert batch.target is not None
        memory = self.read(batch)
        weights_BTS = self.decoder.look(self.decoder.weights(memory, batch.target))
        lengths = zip(batch.target.lengths_B.tolist(), memory.mask_BS.sum(dim=1).tolist(), strict=True)
        return [weights_BTS[row, : t - 2, :s] for row, (t, s) in enumerate(lengths)], memory.grid

    @torch.inference_mode()
    def align(self, batch: Batch) -> list[torch.Tensor]:
        """Where each token of a given target looked, EOS included: one weights_THS a row."""
        assert batch.source is not None
        assert batch.target is not None
        memory = self.read(batch)
        weights_BTHS = self.decoder.weights(memory, batch.target)
        lengths = zip(batch.target.lengths_B.tolist(), memory.mask_BS.sum(dim=1).tolist(), strict=True)
        return [weights_BTHS[row, : t - 1, :, :s] for row, (t, s) in enumerate(lengths)]
