"""Sentences as facts that know of each other (Kumar et al. 2016, DMN; Xiong et al. 2016, DMN+).

words = "gru"        h = GRU over all words of the story, one after the other;   fact_i = h at the end of sentence i          DMN
words = "position"   s_i = sum_j l_j / 2 * E x_ij (encoders/sentences.py);   fact_i = s_i, or with `fusion`
fusion               fact_i = forward GRU_i + backward GRU_i over the sentences: what comes before and after reaches each of them   DMN+

The question is read by a GRU of its own; its last state is the summary.

>>> encoder = Facts(Space(beside=Space(vocabulary=9)), size=4)
>>> question = Padded(torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3).bool())
>>> memory = encoder(Padded(torch.ones(2, 5, 6, dtype=torch.long), torch.ones(2, 5).bool(), question))
>>> memory.states_BSD.shape, memory.summary_BD.shape
(torch.Size([2, 5, 4]), torch.Size([2, 4]))

Shape suffixes: B batch, S sentences, W words, T words of a whole story, D width.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from xattend.cells.stack import Stack
from xattend.encoders.base import Encoder
from xattend.encoders.sentences import shares, summed
from xattend.errors import UserError
from xattend.layers.dropout import Dropout
from xattend.layers.order import turn
from xattend.registry import register
from xattend.types import PAD, Memory, Padded, Space


def one_after_another(values_BSW: Tensor) -> tuple[Tensor, Tensor]:
    """All words of each story in a row, words_BT, and how many of them have been read at the end of each sentence, read_BS.

    >>> one_after_another(torch.tensor([[[5, 6, 0], [7, 0, 0]]]))
    (tensor([[5, 6, 7]]), tensor([[2, 3]]))
    """
    real_BN = (values_BSW != PAD).flatten(1)
    read_BN = real_BN.cumsum(dim=1)
    words_BT = values_BSW.new_zeros(len(values_BSW), int(read_BN[:, -1].max()) + 1)  # one place more, for padding
    words_BT.scatter_(1, torch.where(real_BN, read_BN - 1, words_BT.shape[1] - 1), values_BSW.flatten(1))
    return words_BT[:, :-1], read_BN.view(values_BSW.shape)[:, :, -1]


@register("encoder", "facts")
class Facts(Encoder):
    """A fact a sentence."""

    reads = "story"

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of words and facts"] = 80,
        words: Annotated[Literal["gru", "position"], "how words make a sentence: by a GRU over the whole story, or a weighted sum"] = "position",
        fusion: Annotated[bool, "a GRU over the sentences in both directions, their states added"] = True,
        dropout: Annotated[float, "on word vectors and facts"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        if space.beside is None:
            raise UserError("this encoder reads stories: set data.source.kind = \"story\"")
        self.size = size
        self.embedding = nn.Embedding(space.beside.symbols(), size)
        nn.init.uniform_(self.embedding.weight, -math.sqrt(3), math.sqrt(3))
        self.question = Stack("gru", size, size)
        self.reader = Stack("gru", size, size) if words == "gru" else None
        self.forwards = Stack("gru", size, size) if fusion else None
        self.backwards = Stack("gru", size, size) if fusion else None
        self.dropout = Dropout(dropout)

    def forward(self, source: Padded) -> Memory:
        mask_BS, lengths_B = source.mask_BS, source.lengths_B
        if source.beside is None or not source.beside.values.shape[1]:
            raise UserError("this encoder reads stories with a question: set data.source.kind = \"story\"")
        facts_BSD = self.dropout(self._sums(source.values) if self.reader is None else self._read(self.reader, source))
        if self.forwards is not None and self.backwards is not None:
            start = self.forwards.start(len(facts_BSD))
            there_BSD, _ = self.forwards.unroll(facts_BSD, start)
            back_BSD, _ = self.backwards.unroll(turn(facts_BSD, lengths_B), start)
            facts_BSD = self.dropout(there_BSD + turn(back_BSD, lengths_B))
        words_BWD = self.dropout(self.embedding(source.beside.values))
        _, ((asked_BD,),) = self.question.unroll(words_BWD, self.question.start(len(words_BWD)), source.beside.mask_BS)
        return Memory(facts_BSD, mask_BS, asked_BD, (facts_BSD.shape[1],))

    def _sums(self, values_BSW: Tensor) -> Tensor:
        half_BSCW = shares(values_BSW, "position") / 2  # the printed weights, which DMN+ was seen to learn with
        return summed(values_BSW, half_BSCW, self.embedding.weight, self.size)

    def _read(self, reader: Stack, source: Padded) -> Tensor:
        words_BT, read_BS = one_after_another(source.values * source.mask_BS[:, :, None])
        states_BTD, _ = reader.unroll(self.dropout(self.embedding(words_BT)), reader.start(len(words_BT)))
        ends_BSD = (read_BS - 1).clamp(min=0)[:, :, None].expand(-1, -1, self.size)
        return states_BTD.gather(1, ends_BSD)
