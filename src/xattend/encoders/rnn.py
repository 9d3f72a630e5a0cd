"""Recurrent encoders.

rnn     h_j = cell(x_j, h_{j-1})                          summary = the last state
birnn   h_j = [forward_j ; backward_j]                    summary = both directions' last states
        h_j = [forward_j ; backward_j ; e_j] with `skip`  summary = those, and the mean word vector: what stands at j is
                                                          plain to see from the first update on, so alignments are found sooner

`reverse` feeds the source last word first, with the end mark still at the end (Sutskever et al. 2014). The states are
turned back afterwards, so that position j of the memory is word j of the source either way.

>>> import torch
>>> encoder = BiRNN(Space(vocabulary=10), size=4)
>>> encoder(Padded(torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3).bool())).states_BSD.shape
torch.Size([2, 3, 8])
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor, nn

from xattend.cells.stack import Stack, StackState
from xattend.encoders.base import Encoder, symbol_embedding
from xattend.layers.dropout import Dropout
from xattend.layers.order import turn
from xattend.registry import Named, register
from xattend.types import EOS, Memory, Padded, Space


def _run(stack: Stack, inputs_BSD: Tensor, mask_BS: Tensor, exact: bool) -> tuple[Tensor, Tensor, StackState]:
    """Outputs, the top output at each row's end, and every layer's final state (`exact`: at each row's own end)."""
    outputs_BSD, state = stack.unroll(inputs_BSD, stack.start(len(inputs_BSD)), mask_BS if exact else None)
    outputs_BSD = outputs_BSD * mask_BS[:, :, None]
    last_B1D = (mask_BS.sum(dim=1) - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, outputs_BSD.shape[-1])
    return outputs_BSD, outputs_BSD.gather(1, last_B1D).squeeze(1), state


@register("encoder", "rnn")
class RNN(Encoder):
    """One direction."""

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of a state"] = 256,
        embedding: Annotated[int, "width of the word vectors"] = 128,
        cell: Annotated[str, Named("cell"), "the recurrent cell"] = "gru",
        layers: Annotated[int, "cells on top of each other"] = 1,
        dropout: Annotated[float, "on word vectors, between layers and on the states"] = 0.0,
        state_dropout: Annotated[float | None, "on the states; by default dropout"] = None,
        layer_norm: Annotated[bool, "inside the cells"] = False,
        residual: Annotated[bool, "shortcuts around all layers but the first"] = False,
        reverse: Annotated[bool, "read the source last word first"] = False,
        carry: Annotated[bool, "keep every layer's final state, for a decoder with bridge = \"copy\""] = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.size = size
        self.reverse = reverse
        self.carry = carry
        self.embedding = symbol_embedding(space.symbols(), embedding)
        self.dropout = Dropout(dropout)
        self.state_dropout = Dropout(dropout if state_dropout is None else state_dropout)
        self.stack = Stack(
            cell, embedding, size, layers=layers, dropout=dropout, layer_norm=layer_norm, residual=residual
        )

    def forward(self, source: Padded) -> Memory:
        inputs_BSD, mask_BS = self.dropout(self.embedding(source.values)), source.mask_BS
        turned_B = self._turned(source)
        if self.reverse:
            inputs_BSD = turn(inputs_BSD, turned_B)
        states_BSD, last_BD, final = _run(self.stack, inputs_BSD, mask_BS, exact=self.carry)
        if self.reverse:
            states_BSD = turn(states_BSD, turned_B)
        carry = final if self.carry else None
        return Memory(self.state_dropout(states_BSD), mask_BS, last_BD, (states_BSD.shape[1],), carry)

    @staticmethod
    def _turned(source: Padded) -> Tensor:
        """How many positions of each row to turn round: all but the end mark."""
        last_B1 = (source.lengths_B - 1).clamp(min=0)[:, None]
        ends_B = source.values.gather(1, last_B1).squeeze(1) == EOS
        return source.lengths_B - ends_B.long()


@register("encoder", "birnn")
class BiRNN(Encoder):
    """Both directions. The backward one reads each row from its own last word: padding is never read."""

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of one direction's state; the memory is twice as wide"] = 256,
        embedding: Annotated[int, "width of the word vectors"] = 128,
        cell: Annotated[str, Named("cell"), "the recurrent cell"] = "gru",
        layers: Annotated[int, "bidirectional layers on top of each other"] = 1,
        dropout: Annotated[float, "on word vectors, between layers and on the states"] = 0.0,
        state_dropout: Annotated[float | None, "on the states; by default dropout"] = None,
        layer_norm: Annotated[bool, "inside the cells"] = False,
        skip: Annotated[bool, "word vectors in the memory, beside the states"] = False,
        carry: Annotated[bool, "keep every layer's final state, for a decoder with bridge = \"copy\""] = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.size = 2 * size + embedding * skip
        self.skip = skip
        self.carry = carry
        self.embedding = symbol_embedding(space.symbols(), embedding)
        self.dropout = Dropout(dropout)
        self.state_dropout = Dropout(dropout if state_dropout is None else state_dropout)
        widths = [embedding] + [2 * size] * (layers - 1)
        self.forwards = nn.ModuleList([Stack(cell, width, size, layer_norm=layer_norm) for width in widths])
        self.backwards = nn.ModuleList([Stack(cell, width, size, layer_norm=layer_norm) for width in widths])

    def forward(self, source: Padded) -> Memory:
        words_BSD, mask_BS, lengths_B = self.embedding(source.values), source.mask_BS, source.lengths_B
        states_BSD, summary_BD, carry = words_BSD, words_BSD[:, 0], []
        for there, back in zip(self.forwards, self.backwards, strict=True):
            assert isinstance(there, Stack)
            assert isinstance(back, Stack)
            inputs_BSD = self.dropout(states_BSD)
            right_BSD, right_BD, (right,) = _run(there, inputs_BSD, mask_BS, self.carry)
            left_BSD, left_BD, (left,) = _run(back, turn(inputs_BSD, lengths_B), mask_BS, self.carry)
            states_BSD = torch.cat([right_BSD, turn(left_BSD, lengths_B)], dim=-1)
            summary_BD = torch.cat([right_BD, left_BD], dim=-1)
            carry.append(tuple(torch.cat([a, b], dim=-1) for a, b in zip(right, left, strict=True)))
        if self.skip:
            words_BSD = words_BSD * mask_BS[:, :, None]
            mean_BD = words_BSD.sum(dim=1) / lengths_B.clamp(min=1)[:, None]
            states_BSD, summary_BD = torch.cat([states_BSD, words_BSD], dim=-1), torch.cat([summary_BD, mean_BD], dim=-1)
        final = tuple(carry) if self.carry else None
        return Memory(self.state_dropout(states_BSD), mask_BS, summary_BD, (states_BSD.shape[1],), final)
