"""The Transformer's decoder (Vaswani et al. 2017): masked self-attention, attention to the source, feed-forward.

The attention to the source is whatever mechanism the recipe names; multi-head over scaled-dot is the paper's. Step by
step, keys and values of earlier positions come from a cache. A mechanism without a context (none: option 1) gives
the decoder the source's summary at its first position, as an RNN gets it in its initial state.

Shapes: B batch, T target steps, D width, S source positions, H heads (of all layers, one after the other), V vocabulary.

>>> from xattend.attention import MultiHead
>>> decoder = Transformer(Space(vocabulary=10), 8, lambda size: MultiHead(size, 8), size=8, layers=1, heads=2, inner=16)
>>> memory = Memory(torch.randn(2, 3, 8), torch.ones(2, 3, dtype=torch.bool), torch.zeros(2, 8))
>>> decoder(memory, torch.full((2, 5), 2)).shape
torch.Size([2, 5, 10])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from xattend.attention.base import Attention, Bound
from xattend.decoders.base import Decoder
from xattend.encoders.base import symbol_embedding
from xattend.layers.cache import Cache
from xattend.layers.dropout import Dropout
from xattend.layers.positions import Positions
from xattend.layers.transformer import FeedForward, Residual, SelfAttention
from xattend.registry import register
from xattend.tree import Tree
from xattend.types import Memory, Space, State, Step


class _Layer(nn.Module):
    def __init__(
        self, attention: Attention, width: int, heads: int, inner: int, dropout: float, inner_dropout: float, weight_dropout: float,
        pre_norm: bool, key: int | None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.attention = attention
        self.mix: nn.Module | None = None
        if attention.context_size:  # multi-head attention has its own last layer, and gives the right width
            fits = attention.context_size == width
            self.mix = nn.Identity() if fits else nn.Linear(attention.context_size, width)
        self.look, self.think = SelfAttention(width, heads, weight_dropout, key), FeedForward(width, inner, inner_dropout)
        self.around_look, self.around_think = (Residual(width, dropout, pre_norm) for _ in range(2))
        self.around_source = Residual(width, dropout, pre_norm) if self.mix is not None else None

    def forward(self, x_BTD: Tensor, bound: Bound, looks: bool) -> tuple[Tensor, Tensor | None]:
        x_BTD = self.around_look.after(x_BTD, self.look(self.around_look.before(x_BTD), None, causal=True))
        weights_BTHS = None
        if looks or self.mix is not None:
            query_BTD = x_BTD if self.around_source is None else self.around_source.before(x_BTD)
            context_BTD, weights_BTHS, _ = self.attention.attend_all(query_BTD, bound, self.attention.start(bound), weights=looks)
            if self.mix is not None and self.around_source is not None:
                x_BTD = self.around_source.after(x_BTD, self.mix(context_BTD))
        return self.around_think.after(x_BTD, self.think(self.around_think.before(x_BTD))), weights_BTHS

    def step(
        self, x_BD: Tensor, bound: Bound, cache: Cache, number: int, attended: Tree, looks: bool
    ) -> tuple[Tensor, Tensor | None, Tree]:
        x_BD = self.around_look.after(x_BD, self.look.step(self.around_look.before(x_BD), cache, number))
        query_BD = x_BD if self.around_source is None else self.around_source.before(x_BD)
        context_BD, weights_BHS, attended = self.attention.attend(query_BD, bound, attended, weights=looks)
        if self.mix is not None and self.around_source is not None:
            x_BD = self.around_source.after(x_BD, self.mix(context_BD))
        x_BD = self.around_think.after(x_BD, self.think(self.around_think.before(x_BD)))
        return x_BD, weights_BHS, attended


@register("decoder", "transformer")
class Transformer(Decoder):
    """Layers of masked self-attention and attention to the source."""

    def __init__(
        self, space: Space, memory_size: int, make_attention: Callable[[int], Attention], *,
        size: Annotated[int, "width"] = 256,
        layers: Annotated[int, "how many"] = 3,
        heads: Annotated[int, "in each layer's self-attention; [attention] has its own"] = 4,
        inner: Annotated[int, "width inside the feed-forward layers"] = 1024,
        key: Annotated[int | None, "width of a head's queries and keys in self-attention; by default size / heads"] = None,
        dropout: Annotated[float, "on word vectors and every sublayer"] = 0.1,
        inner_dropout: Annotated[float | None, "inside the feed-forward layers; by default as dropout, and 0 in the paper"] = None,
        weight_dropout: Annotated[float, "on self-attention weights"] = 0.0,
        norm: Annotated[Literal["pre", "post"], "layer norm before a sublayer, or after it as in the paper"] = "pre",
        positions: Annotated[Literal["sinusoidal", "learned", "none"], "how a token knows its place"] = "sinusoidal",
        longest: Annotated[int, "positions of the learned table"] = 512,
        tie: Annotated[Literal["none", "output", "all"], "share word vectors with the output layer, and with the encoder"] = "none",
    ) -> None:  # fmt: skip
        super().__init__()
        self.size = size
        self.embedding = symbol_embedding(space.symbols(), size)
        self.positions = Positions(positions, size, longest)
        self.dropout = Dropout(dropout)
        inside = dropout if inner_dropout is None else inner_dropout
        pre_norm = norm == "pre"
        self.layers = nn.ModuleList(
            [_Layer(make_attention(size), size, heads, inner, dropout, inside, weight_dropout, pre_norm, key) for _ in range(layers)]
        )
        self.last_norm = nn.LayerNorm(size) if pre_norm else nn.Identity()
        self.output = nn.Linear(size, space.symbols())
        if tie != "none":
            self.output.weight = self.embedding.weight
        looks = any(layer.mix is not None for layer in self._layers())
        self.bridge = nn.Linear(memory_size, size) if memory_size and not looks else None

    def _layers(self) -> list[_Layer]:
        return [layer for layer in self.layers if isinstance(layer, _Layer)]

    def _embed(self, tokens_BT: Tensor, start: int, first_BD: Tensor | None) -> Tensor:
        x_BTD: Tensor = self.embedding(tokens_BT)
        x_BTD = torch.add(self.positions(start, start + tokens_BT.shape[1], x_BTD), x_BTD, alpha=math.sqrt(self.size))
        if first_BD is not None and start == 0:
            x_BTD = torch.cat([x_BTD[:, :1] + first_BD[:, None], x_BTD[:, 1:]], dim=1)
        dropped_BTD: Tensor = self.dropout(x_BTD)
        return dropped_BTD

    def start(self, memory: Memory) -> State:
        bounds = tuple(layer.attention.bind(memory) for layer in self._layers())
        first_BD = None if self.bridge is None else self.bridge(memory.summary_BD)
        moving = {
            "cache": Cache(len(memory.mask_BS), memory.mask_BS.device),
            "attention": tuple(layer.attention.start(bound) for layer, bound in zip(self._layers(), bounds, strict=True)),
            "first": first_BD,
        }
        return State(bounds, moving, shared=not any(layer.attention.stateful for layer in self._layers()))

    def step(self, token_B: Tensor, state: State) -> Step:
        x_BD = self._embed(token_B[:, None], state.moving["cache"].length, state.moving["first"])[:, 0]
        cache = state.moving["cache"].grow()
        attention, seen = [], []
        for number, layer in enumerate(self._layers()):
            attended = state.moving["attention"][number]
            x_BD, weights_BHS, attended = layer.step(x_BD, state.source[number], cache, number, attended, state.looks)
            attention.append(attended)
            if weights_BHS is not None:
                seen.append(weights_BHS)
        moving = {"cache": cache, "attention": tuple(attention), "first": None}
        looked_BHS = torch.cat(seen, dim=1) if len(seen) == len(attention) else None
        return Step(self.output(self.last_norm(x_BD)), state.then(moving), looked_BHS)

    def hidden(self, memory: Memory, tokens_BT: Tensor) -> Tensor:
        return self._all(memory, tokens_BT, looks=False)[0]

    def hidden_and_weights(self, memory: Memory, tokens_BT: Tensor) -> tuple[Tensor, Tensor]:
        hidden_BTD, seen = self._all(memory, tokens_BT, looks=True)
        return hidden_BTD, torch.cat(seen, dim=2)

    def _all(self, memory: Memory, tokens_BT: Tensor, looks: bool) -> tuple[Tensor, list[Tensor]]:
        first_BD = None if self.bridge is None else self.bridge(memory.summary_BD)
        x_BTD, seen = self._embed(tokens_BT, 0, first_BD), []
        for layer in self._layers():
            x_BTD, weights_BTHS = layer(x_BTD, layer.attention.bind(memory), looks)
            if weights_BTHS is not None:
                seen.append(weights_BTHS)
        hidden_BTD: Tensor = self.last_norm(x_BTD)
        return hidden_BTD, seen
