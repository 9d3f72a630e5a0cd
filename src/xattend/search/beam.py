"""Beam search: the K likeliest beginnings go on, at every step, for all sentences of the batch at once.

Each step makes the 2K likeliest extensions of a sentence's K beginnings. Those that end (EOS) among the first K leave
the beam and are ranked among the finished; the K likeliest that do not end go on, so a finished hypothesis takes no
place away. Beginnings of one length are compared by log-probability alone; finished ones are ranked by

    score = log P(y | x) / norm(length) + coverage_penalty x sum_j log min(sum_t a_tj, 1)

with norm(n) = n^a ("average": Cho et al. 2014, a = 1), ((5 + n) / 6)^a ("gnmt") or 1 ("none"); n counts EOS. The second
term is the coverage penalty of Wu et al. 2016, eq. 14, over real source positions, heads averaged.

When does a sentence stop? At its length limit, or by `stop`:

    size     when K hypotheses have finished, and no beginning still alive is ahead of the best of them, each at its present length. With
             size 1 it is greedy search. K finished alone is the usual rule, but not enough where few words share the probability that label
             smoothing spreads: then K outputs that break off in the middle have soon "finished", one a step, before the right one can.
    bound    when, besides, no beginning still alive could get a better score than the worst of the K finished, even if
             all it has still to write had probability 1 and it grew to the length limit. Nothing the beam could reach
             is missed, but with a length penalty this mostly means to go on to the limit, and to prefer long outputs.

Either depends on one sentence alone: not on its neighbours, nor on `nbest`. Only if nothing finished within the limit
are unfinished hypotheses returned, marked so. If fewer than `nbest` finished, there are fewer in the answer.

>>> Beam(size=2, nbest=3)
Traceback (most recent call last):
xattend.errors.UserError: nbest 3 is more than the beam's size 2: set size to at least 3

Shape suffixes: B sentences in the batch, K beams, C = 2K candidates, N = B x K, V vocabulary, H heads, S source.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np
import pydantic
import torch
from torch import Tensor

from xattend import tree
from xattend.errors import UserError
from xattend.registry import register
from xattend.search.backtrack import Ends, Frame, History
from xattend.search.base import Search, Steps
from xattend.search.choose import Likeliest
from xattend.search.limits import AllowUnk, Limits, MaxExtra, MaxLength, MaxRatio, MinLength, NoRepeat, Plan, longer
from xattend.types import BOS, EOS, Hypothesis, Memory

if TYPE_CHECKING:
    from xattend.search.tree import BeamTree

UNCOVERED = 1e-6  # weight below which a position's log counts no further, so that one miss is not minus infinity


class Pool(NamedTuple):
    """The K best finished hypotheses of each sentence, best first; a score of -inf is an empty place."""

    score_BK: Tensor
    logprob_BK: Tensor
    step_BK: Tensor
    beam_BK: Tensor
    last_BK: Tensor
    finished_BK: Tensor

    @staticmethod
    def empty(batch: int, size: int, device: torch.device) -> Pool:
        none_BK = torch.zeros(batch, size, device=device)
        zero_BK = none_BK.long()
        return Pool(none_BK - torch.inf, none_BK, zero_BK, zero_BK, none_BK, zero_BK.bool())

    def merge(self, other: Pool) -> Pool:
        both = [torch.cat(pair, dim=1) for pair in zip(self, other)]
        best_BK = both[0].topk(self.score_BK.shape[1], dim=1).indices
        return Pool(*[part.gather(1, best_BK) for part in both])


@register("search", "beam")
class Beam(Search):
    """Keeps `size` hypotheses a sentence."""

    watch: BeamTree | None = None  # told of every step's candidates (tree.py)

    def __init__(
        self, *,
        size: Annotated[int, pydantic.Field(gt=0), "hypotheses kept at every step"] = 5,
        nbest: Annotated[int, pydantic.Field(gt=0), "finished hypotheses in the answer; at most size"] = 1,
        length_penalty: Annotated[float, pydantic.Field(ge=0), "power of the length norm; 0 = none, 1 = mean"] = 1.0,
        penalty: Annotated[Literal["average", "gnmt", "none"], "length norm: n^a, ((5+n)/6)^a, or none"] = "average",
        coverage_penalty: Annotated[float, pydantic.Field(ge=0), "weight of the GNMT coverage term"] = 0.0,
        stop: Annotated[Literal["size", "bound"], "when size finished and none alive is ahead, or when none alive could beat them"] = "size",
        max_length: MaxLength = None, max_ratio: MaxRatio = 3.0, max_extra: MaxExtra = 20,
        min_length: MinLength = 0, allow_unk: AllowUnk = True, no_repeat: NoRepeat = 0,
    ) -> None:  # fmt: skip
        if nbest > size:
            raise UserError(f"nbest {nbest} is more than the beam's size {size}: set size to at least {nbest}")
        self.size, self.nbest, self.stop = size, nbest, stop
        self.length_penalty, self.penalty, self.coverage_penalty = length_penalty, penalty, coverage_penalty
        self.limits = Limits(max_length, max_ratio, max_extra, min_length, allow_unk, no_repeat)

    def norm(self, length: Tensor) -> Tensor:
        """What a log-probability of so many tokens, EOS included, is divided by."""
        if self.penalty == "none":
            return torch.ones_like(length, dtype=torch.float32)
        return (length.float() if self.penalty == "average" else (5 + length) / 6) ** self.length_penalty

    def coverage(self, covered_BKS: Tensor, mask_BS: Tensor) -> Tensor:
        """The coverage term of each hypothesis, <= 0."""
        logs_BKS = covered_BKS.clamp(UNCOVERED, 1.0).log().masked_fill(~mask_BS.unsqueeze(1), 0.0)
        return self.coverage_penalty * logs_BKS.sum(dim=2)

    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        return self.run(decoder, memory, self.limits.plan(memory, prefix), Likeliest(), attention=attention)

    @torch.inference_mode()
    def run(self, decoder: Steps, memory: Memory, plan: Plan, rule: Likeliest, *, attention: bool) -> list[list[Hypothesis]]:
        """Beam search within the limits of `plan`, which keeps the extensions that `rule` chooses."""
        size, mask_BS = self.size, memory.mask_BS
        batch, device = len(mask_BS), mask_BS.device
        history, left = History(), []
        rows_B = torch.arange(batch, device=device)  # which sentences of the batch are still here
        row_of = np.arange(batch)
        pool = Pool.empty(batch, size, device)
        count_B = torch.zeros(batch, dtype=torch.long, device=device)
        # only the first of the K equal beginnings is alive, else the first step would make K copies of each word
        logprob_BK = torch.full((batch, size), -torch.inf, device=device)
        logprob_BK[:, 0] = 0.0
        covered_BKS = torch.zeros(batch, size, mask_BS.shape[1], device=device)
        looks = attention or self.coverage_penalty > 0
        state = replace(decoder.start(memory), looks=looks).beams(size)
        token_N = torch.full((batch * size,), BOS, device=device)
        tokens_NT = plan.nothing_written(batch * size)

        for written in range(int(plan.limit_B.max()) + 1):
            step = decoder.step(token_N, state)
            kept = rule.choose(plan.scores(step.logits_BV, written, tokens_NT), logprob_BK)
            total_BK, parent_BK = kept.total_BC[:, :size], kept.parent_BC[:, :size]
            term_BK, before_BK = torch.zeros_like(logprob_BK), torch.zeros_like(logprob_BK)
            if self.coverage_penalty:
                before_BK = self.coverage(covered_BKS, mask_BS)
                covered_BKS = covered_BKS + self._looked(step.looked(), mask_BS)
                term_BK = self.coverage(covered_BKS, mask_BS)

            closed_BK = (kept.token_BC[:, :size] == EOS) & total_BK.isfinite()
            final = self._ends(total_BK, parent_BK, term_BK, written + 1, closed_BK)
            final = final._replace(last_BK=kept.own_BC[:, :size], step_BK=final.step_BK - 1)
            pool = pool.merge(final)
            count_B = count_B + closed_BK.sum(dim=1)

            old_BK = logprob_BK
            logprob_BK, own_BK, parent_BK, token_BK = (part.gather(1, kept.alive_BK) for part in kept[:4])
            history.frames.append(
                Frame(
                    row_of, token_BK.cpu().numpy(), parent_BK.cpu().numpy(), own_BK.cpu().numpy(),
                    torch.unflatten(step.looked(), 0, (-1, size)).float().cpu().numpy() if attention else None,
                )
            )  # fmt: skip

            done_B = self._done(written, plan.limit_B, count_B, pool, logprob_BK)
            if self.watch is not None:
                self.watch.step(written, kept, final.score_BK, done_B, plan.limit_B)
            if bool(done_B.any()):
                nothing_B1 = pool.score_BK[:, :1].isinf()
                slot_BK = torch.arange(size, device=device).expand_as(parent_BK)
                cut = self._ends(old_BK, slot_BK, before_BK, written, rule.whole(old_BK))
                cut = cut._replace(finished_BK=torch.zeros_like(closed_BK))
                ranked = Pool.empty(len(rows_B), size, device).merge(cut)
                answer = Pool(*[torch.where(nothing_B1, part, other) for part, other in zip(ranked, pool)])
                gone = done_B.nonzero().squeeze(1)
                left.append((rows_B[gone], tree.take(answer, gone)))
            stay = (~done_B).nonzero().squeeze(1)
            if len(stay) == 0:
                break
            source_N = (stay.unsqueeze(1) * size + parent_BK[stay]).flatten()  # rows of the step that go on
            token_N = token_BK[stay].flatten()
            tokens_NT = longer(tokens_NT, source_N, token_N)
            rule.follow(stay, parent_BK[stay], token_BK[stay])
            if len(stay) == len(rows_B):
                state = step.state.reorder(source_N)
            else:
                state, plan, pool = step.state.take(source_N), plan.take(stay), tree.take(pool, stay)
                rows_B, count_B, logprob_BK, mask_BS = rows_B[stay], count_B[stay], logprob_BK[stay], mask_BS[stay]
                row_of = np.full(batch, -1)
                row_of[rows_B.cpu().numpy()] = np.arange(len(stay))
            if self.coverage_penalty:
                covered_BKS = covered_BKS.flatten(0, 1)[source_N].view(len(stay), size, mask_BS.shape[1])
        return history.hypotheses(self._chosen(left), memory.mask_BS.cpu().numpy())

    def _looked(self, weights_NHS: Tensor, mask_BS: Tensor) -> Tensor:
        if weights_NHS.shape[-1] != mask_BS.shape[1]:
            raise UserError("coverage_penalty needs attention over the source positions: set it to 0 for this model")
        return weights_NHS.float().mean(dim=1).view(len(mask_BS), self.size, mask_BS.shape[1])

    def _ends(self, logprob_BK: Tensor, beam_BK: Tensor, term_BK: Tensor, length: int, real_BK: Tensor) -> Pool:
        """Hypotheses ranked by score; those that are not real get -inf."""
        score_BK = logprob_BK / self.norm(torch.tensor(max(length, 1))).item() + term_BK.gather(1, beam_BK)
        return Pool(
            score_BK.masked_fill(~real_BK, -torch.inf), logprob_BK, torch.full_like(beam_BK, length), beam_BK,
            torch.zeros_like(logprob_BK), torch.ones_like(real_BK),
        )  # fmt: skip

    def _done(self, written: int, limit_B: Tensor, count_B: Tensor, pool: Pool, logprob_BK: Tensor) -> Tensor:
        best_B, full_B = logprob_BK.amax(dim=1), count_B >= self.size
        if self.stop == "bound":
            beaten_B = best_B / self.norm(limit_B + 1) <= pool.score_BK[:, -1]
        else:
            beaten_B = best_B / self.norm(torch.tensor(written + 1)) <= pool.score_BK[:, 0]
        full_B = full_B & beaten_B
        return full_B | (written == limit_B) | best_B.isinf()

    def _chosen(self, left: list[tuple[Tensor, Pool]]) -> Ends:
        """The n best of every sentence, as flat arrays in the order of the batch."""
        rows_B = torch.cat([rows for rows, _ in left])
        order_B = rows_B.argsort()
        pool = Pool(*[torch.cat(parts)[order_B, : self.nbest].cpu() for parts in zip(*[pool for _, pool in left])])
        real_BK = pool.score_BK.isfinite()
        real_BK[:, 0] = True  # every sentence has an answer
        sentence_F = real_BK.nonzero()[:, 0].numpy()
        score, logprob, step, beam, last, finished = [part[real_BK].numpy() for part in pool]
        return Ends(sentence_F, step, beam, score, logprob, last, finished)
