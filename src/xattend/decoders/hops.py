"""Answers by looking several times: each look changes the question that the next one asks.

    u_0 = W_q question + E y_{t-1}
    c_k = attention_k(u_{k-1});   u_k = u_{k-1} + W_k c_k             hop k = 1 .. K
    p(y_t | ...) = softmax(W_o tanh(W_h [u_K ; u_0]))

Stacked attention (Yang et al. 2016), the two glimpses of Kazemi and Elqursh 2017, the hops of SMem-VQA (Xu and Saenko 2016). The question is the
memory's summary. An answer is a word or a few; a step knows the word before it and nothing older, so all steps are done at once.

Shapes: B batch, T target steps, S source positions, H heads of all hops, Q width, V vocabulary.

>>> from xattend.attention import Additive
>>> decoder = Hops(Space(vocabulary=10), 6, lambda query_size: Additive(query_size, 6), size=8, hops=2)
>>> memory = Memory(torch.randn(2, 3, 6), torch.ones(2, 3, dtype=torch.bool), torch.randn(2, 6))
>>> decoder.step(torch.full((2,), 2), decoder.start(memory)).weights_BHS.shape
torch.Size([2, 2, 3])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from xattend.attention.base import Attention
from xattend.decoders.base import Decoder
from xattend.encoders.base import symbol_embedding
from xattend.layers.dropout import Dropout
from xattend.registry import register
from xattend.types import Memory, Space, State, Step


@register("decoder", "hops")
class Hops(Decoder):
    """Short answers about a memory."""

    def __init__(
        self, space: Space, memory_size: int, make_attention: Callable[[int], Attention], *,
        size: Annotated[int, "width of the question and of what answers are scored from"] = 256,
        hops: Annotated[int, Field(ge=1), "looks at the memory, one after the other"] = 1,
        dropout: Annotated[float, "on what answers are scored from"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.question = nn.Linear(memory_size, size)
        self.embedding = symbol_embedding(space.symbols(), size)
        self.attentions = nn.ModuleList([make_attention(size) for _ in range(hops)])
        self.mixes = nn.ModuleList([nn.Linear(look.context_size, size) for look in self._looks()])
        self.join = nn.Linear(2 * size, size)
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(size, space.symbols())

    def _looks(self) -> list[Attention]:
        return [look for look in self.attentions if isinstance(look, Attention)]

    def start(self, memory: Memory) -> State:
        bounds = tuple(look.bind(memory) for look in self._looks())
        attended = tuple(look.start(bound) for look, bound in zip(self._looks(), bounds, strict=True))
        moving = {"question": self.question(memory.summary_BD), "attention": attended}
        return State(bounds, moving, shared=not any(look.stateful for look in self._looks()))

    def step(self, token_B: Tensor, state: State) -> Step:
        asked_BQ = state.moving["question"] + self.embedding(token_B)
        query_BQ, attended, seen = asked_BQ, [], []
        for hop, look in enumerate(self._looks()):
            context_BD, weights_BHS, after = look.attend(query_BQ, state.source[hop], state.moving["attention"][hop])
            assert weights_BHS is not None
            query_BQ = query_BQ + self.mixes[hop](context_BD)
            attended.append(after)
            seen.append(weights_BHS)
        moving = {"question": state.moving["question"], "attention": tuple(attended)}
        return Step(self.output(self._read(query_BQ, asked_BQ)), state.then(moving), torch.cat(seen, dim=1))

    def hidden(self, memory: Memory, tokens_BT: Tensor) -> Tensor:
        asked_BTQ = self.question(memory.summary_BD)[:, None] + self.embedding(tokens_BT)
        query_BTQ = asked_BTQ
        for look, mix in zip(self._looks(), self.mixes, strict=True):
            bound = look.bind(memory)
            context_BTD, _, _ = look.attend_all(query_BTQ, bound, look.start(bound), weights=False)
            query_BTQ = query_BTQ + mix(context_BTD)
        return self._read(query_BTQ, asked_BTQ)

    def look(self, weights_BTHS: Tensor) -> Tensor:
        """That of the last hop: the ones before it look for where to look."""
        return weights_BTHS[:, :, -self._looks()[-1].heads :].mean(dim=2)

    def _read(self, query: Tensor, asked: Tensor) -> Tensor:
        read: Tensor = self.dropout(torch.tanh(self.join(torch.cat([query, asked], dim=-1))))
        return read
