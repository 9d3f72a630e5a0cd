"""Words into turns, turns into a dialogue: the encoder of HRED (Sordoni et al. 2015, Serban et al. 2016).

    v_n = last state of a GRU over the words of turn n
    h_n = GRU(v_n, h_{n-1})                     the context of the dialogue after turn n; summary = the last

From a word of turn n to the end it is a step a turn, not a step a word. The memory has a position a turn, so any attention can look at turns.

>>> encoder = Hierarchical(Space(beside=Space(vocabulary=9)), size=4)
>>> memory = encoder(Padded(torch.ones(2, 3, 6, dtype=torch.long), torch.ones(2, 3).bool()))
>>> memory.states_BSD.shape, memory.summary_BD.shape
(torch.Size([2, 3, 4]), torch.Size([2, 4]))

Shape suffixes: B batch, S turns, W words, N turns of the whole batch, D width.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from xattend.cells.stack import Stack
from xattend.encoders.base import Encoder, symbol_embedding
from xattend.errors import UserError
from xattend.layers.dropout import Dropout
from xattend.registry import Named, register
from xattend.types import PAD, Memory, Padded, Space


@register("encoder", "hierarchical")
class Hierarchical(Encoder):
    """Two recurrences, one inside the other. A question, if there is one, is the last turn."""

    reads = "story"

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of a dialogue's state"] = 256,
        turn: Annotated[int | None, "width of a turn's vector; by default size"] = None,
        embedding: Annotated[int, "width of the word vectors"] = 128,
        cell: Annotated[str, Named("cell"), "the recurrent cell of both"] = "gru",
        dropout: Annotated[float, "on word vectors, turns' vectors and states"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        if space.beside is None:
            raise UserError("this encoder reads sentence by sentence: set data.source.kind = \"turns\", or \"story\"")
        self.size = size
        self.embedding = symbol_embedding(space.beside.symbols(), embedding)
        self.turn = Stack(cell, embedding, turn or size)
        self.session = Stack(cell, self.turn.size, size)
        self.dropout = Dropout(dropout)

    def forward(self, source: Padded) -> Memory:
        mask_BS, values_BSW = source.mask_BS, source.values
        turns_BSD = torch.unflatten(self._turns(values_BSW.flatten(0, 1)), 0, mask_BS.shape)
        states_BSD, (last, *_) = self.session.unroll(self.dropout(turns_BSD), self.session.start(len(mask_BS)), mask_BS)
        summary_BD = last[0]
        if source.beside is not None and source.beside.values.shape[1]:
            asked_BD = self._turns(source.beside.values * source.beside.mask_BS)
            summary_BD, _ = self.session(self.dropout(asked_BD), (last,))
        return Memory(self.dropout(states_BSD), mask_BS, summary_BD, (states_BSD.shape[1],))

    def _turns(self, values_NW: Tensor) -> Tensor:
        """The vector of each turn; of an empty one, the first state."""
        words_NWD = self.dropout(self.embedding(values_NW))
        _, ((vectors_ND, *_),) = self.turn.unroll(words_NWD, self.turn.start(len(values_NW)), values_NW != PAD)
        return vectors_ND
