"""Multi-head attention (Vaswani et al. 2017), over any score.

    head_h  = attention_h(W_q query, W_k states, W_v states)        each head in its own subspace
    context = W_o [head_1 ; ... ; head_H]

Heads are folded into the batch, so that any mechanism which reads a query can be the score of the heads.

>>> import torch
>>> attention = MultiHead(query_size=8, memory_size=6, heads=2)
>>> memory = Memory(torch.randn(3, 4, 6), torch.ones(3, 4, dtype=torch.bool), torch.zeros(3, 6))
>>> attention.attend(torch.randn(3, 8), attention.bind(memory), attention.start(attention.bind(memory)))[1].shape
torch.Size([3, 2, 4])
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import torch
from torch import Tensor, nn

from xattend import registry, tree
from xattend.attention.base import Attention, Bound
from xattend.attention.dot import ScaledDot
from xattend.attention.hard import Hard
from xattend.errors import UserError
from xattend.layers import dot_attention
from xattend.layers.dropout import drop
from xattend.registry import Named, register
from xattend.tree import Tree
from xattend.types import Memory


class _Heads(NamedTuple):
    """What MultiHead binds: the heads' own memory, [B, H, ...], and the mask as the scores need it.

    bias_B11S   0 at positions to look at (at all, in a row that has none), else minus infinity. None: no padding
    dead_B111   rows that have none: their context is zero. None: there is no such row
    """

    inner: Bound
    bias_B11S: Tensor | None
    dead_B111: Tensor | None


@register("attention", "multi-head")
class MultiHead(Attention):
    """Several small attentions side by side."""

    def __init__(
        self, query_size: int, memory_size: int, *,
        heads: Annotated[int, "how many"] = 4,
        score: Annotated[str, Named("attention"), "the mechanism inside each head"] = "scaled-dot",
        size: Annotated[int | None, "width of all heads together; by default the query's"] = None,
        key: Annotated[int | None, "width of one head's queries and keys; by default size / heads"] = None,
        dropout: Annotated[float, "on the weights"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size)
        width = size or query_size
        if width % heads:
            raise UserError(f"attention.heads = {heads} does not divide the width {width}")
        self.heads = heads
        self.context_size = query_size
        narrow = key or width // heads
        self.query = nn.Linear(query_size, heads * narrow)
        self.key = nn.Linear(memory_size, heads * narrow)
        self.value = nn.Linear(memory_size, width)
        self.out = nn.Linear(width, query_size)
        self.head: Attention = registry.build("attention", score, narrow, narrow)
        if not self.head.reads_query or self.head.heads != 1:
            raise UserError(f"attention.score = '{score}' cannot be the score of a head: it does not compare a query")
        if isinstance(self.head, Hard):
            raise UserError("attention.score = 'hard' cannot be the score of a head: a head mixes positions, and hard attention takes one")
        self.stateful = self.head.stateful
        self.dropout = dropout

    def _fold(self, tree_BH: Tree) -> Tree:
        """[B, H, ...] -> [B x H, ...] in every tensor."""
        return tree.map_tree(lambda tensor: tensor.flatten(0, 1), tree_BH)

    def _unfold(self, tree_N: Tree) -> Tree:
        return tree.map_tree(lambda tensor: torch.unflatten(tensor, 0, (-1, self.heads)), tree_N)

    def _split(self, vectors_BSD: Tensor) -> Tensor:
        """[B, S, H x d] -> [B x H, S, d]."""
        return torch.unflatten(vectors_BSD, -1, (self.heads, -1)).transpose(1, 2).flatten(0, 1)

    def bind(self, memory: Memory) -> Bound:
        keys_NSd, values_NSd = self._split(self.key(memory.states_BSD)), self._split(self.value(memory.states_BSD))
        mask_NS = memory.mask_BS.repeat_interleave(self.heads, dim=0)
        inner = self.head.bind(Memory(keys_NSd, mask_NS, keys_NSd.mean(dim=1), memory.grid))._replace(values_BSD=values_NSd)
        bias_B11S = dead_B111 = None
        if self._is_scaled_dot and (bias_B11S := dot_attention.padding_bias(memory.mask_BS, keys_NSd)) is not None:
            none_B111 = ~memory.mask_BS.any(dim=1)[:, None, None, None]
            dead_B111 = none_B111 if bool(none_B111.any()) else None
        heads = _Heads(self._unfold(inner), bias_B11S, dead_B111)
        return Bound(memory.states_BSD[:, :0], memory.states_BSD[:, :0], memory.mask_BS, heads)

    def start(self, bound: Bound) -> Tree:
        return self._unfold(self.head.start(self._fold(bound.extra.inner)))

    @property
    def _is_scaled_dot(self) -> bool:
        return type(self.head) is ScaledDot

    def attend_all(
        self, query_BTQ: Tensor, bound: Bound, state: Tree, *, weights: bool = True
    ) -> tuple[Tensor, Tensor | None, Tree]:
        if self._is_scaled_dot and not weights:
            return self._without_weights(self.query(query_BTQ), bound.extra), None, state
        query_NTd, inner = self._split(self.query(query_BTQ)), self._fold(bound.extra.inner)
        heads_NTd, weights_NTHS, inner_state = self.head.attend_all(query_NTd, inner, self._fold(state))
        assert weights_NTHS is not None
        if self.dropout and self.training:
            heads_NTd = drop(weights_NTHS[:, :, 0], self.dropout) @ inner.values_BSD
        heads_BTD = torch.unflatten(heads_NTd, 0, (-1, self.heads)).transpose(1, 2).flatten(2)
        weights_BTHS = torch.unflatten(weights_NTHS[:, :, 0], 0, (-1, self.heads)).transpose(1, 2)
        return self.out(heads_BTD), weights_BTHS, self._unfold(inner_state)

    def _without_weights(self, query_BTD: Tensor, heads: _Heads) -> Tensor:
        batch, length, width = query_BTD.shape
        mixed_BHTd = dot_attention.attend(
            query_BTD.view(batch, length, self.heads, width // self.heads).transpose(1, 2),
            heads.inner.keys_BSA, heads.inner.values_BSD, bias_BHTS=heads.bias_B11S,
            dropout=self.dropout if self.training else 0.0,
        )  # fmt: skip
        if heads.dead_B111 is not None:
            mixed_BHTd = mixed_BHTd.masked_fill(heads.dead_B111, 0.0)
        context_BTQ: Tensor = self.out(mixed_BHTd.transpose(1, 2).flatten(2))
        return context_BTQ
