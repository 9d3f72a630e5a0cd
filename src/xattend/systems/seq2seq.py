"""Encoder, attention, decoder: a source sequence goes in, a target sequence comes out.

    memory = encoder(x);   p(y | x) = prod_t p(y_t | y_<t, attention(memory))

Sutskever 2014, Cho 2014, Bahdanau 2015, Luong 2015 and the Transformer are recipes of this one system.
"""

from __future__ import annotations

from typing import Annotated, Literal

from torch import nn

from xattend.attention.base import Attention
from xattend.errors import UserError
from xattend.registry import register
from xattend.systems.encoder_decoder import EncoderDecoder
from xattend.systems.parts import Parts


@register("system", "seq2seq")
class Seq2Seq(EncoderDecoder):
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
        self.encoder = parts.build("encoder", parts.source.space)

        def attention(query_size: int) -> Attention:
            built: Attention = parts.build("attention", query_size, self.encoder.size)
            return built

        self.decoder = parts.build("decoder", parts.target.space, self.encoder.size, attention)
        self.objective = parts.build("objective")
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
