"""The Transformer's encoder (Vaswani et al. 2017): self-attention instead of recurrence.

    x = sqrt(d) E w + PE;   each layer: x = residual(self-attention), x = residual(feed-forward)

>>> import torch
>>> encoder = Transformer(Space(vocabulary=10), size=8, layers=1, heads=2, inner=16)
>>> encoder(Padded(torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3).bool())).states_BSD.shape
torch.Size([2, 3, 8])
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from torch import Tensor, nn

from xattend.encoders.base import Encoder, masked_mean, symbol_embedding
from xattend.layers.dot_attention import padding_bias
from xattend.layers.dropout import Dropout
from xattend.layers.positions import Positions
from xattend.layers.transformer import FeedForward, Residual, SelfAttention
from xattend.registry import register
from xattend.types import Memory, Padded, Space


class _Layer(nn.Module):
    def __init__(
        self, width: int, heads: int, inner: int, dropout: float, inner_dropout: float, weight_dropout: float, pre_norm: bool, key: int | None
    ) -> None:
        super().__init__()
        self.look, self.think = SelfAttention(width, heads, weight_dropout, key), FeedForward(width, inner, inner_dropout)
        self.around_look, self.around_think = (Residual(width, dropout, pre_norm) for _ in range(2))

    def forward(self, x_BSD: Tensor, bias_B1TS: Tensor | None) -> Tensor:
        x_BSD = self.around_look.after(x_BSD, self.look(self.around_look.before(x_BSD), bias_B1TS))
        return self.around_think.after(x_BSD, self.think(self.around_think.before(x_BSD)))


@register("encoder", "transformer")
class Transformer(Encoder):
    """Layers of self-attention over the whole source."""

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width"] = 256,
        layers: Annotated[int, "how many"] = 3,
        heads: Annotated[int, "in each layer"] = 4,
        inner: Annotated[int, "width inside the feed-forward layers"] = 1024,
        key: Annotated[int | None, "width of a head's queries and keys in self-attention; by default size / heads"] = None,
        dropout: Annotated[float, "on word vectors and every sublayer"] = 0.1,
        inner_dropout: Annotated[float | None, "inside the feed-forward layers; by default as dropout, and 0 in the paper"] = None,
        weight_dropout: Annotated[float, "on attention weights"] = 0.0,
        norm: Annotated[Literal["pre", "post"], "layer norm before a sublayer, or after it as in the paper"] = "pre",
        positions: Annotated[Literal["sinusoidal", "learned", "none"], "how a token knows its place"] = "sinusoidal",
        longest: Annotated[int, "positions of the learned table"] = 512,
    ) -> None:  # fmt: skip
        super().__init__()
        self.size = size
        self.embedding = symbol_embedding(space.symbols(), size)
        self.positions = Positions(positions, size, longest)
        self.dropout = Dropout(dropout)
        inside = dropout if inner_dropout is None else inner_dropout
        self.layers = nn.ModuleList([_Layer(size, heads, inner, dropout, inside, weight_dropout, norm == "pre", key) for _ in range(layers)])
        self.last_norm = nn.LayerNorm(size) if norm == "pre" else nn.Identity()

    def forward(self, source: Padded) -> Memory:
        x_BSD = self.embedding(source.values) * math.sqrt(self.size)
        x_BSD = self.dropout(x_BSD + self.positions(0, x_BSD.shape[1], x_BSD))
        bias_B11S = padding_bias(source.mask_BS, x_BSD)
        for layer in self.layers:
            x_BSD = layer(x_BSD, bias_B11S)
        x_BSD = self.last_norm(x_BSD)
        return Memory(x_BSD, source.mask_BS, masked_mean(x_BSD, source.mask_BS), (x_BSD.shape[1],))
