"""Sentences as slots of a memory, each the sum of its words (Sukhbaatar et al. 2015, MemN2N).

    m_i = sum_j l_j * A x_ij + T(age of i)        u = sum_j l_j * A q_j
    l_jk = 1                                      words = "bag": their order is lost
    l_jk = 2 (1 - j/J) - 2 (k/d) (1 - 2 j/J)      words = "position": word j of J, unit k of d, both counted from 1

The paper prints half of these weights; its authors' code, whose rate of learning and first weights the recipes have, has them as here: 1 in the mean, as in a bag.

T has a learnt vector for each age, counted back from the question (0 is the last sentence); sentences older than all of them share the last.
`noise` shifts ages in training as if up to that share of empty sentences had been told between: a sentence's age is then one of a random choice, in order.

The position code is a line in k, so a sentence needs two weighted sums of its word vectors, whatever their width:
m = sum_j 2 (1 - j/J) A x_j - (k/d) * sum_j 2 (1 - 2 j/J) A x_j.

>>> encoder = Sentences(Space(beside=Space(vocabulary=9)), size=4)
>>> question = Padded(torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3).bool())
>>> memory = encoder(Padded(torch.ones(2, 5, 6, dtype=torch.long), torch.ones(2, 5).bool(), question))
>>> memory.states_BSD.shape, memory.summary_BD.shape
(torch.Size([2, 5, 4]), torch.Size([2, 4]))

Shape suffixes: B batch, S sentences, W words, D width, V vocabulary, C sums.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from xattend.encoders.base import Encoder, masked_mean
from xattend.errors import UserError
from xattend.registry import register
from xattend.types import PAD, Memory, Padded, Space

Words = Literal["bag", "position"]
FEW = 2048  # words of a vocabulary, for which a sentence is multiplied instead of looked up


def shares(values_BSW: Tensor, words: Words) -> Tensor:
    """With which weight each word stands in each sum of its sentence, weights_BSCW: one sum of a bag, two of a position code.

    >>> shares(torch.tensor([[5, 6, 0]]), "position")[0].tolist()  # 2 (1 - j/2) and 2 (1 - 2j/2), for j = 1, 2
    [[1.0, 0.0, 0.0], [0.0, -2.0, 0.0]]
    """
    real_BSW = values_BSW != PAD
    if words == "bag":
        return real_BSW[..., None, :].float()
    length_BS1 = real_BSW.sum(dim=-1, keepdim=True).clamp(min=1)
    share_BSW = torch.arange(1, values_BSW.shape[-1] + 1) / length_BS1  # j / J
    return 2 * torch.stack([1 - share_BSW, 1 - 2 * share_BSW], dim=-2).masked_fill(~real_BSW[..., None, :], 0.0)


def summed(values_BSW: Tensor, shares_BSCW: Tensor, table_VE: Tensor, size: int) -> Tensor:
    """Each sentence by each of the tables that stand side by side in `table_VE`, all of width `size`: sums_BSE.

    >>> table = torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, 5.0]])
    >>> ids = torch.tensor([[1, 2]])  # l_1 = 2 (1 - 1/2) - k (1 - 1) = 1, 1; l_2 = 0 - k (1 - 2) = 1, 2
    >>> summed(ids, shares(ids, "position"), table, 2).tolist()
    [[4.0, 12.0]]
    """
    sums_NCE = _sums(values_BSW.flatten(0, -2), shares_BSCW.flatten(0, -3).to(table_VE.dtype), table_VE)
    if sums_NCE.shape[1] == 2:
        ramp_E = (torch.arange(1, size + 1, dtype=table_VE.dtype) / size).repeat(table_VE.shape[1] // size)  # k / d
        sums_NE = torch.addcmul(sums_NCE[:, 0], ramp_E, sums_NCE[:, 1], value=-1)
    else:
        sums_NE = sums_NCE[:, 0]
    return torch.unflatten(sums_NE, 0, values_BSW.shape[:-1])


def _sums(values_NW: Tensor, shares_NCW: Tensor, table_VE: Tensor) -> Tensor:
    """sums_NCE. Stories have few different words: a sentence as a row of weights of all words, times the table, is 2 to 14 times as fast
    as looking each word up (`looked_up`), and so is its gradient."""
    sentences, sums, _ = shares_NCW.shape
    if len(table_VE) > FEW:
        return looked_up(values_NW, shares_NCW, table_VE)
    words_NCV = shares_NCW.new_zeros(sentences, sums, len(table_VE)).scatter_add_(2, values_NW[:, None].expand(-1, sums, -1), shares_NCW)
    return torch.unflatten(words_NCV.flatten(0, 1) @ table_VE, 0, (sentences, sums))


def looked_up(values_NW: Tensor, shares_NCW: Tensor, table_VE: Tensor) -> Tensor:
    """The same, word by word: the reference, and the way for large vocabularies."""
    return shares_NCW @ nn.functional.embedding(values_NW, table_VE)


def ages(mask_BS: Tensor, noise: float = 0.0) -> Tensor:
    """How many sentences come after each one, ages_BS; with noise as if empty ones were among them, up to that share, at random places.

    >>> ages(torch.tensor([[True, True, True], [True, False, False]])).tolist()
    [[2, 1, 0], [0, 0, 0]]
    """
    count_B1 = mask_BS.sum(dim=1, keepdim=True)
    age_BS = (count_B1 - 1 - torch.arange(mask_BS.shape[1])).clamp(min=0)
    if noise == 0.0:
        return age_BS
    empty_B1 = (torch.rand(len(mask_BS), 1) * (noise * count_B1 + 1)).long()
    places = mask_BS.shape[1] + int(noise * mask_BS.shape[1]) + 1
    place_P = torch.arange(places)
    draw_BP = torch.rand(len(mask_BS), places).masked_fill(place_P >= count_B1 + empty_B1, 2.0)
    # the places with the `empty` smallest draws are empty; the others, in their order, are the ages from the last sentence on
    least_B1 = draw_BP.sort(dim=1).values.gather(1, empty_B1)
    taken_BP = torch.where(draw_BP >= least_B1, place_P, places).sort(dim=1).values
    return taken_BP.gather(1, age_BS)


@register("encoder", "sentences")
class Sentences(Encoder):
    """A table of word vectors and one of ages; the summary is the question, read by the same table."""

    reads = "story"

    def __init__(
        self, space: Space, *,
        size: Annotated[int, "width of a slot"] = 50,
        words: Annotated[Words, "how words make a sentence: their sum, or their sum weighted by position"] = "position",
        time: Annotated[int, Field(ge=0), "learnt ages of sentences; 0 = none, and the order of the story is lost"] = 50,
        noise: Annotated[float, Field(ge=0, le=1), "share of empty sentences that ages are shifted by in training"] = 0.0,
        deviation: Annotated[float, Field(gt=0), "standard deviation of the first weights"] = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        if space.beside is None:
            raise UserError("this encoder reads stories: set data.source.kind = \"story\"")
        self.size, self.kind, self.noise = size, words, noise
        self.embedding = nn.Embedding(space.beside.symbols(), size)
        self.time = nn.Embedding(time, size) if time else None
        for weight in self.parameters():
            nn.init.normal_(weight, std=deviation)

    def ages(self, mask_BS: Tensor) -> Tensor | None:
        """Drawn anew at each call in training; None where ages are not told apart."""
        return None if self.time is None else ages(mask_BS, self.noise if self.training else 0.0).clamp(max=self.time.num_embeddings - 1)

    def forward(self, source: Padded) -> Memory:
        weight_VD, mask_BS = self.embedding.weight, source.mask_BS
        states_BSD = summed(source.values, shares(source.values, self.kind), weight_VD, self.size)
        age_BS = self.ages(mask_BS)
        if self.time is not None and age_BS is not None:
            states_BSD = states_BSD + self.time(age_BS)
        if source.beside is None or not source.beside.values.shape[1]:  # a dialogue: there is no question
            return Memory(states_BSD, mask_BS, masked_mean(states_BSD, mask_BS), (states_BSD.shape[1],))
        question_BW = source.beside.values * source.beside.mask_BS
        asked_BD = summed(question_BW, shares(question_BW, self.kind), weight_VD, self.size)
        return Memory(states_BSD, mask_BS, asked_BD, (states_BSD.shape[1],))
