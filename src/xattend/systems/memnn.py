"""Memory networks (Weston et al. 2015): sentences found one by one, learnt from which ones they are.

    o_1 = argmax_i s_O([q], x_i)        o_2 = argmax_i s_O([q, x_o1], x_i)       and so on, until nothing more is wanted
    answer = argmax_w s_R([q, x_o1, x_o2, ..], w)
    s(x, y) = phi_x(x)' U' U phi_y(y)

U gives a word three vectors, by where it stands: in the question, in a fact that was found, in a sentence that is judged; a text is the sum of its
words', and a sentence that is judged also has a learnt vector of its age. One more slot, `nothing`, is chosen when no further fact is wanted (Weston et
al. 2015b), so that questions may need different numbers of them. s_R has a U of its own.

The loss has a margin: every wrong sentence (and `nothing`) must score `margin` less than the right one, and every wrong answer than the answer, given
the right facts:

    sum_k sum_{i != f_k} max(0, margin - s_O([q, x_f1 .. x_fk-1], x_fk) + s_O(.., x_i)) + sum_{w != answer} max(0, margin - s_R(.., answer) + s_R(.., w))

Facts are supervised, so the rows must name them (data/fields/story.py); those that there is no hop for are counted in the log as `facts_beyond_hops`. A hop's weights are 1 at the sentence it chose; 0 everywhere once nothing is wanted.
Probabilities of answers, for `score` and perplexity, are a softmax of s_R, which the loss knows nothing of.

Shapes: B batch, S sentences, D width, V target vocabulary, K hops.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from xattend.encoders.sentences import Sentences
from xattend.errors import UserError
from xattend.registry import register
from xattend.systems.hopping import Hopping, gold, likelihood, untaught
from xattend.systems.parts import Parts
from xattend.types import Padded, Space

FAR = -1e9  # score of padding


class Finding(NamedTuple):
    """The sentences as they are judged, as facts for the next hop and as facts for the answer; what is asked of each; who still wants a fact."""

    judged_BSD: Tensor
    found_BSD: Tensor
    told_BSD: Tensor
    mask_BS: Tensor
    asked_BD: Tensor
    answered_BD: Tensor
    wants_B: Tensor


def margin_loss(scores_BN: Tensor, right_B: Tensor, margin: float) -> Tensor:
    """sum_{i != right} max(0, margin - score_right + score_i), one number a row.

    >>> margin_loss(torch.tensor([[1.0, 0.75, 0.25]]), torch.tensor([0]), 0.5).item()  # .5 - 1 + .75, and nothing for .25
    0.25
    """
    wrong_BN = F.relu(margin - scores_BN.gather(1, right_B[:, None]) + scores_BN)
    return wrong_BN.scatter(1, right_B[:, None], 0.0).sum(dim=1)


@register("system", "memnn")
class MemNN(Hopping[Finding]):
    """Hard hops over sums of words; the encoder must be `sentences`."""

    uses = ("encoder",)

    def __init__(
        self, parts: Parts, *,
        hops: Annotated[int, Field(ge=1), "facts that are looked for, at most"] = 2,
        margin: Annotated[float, Field(gt=0), "by which what is right must score more than all else"] = 0.1,
    ) -> None:  # fmt: skip
        super().__init__(parts)
        self.hops, self.margin = hops, margin
        space = Space(beside=parts.source.space.beside if parts.source else None)
        built = {name: parts.build("encoder", space) for name in ("judged", "asked", "found", "answered", "told")}
        if not all(isinstance(part, Sentences) for part in built.values()):
            raise UserError("the system 'memnn' reads stories by sums of words: set encoder.kind = \"sentences\"")
        for name in ("asked", "found", "answered", "told"):
            built[name].time = None  # only a sentence that is judged has an age
        self.texts = nn.ModuleDict(built)
        self.nothing = nn.Parameter(torch.randn(built["judged"].size) * 0.1)
        self.output = nn.Linear(built["judged"].size, self.target.space.symbols(), bias=False)
        nn.init.normal_(self.output.weight, std=0.1)

    def ask(self, source: Padded) -> Finding:
        judged, asked, found, answered, told = (self.texts[name](source) for name in ("judged", "asked", "found", "answered", "told"))
        wants_B = torch.ones(len(source.values), dtype=torch.bool)
        return Finding(judged.states_BSD, found.states_BSD, told.states_BSD, source.mask_BS, asked.summary_BD, answered.summary_BD, wants_B)

    def scores(self, asked: Finding) -> Tensor:
        """s_O of each sentence, and last of `nothing`: scores_BN, N = S + 1."""
        sentences_BS = (asked.judged_BSD @ asked.asked_BD[:, :, None]).squeeze(2).masked_fill(~asked.mask_BS, FAR)
        return torch.cat([sentences_BS, (asked.asked_BD @ self.nothing)[:, None]], dim=1)

    def take(self, asked: Finding, choice_B: Tensor) -> tuple[Finding, Tensor]:
        """The state after a choice, which may be `nothing`, and the choice as weights_BS."""
        sentences = asked.mask_BS.shape[1]
        wants_B = asked.wants_B & (choice_B < sentences)
        weights_BS = F.one_hot(choice_B.clamp(max=sentences - 1), sentences).to(asked.judged_BSD.dtype) * wants_B[:, None]
        found_BD, told_BD = ((weights_BS[:, None] @ slots_BSD).squeeze(1) for slots_BSD in (asked.found_BSD, asked.told_BSD))
        return asked._replace(asked_BD=asked.asked_BD + found_BD, answered_BD=asked.answered_BD + told_BD, wants_B=wants_B), weights_BS

    def hop(self, number: int, asked: Finding) -> tuple[Finding, Tensor]:
        return self.take(asked, self.scores(asked).argmax(dim=1))

    def answer(self, asked: Finding) -> Tensor:
        logits_BV: Tensor = self.output(asked.answered_BD)
        return logits_BV

    def learn(self, source: Padded, label_B: Tensor) -> tuple[Tensor, Tensor, dict[str, float]]:
        facts_BK, there_BK = gold(source, self.hops)
        if not bool(there_BK[:, 0].all()):
            raise UserError("the system 'memnn' learns from supporting facts, and a row names none: put #1 #3 and so on behind its question")
        asked, sentences = self.ask(source), source.mask_BS.shape[1]
        facts = source.values.new_zeros((), dtype=torch.float)
        for fact_B, there_B in zip(facts_BK.unbind(1), there_BK.unbind(1), strict=True):
            right_B = torch.where(there_B, fact_B, sentences)
            # after `nothing` there is no hop to judge
            facts = facts + (margin_loss(self.scores(asked), right_B, self.margin) * asked.wants_B).sum()
            asked, _ = self.take(asked, right_B)
        logits_BV = self.answer(asked)
        answers = margin_loss(logits_BV, label_B, self.margin).sum()
        return facts + answers, likelihood(logits_BV, label_B), {"facts": float(facts.detach()), **untaught(source, self.hops)}
