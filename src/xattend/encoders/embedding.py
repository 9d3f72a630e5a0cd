"""No encoder but the word vectors themselves: each state knows its word and nothing of its neighbours.

    state_j = E x_j        summary = the mean of the states

The lectures warn against it for attention ("not pure word embeddings!"): here it is, to see why.

>>> import torch
>>> memory = Embedding(Space(vocabulary=10), size=4)(Padded(torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3).bool()))
>>> memory.states_BSD.shape
torch.Size([2, 3, 4])
"""

from __future__ import annotations

from typing import Annotated

from xattend.encoders.base import Encoder, masked_mean, symbol_embedding
from xattend.layers.dropout import Dropout
from xattend.registry import register
from xattend.types import Memory, Padded, Space


@register("encoder", "embedding")
class Embedding(Encoder):
    """Word vectors only."""

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of the vectors"] = 256,
        dropout: Annotated[float, "on the vectors"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.size = size
        self.embedding = symbol_embedding(space.symbols(), size)
        self.dropout = Dropout(dropout)

    def forward(self, source: Padded) -> Memory:
        states_BSD = self.dropout(self.embedding(source.values))
        return Memory(states_BSD, source.mask_BS, masked_mean(states_BSD, source.mask_BS), (states_BSD.shape[1],))
