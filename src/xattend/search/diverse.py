"""Diverse beam search (Vijayakumar et al. 2016): groups of beams that are kept apart, for n-best lists that really differ.

The K beams of a sentence are `groups` groups of K / groups. At every step the groups choose one after the other, and a
word costs group g `diversity` for each beam of an earlier group that goes on with the same word at the same step (the
paper's Hamming diversity). With Y_h,t the words group h chose at step t, a beginning y of group g is ranked by

    log P(y_1 .. y_t | x) - diversity x sum_{s <= t} sum_{h < g} #{y' in Y_h,s : y' = y_s}

The cost steers what a group keeps and is summed over the steps, as in the paper's objective. It is no part of the answer: the
outputs of all groups, each once, are ranked by beam search's score, and their log-probabilities are the model's own. The end
costs nothing: outputs of one length may still differ. A group stops as a beam of its size does, and then costs the others
nothing any more.

With `groups = 1` this is beam search of that size. With `diversity = 0` all groups do the same: beam search of size / groups.

>>> DiverseBeam(size=5, groups=2)
Traceback (most recent call last):
xattend.errors.UserError: size 5 cannot be shared out among 2 groups: set size to 4 or 6

Shape suffixes: R rows (one a sentence and group), S sentences, K beams of a group, C = 2K candidates, A rows of one group,
J words taken by earlier groups, V vocabulary.
"""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic
import torch
from torch import Tensor

from xattend.errors import UserError
from xattend.registry import register
from xattend.search.base import Search, Steps
from xattend.search.beam import Beam
from xattend.search.choose import Candidates, Likeliest
from xattend.search.limits import AllowUnk, Limits, MaxExtra, MaxLength, MaxRatio, MinLength, NoRepeat
from xattend.types import PAD, Hypothesis, Memory


class Apart(Likeliest):
    """The likeliest extensions of each group, after what the groups before it in the same sentence have taken."""

    def __init__(self, sentences: int, groups: int, diversity: float, device: torch.device) -> None:
        self.sentences, self.groups, self.diversity = sentences, groups, diversity
        self.sentence_R = torch.arange(sentences, device=device).repeat_interleave(groups)
        self.group_R = torch.arange(groups, device=device).repeat(sentences)
        self.ranked_RK: Tensor | None = None  # log-probabilities less the costs so far

    def choose(self, scores_NV: Tensor, logprob_BK: Tensor) -> Candidates:
        rows, size = logprob_BK.shape
        scores_RKV = scores_NV.view(rows, size, -1)
        ranked_RK = logprob_BK if self.ranked_RK is None else self.ranked_RK
        taken_SJ = self.sentence_R.new_zeros(self.sentences, 0)
        places, found = [], []
        for group in range(self.groups):
            at = (self.group_R == group).nonzero().squeeze(1)
            if len(at) == 0:
                continue
            sentence_A, scores_AKV = self.sentence_R[at], scores_RKV[at]
            taken_AKJ = taken_SJ[sentence_A].unsqueeze(1).expand(-1, size, -1)
            cost_AKJ = torch.full_like(taken_AKJ, -self.diversity, dtype=scores_AKV.dtype)
            kept = super().choose(scores_AKV.scatter_add(2, taken_AKJ, cost_AKJ).flatten(0, 1), ranked_RK[at])
            word_AK = kept.token_BC.gather(1, kept.alive_BK)
            # padding stands for the words of beams that are not alive: it can never be written, so it costs nobody
            word_AK = word_AK.where(kept.total_BC.gather(1, kept.alive_BK).isfinite(), PAD)
            taken_SK = taken_SJ.new_full((self.sentences, size), PAD)
            taken_SK[sentence_A] = word_AK
            taken_SJ = torch.cat([taken_SJ, taken_SK], dim=1)
            own_AC = scores_AKV.flatten(1).gather(1, kept.parent_BC * scores_AKV.shape[2] + kept.token_BC)
            places.append(at)
            found.append((logprob_BK[at].gather(1, kept.parent_BC) + own_AC, own_AC, *kept[2:], kept.total_BC.gather(1, kept.alive_BK)))
        back_R = torch.cat(places).argsort()  # from the order of the groups to that of the rows
        *parts, self.ranked_RK = [torch.cat(part)[back_R] for part in zip(*found, strict=True)]
        return Candidates(*parts)

    def follow(self, stay: Tensor, parent_BK: Tensor, token_BK: Tensor) -> None:
        assert self.ranked_RK is not None
        self.sentence_R, self.group_R, self.ranked_RK = self.sentence_R[stay], self.group_R[stay], self.ranked_RK[stay]


@register("search", "diverse-beam")
class DiverseBeam(Search):
    """Beam search in groups that are kept apart, so that the n-best differ."""

    def __init__(
        self, *,
        size: Annotated[int, pydantic.Field(gt=0), "hypotheses kept at every step, in all groups together"] = 6,
        groups: Annotated[int, pydantic.Field(gt=0), "groups of equal size; 1 is plain beam search"] = 3,
        diversity: Annotated[float, pydantic.Field(ge=0), "cost of a word that a beam of an earlier group chose, too"] = 0.5,
        nbest: Annotated[int, pydantic.Field(gt=0), "finished hypotheses in the answer, of all groups; at most size"] = 1,
        length_penalty: Annotated[float, pydantic.Field(ge=0), "power of the length norm; 0 = none, 1 = mean"] = 1.0,
        penalty: Annotated[Literal["average", "gnmt", "none"], "length norm: n^a, ((5+n)/6)^a, or none"] = "average",
        max_length: MaxLength = None, max_ratio: MaxRatio = 3.0, max_extra: MaxExtra = 20,
        min_length: MinLength = 0, allow_unk: AllowUnk = True, no_repeat: NoRepeat = 0,
    ) -> None:  # fmt: skip
        if size % groups:
            near = [n for n in (size - size % groups, size - size % groups + groups) if n]
            raise UserError(f"size {size} cannot be shared out among {groups} groups: set size to {' or '.join(map(str, near))}")
        if nbest > size:
            raise UserError(f"nbest {nbest} is more than the beams' size {size}: set size to at least {nbest}")
        self.groups, self.diversity, self.nbest = groups, diversity, nbest
        self.beam = Beam(size=size // groups, nbest=size // groups, length_penalty=length_penalty, penalty=penalty)
        self.limits = Limits(max_length, max_ratio, max_extra, min_length, allow_unk, no_repeat)

    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        batch, device = len(memory.mask_BS), memory.mask_BS.device
        rule = Apart(batch, self.groups, self.diversity, device)
        plan, rows_R = self.limits.plan(memory, prefix).take(rule.sentence_R), rule.sentence_R
        found = self.beam.run(decoder, memory.take(rows_R), plan, rule, attention=attention)
        return [self._merged(found[first : first + self.groups]) for first in range(0, batch * self.groups, self.groups)]

    def _merged(self, groups: list[list[Hypothesis]]) -> list[Hypothesis]:
        """The n best of all groups, each output once; unfinished ones only if no group finished any."""
        every = [hypothesis for group in groups for hypothesis in group]
        every = [hypothesis for hypothesis in every if hypothesis.finished] or every
        once = {tuple(hypothesis.tokens): hypothesis for hypothesis in reversed(every)}  # of equals the first group's
        return sorted(once.values(), key=lambda hypothesis: -hypothesis.score)[: self.nbest]
