"""Attention: a query looks at a memory and brings back a context.

    e_tj = score(query_t, state_j)      each mechanism's own
    a_tj = exp(e_tj) / sum_k exp(e_tk)  over real positions only
    c_t  = sum_j a_tj value_j

Shapes: B batch, T queries, S source positions, H heads, Q query width, A alignment width, D memory width.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from xattend.tree import Tree
from xattend.types import Memory


class Bound(NamedTuple):
    """A memory made ready for one mechanism: what can be done once a sequence is done."""

    keys_BSA: Tensor
    values_BSD: Tensor
    mask_BS: Tensor
    extra: Tree = None


class TanhScore(NamedTuple):
    """A score of the form v . tanh(W query + key), for loops that keep their own gradients (decoders/fused.py)."""

    query_AQ: Tensor
    v_A: Tensor


class ProductScore(NamedTuple):
    """A score of the form scale x query . key, for the same."""

    scale: float


def masked_softmax(scores_BTS: Tensor, mask_BS: Tensor) -> Tensor:
    """Softmax over real positions. A row without any gives zeros, never NaN.

    >>> masked_softmax(torch.tensor([[[14.0, 12.0, 99.0]]]), torch.tensor([[True, True, False]]))[0, 0].mul(100).round().tolist()
    [88.0, 12.0, 0.0]
    """
    padding_B1S = ~mask_BS[:, None]
    lowest = torch.finfo(scores_BTS.dtype).min
    return scores_BTS.masked_fill(padding_B1S, lowest).softmax(dim=-1).masked_fill(padding_B1S, 0.0)


def tanh_score(query_BTA: Tensor, keys_BSA: Tensor, v_A: Tensor) -> Tensor:
    """v . tanh(query_t + key_j) for all t and j, with tanh(x) = 2 sigmoid(2 x) - 1: on a CPU torch's sigmoid is three times as fast.

    >>> query, keys, v = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(4)
    >>> torch.allclose(tanh_score(query, keys, v), torch.tanh(query[:, :, None] + keys[:, None]) @ v, atol=1e-5)
    True
    """
    hidden_BTSA = torch.sigmoid(torch.add(2 * query_BTA[:, :, None], keys_BSA[:, None], alpha=2))
    return 2 * (hidden_BTSA @ v_A) - v_A.sum()


class Attention(nn.Module):
    """The base class masks, normalises and sums, so that most mechanisms write only `score` (and `keys`).

    A mechanism with a state (coverage, a position) says `stateful = True`, writes `start` and `advance`, and is then
    asked one query at a time. State is a tree of batch-first tensors and never lives on `self`.
    """

    heads: int = 1
    stateful: bool = False
    sums_to_one: ClassVar[bool] = True  # False: windows that fade, or a mechanism that looks nowhere
    reads_query: ClassVar[bool] = True  # False: the context does not depend on the decoder's state

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__()
        self.query_size = query_size
        self.memory_size = memory_size
        self.context_size = memory_size

    def keys(self, states_BSD: Tensor) -> Tensor:
        """Once a sequence: what scores are computed from."""
        return states_BSD

    def bind(self, memory: Memory) -> Bound:
        return Bound(self.keys(memory.states_BSD), memory.states_BSD, memory.mask_BS)

    def start(self, bound: Bound) -> Tree:
        """The state before the first query."""
        return None

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        """scores_BTS: how well each query fits each position. T is 1 for a mechanism with a state."""
        raise NotImplementedError

    def focus(self, weights_BTS: Tensor, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        """What a mechanism does to its weights after the softmax."""
        return weights_BTS

    def advance(self, state: Tree, weights_BS: Tensor, bound: Bound) -> Tree:
        """The state after a query that looked at `weights_BS`."""
        return state

    def fused_form(self) -> TanhScore | ProductScore | None:
        """The score in one of the forms that a fused decoder knows, if it has one."""
        return None

    def attend(
        self, query_BQ: Tensor, bound: Bound, state: Tree, *, weights: bool = True
    ) -> tuple[Tensor, Tensor | None, Tree]:
        """One query: context_BD, weights_BHS and the state after it. `weights=False` as below.

        A mechanism without a state may be asked by several queries in a row for each row of the memory: a sentence's beams.
        """
        queries = len(query_BQ) // len(bound.mask_BS) if len(query_BQ) else 1
        query_BTQ = query_BQ.view(-1, queries, query_BQ.shape[1])
        context_BTD, weights_BTHS, state = self.attend_all(query_BTQ, bound, state, weights=weights)
        return context_BTD.flatten(0, 1), None if weights_BTHS is None else weights_BTHS.flatten(0, 1), state

    def attend_all(
        self, query_BTQ: Tensor, bound: Bound, state: Tree, *, weights: bool = True
    ) -> tuple[Tensor, Tensor | None, Tree]:
        """Many queries at once: context_BTD, weights_BTHS, state. `weights=False` lets a fused kernel leave them out."""
        if self.stateful and query_BTQ.shape[1] != 1:
            return self._one_by_one(query_BTQ, bound, state)
        weights_BTS = masked_softmax(self.score(query_BTQ, bound, state), bound.mask_BS)
        weights_BTS = self.focus(weights_BTS, query_BTQ, bound, state)
        if self.stateful:
            state = self.advance(state, weights_BTS[:, 0], bound)
        return weights_BTS @ bound.values_BSD, weights_BTS[:, :, None], state

    def _one_by_one(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> tuple[Tensor, Tensor, Tree]:
        contexts, seen = [], []
        for query_BQ in query_BTQ.unbind(dim=1):
            context_BD, weights_BHS, state = self.attend(query_BQ, bound, state)
            assert weights_BHS is not None
            contexts.append(context_BD)
            seen.append(weights_BHS)
        return torch.stack(contexts, dim=1), torch.stack(seen, dim=1), state
