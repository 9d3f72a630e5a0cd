"""Attention by products and distances: the gate of dynamic memory networks (Kumar et al. 2016; Xiong et al. 2016).

    z_tj = [state_j * p ; |state_j - p|  for each part p of query_t]          features = "products": DMN+
    z_tj = [state_j ; p ; state_j * p ; |state_j - p| ; state_j . W p  for each p]   "all": DMN
    e_tj = v . tanh(W z_tj + b) + c
    a_tj = softmax_j(e_tj), or sigmoid(e_tj) with gate = "sigmoid": each state is let through or not, whatever the others are

A query that is a few times as wide as a state is so many parts (in DMN the memory and the question), any other is first projected to one.

>>> import torch
>>> attention = Interaction(8, 4, size=6)
>>> bound = attention.bind(Memory(torch.randn(2, 3, 4), torch.ones(2, 3, dtype=torch.bool), torch.zeros(2, 4)))
>>> attention.parts, attention.attend(torch.randn(2, 8), bound, None)[1].shape
(2, torch.Size([2, 1, 3]))

Shapes: B batch, T queries, S source positions, D memory width, P parts, Z features.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from xattend.attention.base import Attention, Bound
from xattend.registry import register
from xattend.tree import Tree
from xattend.types import Memory  # noqa: F401  (the example above)


@register("attention", "interaction")
class Interaction(Attention):
    """A small network over how state and query go together."""

    def __init__(
        self, query_size: int, memory_size: int, *,
        size: Annotated[int, "width of the network's hidden layer"] = 80,
        features: Annotated[Literal["products", "all"], "what the network sees: products and distances, or the vectors themselves, too"] = "products",
        gate: Annotated[Literal["softmax", "sigmoid"], "whether the weights sum to one, or each is a gate of its own"] = "softmax",
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size)
        self.parts, rest = divmod(query_size, memory_size) if memory_size else (0, 1)
        self.projection = nn.Linear(query_size, memory_size) if rest or not self.parts else None
        self.parts = 1 if self.projection is not None else self.parts
        self.all = features == "all"
        self.gate = gate
        seen = memory_size * (2 * self.parts + (1 + self.parts) * self.all) + self.parts * self.all
        self.product = nn.Linear(memory_size, memory_size, bias=False) if self.all else None
        self.hidden = nn.Linear(seen, size)
        self.output = nn.Linear(size, 1)

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        query_BTQ = query_BTQ if self.projection is None else self.projection(query_BTQ)
        states_B1SD, features = bound.keys_BSA[:, None], []
        for part_BTD in query_BTQ.chunk(self.parts, dim=-1):
            part_BT1D = part_BTD[:, :, None]
            features += [states_B1SD * part_BT1D, (states_B1SD - part_BT1D).abs()]
            if self.product is not None:
                features += [part_BT1D.expand_as(features[0]), (self.product(part_BTD) @ bound.keys_BSA.transpose(1, 2))[..., None]]
        if self.all:
            features.append(states_B1SD.expand_as(features[0]))
        hidden_BTSA = torch.tanh(self.hidden(torch.cat(features, dim=-1)))
        scores_BTS: Tensor = self.output(hidden_BTSA).squeeze(-1)
        return scores_BTS

    def attend_all(self, query_BTQ: Tensor, bound: Bound, state: Tree, *, weights: bool = True) -> tuple[Tensor, Tensor | None, Tree]:
        if self.gate == "softmax":
            return super().attend_all(query_BTQ, bound, state, weights=weights)
        gates_BTS = torch.sigmoid(self.score(query_BTQ, bound, state)) * bound.mask_BS[:, None]
        return gates_BTS @ bound.values_BSD, gates_BTS[:, :, None], state
