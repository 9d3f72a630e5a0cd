"""End-to-end memory networks (Sukhbaatar et al. 2015): sentences in slots, soft attention over them in hops, learnt from answers alone.

    m_i = A_k x_i,   c_i = C_k x_i,   u_1 = B q        sentences and question as sums of words (encoders/sentences.py)
    p_i = softmax(u_k . m_i),   o_k = sum_i p_i c_i    hop k = 1 .. K; the score is any attention's, `dot` is the paper's
    u_{k+1} = u_k + o_k                                tying = "adjacent": A_{k+1} = C_k, B = A_1
    u_{k+1} = H u_k + o_k                              "layer-wise": all A are one, all C are one
    p(answer) = softmax(W u_{K+1})                     W has C_K's vectors of the answers' words

K + 1 tables (adjacent) or two (layer-wise) do all: table k gives the keys of one hop and the values of the one before. A word that is an answer and
never in a story has a vector of its own in each.

A memory has `slots`; those without a sentence are empty, their score and their value are 0. A hop may look at them, that is nowhere: only so does what it
brings back tell whether anything was like the question at all, which questions with the answer no need. The paper does not say so; its authors' code does.
A story with more sentences than there are slots is a mistake.

    p_i = exp(u . m_i) / (empty + sum_j exp(u . m_j))

Linear start: for the first `linear_start` losses the hops have no softmax, p_i = u . m_i, which lets a model find its way where the softmax is
stuck from the beginning (bAbI's task 16). How many there were is saved with the weights, so that a resumed training is exact.

Shapes: B batch, S sentences, W words, D width, V target vocabulary, E = D x tables.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import pydantic
import torch
from torch import Tensor, nn

from xattend.attention.base import Attention, Bound, masked_softmax
from xattend.data.fields.base import Field
from xattend.data.fields.story import Story
from xattend.data.fields.text import Text  # noqa: F401  (an example below)
from xattend.encoders.sentences import Sentences, shares, summed
from xattend.errors import UserError
from xattend.registry import register
from xattend.systems.hopping import Hopping
from xattend.systems.parts import Parts
from xattend.types import SPECIALS, UNK, Memory, Padded, Space


class Looking(NamedTuple):
    """The story by each table, slots_TBSD, and what is asked now."""

    slots: tuple[Tensor, ...]
    mask_BS: Tensor
    asked_BD: Tensor


@register("system", "memn2n")
class MemN2N(Hopping[Looking]):
    """An encoder `sentences`, once for each table, and an attention that scores."""

    uses = ("encoder", "attention")

    def __init__(
        self, parts: Parts, *,
        hops: Annotated[int, pydantic.Field(ge=1), "looks at the story, one after the other"] = 3,
        tying: Annotated[Literal["adjacent", "layer-wise"], "which tables are one: each hop's values and the next one's keys, or those of all hops"] = "adjacent",
        slots: Annotated[int, pydantic.Field(ge=0), "of the memory: those without a sentence are empty, and a hop may look there; 0 = sentences alone"] = 0,
        linear_start: Annotated[int, pydantic.Field(ge=0), "losses without a softmax in the hops, at the beginning"] = 0,
    ) -> None:  # fmt: skip
        super().__init__(parts)
        self.hops, self.adjacent, self.slots, self.linear_start = hops, tying == "adjacent", slots, linear_start
        words, rows = answer_rows(self.source, self.target)
        encoders = [parts.build("encoder", Space(beside=Space(vocabulary=words))) for _ in range(hops + 1 if self.adjacent else 2)]
        if not all(isinstance(encoder, Sentences) for encoder in encoders):
            raise UserError("the system 'memn2n' reads stories by sums of words: set encoder.kind = \"sentences\"")
        self.tables = nn.ModuleList(encoders)
        self.first: Sentences = encoders[0]
        size = self.first.size
        looks = [parts.build("attention", size, size) for _ in range(hops if self.adjacent else 1)]
        if any(type(look).attend_all is not Attention.attend_all or look.stateful for look in looks):
            kind = parts.recipe.part("attention")[0]
            raise UserError(f"attention '{kind}' makes its context in a way of its own, and a hop takes its values from another table: choose 'dot'")
        self.scores = nn.ModuleList(looks)
        self.carry = None if self.adjacent else nn.Linear(size, size, bias=False)
        if self.carry is not None:
            nn.init.normal_(self.carry.weight, std=0.1)
        self.rows_V: Tensor
        self.register_buffer("rows_V", torch.tensor(rows), persistent=False)
        self.losses: Tensor
        self.register_buffer("losses", torch.zeros((), dtype=torch.int64))

    def linear(self) -> bool:
        """Whether the hops are without a softmax now."""
        return int(self.losses) < self.linear_start

    def learn(self, source: Padded, label_B: Tensor) -> tuple[Tensor, Tensor, dict[str, float]]:
        found = super().learn(source, label_B)
        self.losses += 1
        return found

    def ask(self, source: Padded) -> Looking:
        assert source.beside is not None
        most = max(source.lengths_B.tolist(), default=0)
        if 0 < self.slots < most:
            raise UserError(
                f"a story has {most} sentences, and the memory {self.slots} slots: set system.slots = {most} or more, as the longest story has (0: as many as sentences), "
                f"or data.source.last = {self.slots} to keep the last ones"
            )
        first, size = self.first, self.first.size
        tables = [table for table in self.tables if isinstance(table, Sentences)]
        words_VE = torch.cat([table.embedding.weight for table in tables], dim=1)  # one lookup for all of them
        slots_BSE = summed(source.values, shares(source.values, first.kind), words_VE, size)
        age_BS = first.ages(source.mask_BS)
        if age_BS is not None:
            slots_BSE = slots_BSE + nn.functional.embedding(age_BS, torch.cat([table.time.weight for table in tables if table.time is not None], dim=1))
        question_BW = source.beside.values * source.beside.mask_BS
        asked_BD = summed(question_BW, shares(question_BW, first.kind), first.embedding.weight, size)
        return Looking(torch.split(slots_BSE, size, dim=-1), source.mask_BS, asked_BD)

    def hop(self, number: int, asked: Looking) -> tuple[Looking, Tensor]:
        key, value = (number, number + 1) if self.adjacent else (0, 1)
        look = self.scores[number if self.adjacent else 0]
        assert isinstance(look, Attention)
        bound = look.bind(Memory(asked.slots[key], asked.mask_BS, asked.asked_BD))
        scores_BS = look.score(asked.asked_BD[:, None], bound, look.start(bound))
        weights_B1S = scores_BS * asked.mask_BS[:, None] if self.linear() else self._weights(look, scores_BS, asked.asked_BD, bound)
        seen_BD = (weights_B1S @ asked.slots[value]).squeeze(1)
        kept_BD = asked.asked_BD if self.carry is None else self.carry(asked.asked_BD)
        return asked._replace(asked_BD=kept_BD + seen_BD), weights_B1S.squeeze(1)

    def _weights(self, look: Attention, scores_B1S: Tensor, asked_BD: Tensor, bound: Bound) -> Tensor:
        weights_B1S = softmax_with_empty(scores_B1S, bound.mask_BS, self.slots) if self.slots else masked_softmax(scores_B1S, bound.mask_BS)
        return look.focus(weights_B1S, asked_BD[:, None], bound, look.start(bound))

    def answer(self, asked: Looking) -> Tensor:
        last = self.tables[-1]
        assert isinstance(last, Sentences)
        return asked.asked_BD @ last.embedding.weight[self.rows_V].T


def softmax_with_empty(scores_B1S: Tensor, mask_BS: Tensor, slots: int) -> Tensor:
    """The weights of real sentences where those of all slots sum to one, and each empty slot scores 0.

    >>> softmax_with_empty(torch.zeros(1, 1, 3), torch.tensor([[True, True, False]]), slots=4)
    tensor([[[0.2500, 0.2500, 0.0000]]])
    """
    empty_B11 = (slots - mask_BS.sum(dim=1)).clamp(min=0)[:, None, None].to(scores_B1S.dtype)
    there_BS = torch.cat([mask_BS, torch.ones_like(mask_BS[:, :1])], dim=1)
    return masked_softmax(torch.cat([scores_B1S, empty_B11.log()], dim=2), there_BS)[..., :-1]


def answer_rows(source: Story, target: Field) -> tuple[int, list[int]]:
    """How many vectors a table has, and which of them stands for each unit of the target: the word's own, or else a new one behind the words.

    >>> story, answers = Story(), Text(unit="word")
    >>> story.fit(["Ada fell. Did Ada fall?"]); answers.fit(["ada", "yes"])
    >>> answer_rows(story, answers)  # 4 specials, ada, did, fall, fell; then 4 specials of the target and yes
    (13, [8, 9, 10, 11, 4, 12])
    """
    count = source.text.space.symbols()
    rows: list[int] = []
    for number, answer in enumerate(target.symbols(range(target.space.symbols()))):
        ids = source.text.encode(answer)
        own = number >= len(SPECIALS) and len(ids) == 1 and ids[0] != UNK and ids[0] not in rows
        rows.append(ids[0] if own else count)
        count += not own
    return count, rows
