"""Beam search whose outputs hold given phrases: dynamic beam allocation (Post and Vilar 2018).

Each sentence has phrases of target tokens that must be written, in any order; where they overlap, one run of tokens may
serve several. For every phrase a hypothesis knows how many of its first tokens it has just written, as string matching
does (Knuth, Morris and Pratt 1977); a phrase that was written to its end stays written. A hypothesis' bank is

    bank = tokens of the phrases it has written + the most first tokens that it has just written of an open one

Candidates are the likeliest extensions of each hypothesis and, whatever their probability, the next token of each of its
open phrases. The K places are dealt out to the banks by turns, the fullest bank first, a bank's likeliest candidate at
each turn; a bank that has no more passes. (The paper gives each bank K / banks places and then shares out those left over;
dealing does both at once.) Only a hypothesis with all phrases may end.

So every finished output holds every phrase. The fullest bank always keeps a place, and among its candidates is one of a
fuller bank: with a beam of any size the phrases get written, if the length limit has room for their tokens and no other
setting rules them out. An output that was cut may lack some; then those of the fullest bank are preferred. Without phrases
this is beam search.

>>> Phrases([[(4, 5, 4, 6)]], torch.device("cpu")).after(torch.tensor([[[3], [3]]]), torch.tensor([[6, 5]])).tolist()
[[[4], [2]]]

(After 4 5 4 a 6 ends the phrase; a 5 leaves 4 5, its first two tokens.)

Shape suffixes: B sentences, K beams, C phrases of a sentence, P longest phrase, A letters (different tokens of a sentence's
phrases), M candidates, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.errors import UserError
from xattend.registry import register
from xattend.search.base import Steps
from xattend.search.beam import Beam
from xattend.search.choose import Candidates, Likeliest
from xattend.search.repeats import Phrase, holds
from xattend.types import BOS, EOS, PAD, Hypothesis, Memory


class Phrases:
    """The phrases of a batch as one table: how far each is written after one more token."""

    def __init__(self, must_B: Sequence[Sequence[Phrase]], device: torch.device) -> None:
        must_B = [list(dict.fromkeys(tuple(phrase) for phrase in row)) for row in must_B]
        if any(not phrase or min(phrase) < 0 or {PAD, BOS, EOS} & {*phrase} for row in must_B for phrase in row):
            raise UserError("a phrase to be written has at least one token, and no padding, start or end tokens")
        letters_B = [sorted({token for phrase in row for token in phrase}) for row in must_B]
        batch, count = len(must_B), max([1, *map(len, must_B)])
        longest = max((len(phrase) for row in must_B for phrase in row), default=0)
        width = max(map(len, letters_B), default=0)
        self.length_BC = torch.zeros(batch, count, dtype=torch.long)  # 0: no phrase here, so none is missing
        self.token_BCP = torch.full((batch, count, longest + 1), PAD)  # what comes next; after the last, nothing
        self.letter_BA = torch.full((batch, width), -1)
        self.after_BCPA = torch.zeros(batch, count, longest + 1, width + 1, dtype=torch.long)  # the last letter: any other token
        for b, row in enumerate(must_B):
            self.letter_BA[b, : len(letters_B[b])] = torch.tensor(letters_B[b], dtype=torch.long)
            for c, phrase in enumerate(row):
                self.length_BC[b, c] = len(phrase)
                self.token_BCP[b, c, : len(phrase)] = torch.tensor(phrase)
                self.after_BCPA[b, c, len(phrase)] = len(phrase)  # once written, it stays written
                for place in range(len(phrase)):
                    for a, letter in enumerate(letters_B[b]):
                        self.after_BCPA[b, c, place, a] = _matched(phrase, (*phrase[:place], letter))
        for name, part in vars(self).items():
            setattr(self, name, part.to(device))

    def bank(self, written_BMC: Tensor) -> Tensor:
        length_B1C = self.length_BC.unsqueeze(1)
        done_BMC = written_BMC == length_B1C
        return (length_B1C * done_BMC).sum(dim=2) + written_BMC.masked_fill(done_BMC, 0).amax(dim=2)

    def take(self, rows: Tensor) -> Phrases:
        other = copy(self)
        for name, part in vars(self).items():
            setattr(other, name, part[rows])
        return other

    def after(self, written_BMC: Tensor, token_BM: Tensor) -> Tensor:
        """How far each phrase is written once these tokens are added."""
        same_BMA = F.pad(token_BM.unsqueeze(2) == self.letter_BA.unsqueeze(1), (0, 1), value=True)
        letter_BM = same_BMA.to(torch.uint8).argmax(dim=2)  # the first that is the same; the last always is
        batch, count, places, letters = self.after_BCPA.shape
        table_BC = torch.arange(batch * count, device=token_BM.device).view(batch, 1, count)
        index_BMC = (table_BC * places + written_BMC) * letters + letter_BM.unsqueeze(2)
        return self.after_BCPA.flatten()[index_BMC]


def _matched(phrase: Phrase, written: Phrase) -> int:
    """The most first tokens of a phrase that the written ones end with."""
    return max(n for n in range(min(len(phrase), len(written)) + 1) if phrase[:n] == written[len(written) - n :])


class Dealt(Likeliest):
    """Places dealt out by turns to hypotheses that have written equally much of their phrases."""

    def __init__(self, must_B: Sequence[Sequence[Phrase]], size: int, device: torch.device) -> None:
        self.phrases = Phrases(must_B, device)
        self.written_BKC = torch.zeros_like(self.phrases.length_BC).unsqueeze(1).repeat(1, size, 1)
        self.banks = int(self.phrases.length_BC.sum(dim=1).max()) + 1

    def choose(self, scores_NV: Tensor, logprob_BK: Tensor) -> Candidates:
        (batch, size), phrases = logprob_BK.shape, self.phrases
        if phrases.token_BCP.numel() and int(phrases.token_BCP.max()) >= scores_NV.shape[1]:
            raise UserError(f"phrase token {int(phrases.token_BCP.max())} is outside the vocabulary of {scores_NV.shape[1]}")
        scores_BKV = scores_NV.view(batch, size, -1)
        open_BK = (self.written_BKC < phrases.length_BC.unsqueeze(1)).any(dim=2)
        scores_BKV[..., EOS] = scores_BKV[..., EOS].masked_fill(open_BK, -torch.inf)
        likely_BKL = scores_BKV.topk(min(2 * size, scores_BKV.shape[2]), dim=2).indices
        # the next token of each phrase: padding, which is never allowed, for those that are written or already listed
        next_BKC = phrases.token_BCP.unsqueeze(1).expand(-1, size, -1, -1).gather(3, self.written_BKC.unsqueeze(3)).squeeze(3)
        again_BKCC = (next_BKC.unsqueeze(3) == next_BKC.unsqueeze(2)).tril(-1)
        listed_BKC = (next_BKC.unsqueeze(3) == likely_BKL.unsqueeze(2)).any(dim=3) | again_BKCC.any(dim=3)
        token_BKm = torch.cat([likely_BKL, next_BKC.masked_fill(listed_BKC, PAD)], dim=2)
        own_BKm = scores_BKV.gather(2, token_BKm)
        token_BM, own_BM = token_BKm.flatten(1), own_BKm.flatten(1)
        total_BM = (logprob_BK.unsqueeze(2) + own_BKm).flatten(1)
        parent_BM = torch.arange(size, device=token_BM.device).repeat_interleave(token_BKm.shape[2]).expand_as(token_BM)
        before_BMC = self.written_BKC.gather(1, parent_BM.unsqueeze(2).expand(-1, -1, self.written_BKC.shape[2]))
        bank_BM = phrases.bank(phrases.after(before_BMC, token_BM))
        first_BK = self._deal(total_BM, bank_BM, size)
        alive_BK = self._deal(total_BM.masked_fill(token_BM == EOS, -torch.inf), bank_BM, size)
        pick_BC = torch.cat([first_BK, alive_BK], dim=1)
        total_BC, own_BC, parent_BC, token_BC = (part.gather(1, pick_BC) for part in (total_BM, own_BM, parent_BM, token_BM))
        second_BK = torch.arange(size, 2 * size, device=pick_BC.device).expand(batch, -1)
        return Candidates(total_BC, own_BC, parent_BC, token_BC, second_BK)

    def _deal(self, total_BM: Tensor, bank_BM: Tensor, size: int) -> Tensor:
        """The places of those who get one, in the order of dealing."""
        order_BM = total_BM.argsort(dim=1, descending=True, stable=True)
        bank_BM = bank_BM.gather(1, order_BM)
        turn_BM = F.one_hot(bank_BM, self.banks).cumsum(dim=1).gather(2, bank_BM.unsqueeze(2)).squeeze(2)
        key_BM = turn_BM * self.banks - bank_BM
        key_BM = key_BM.masked_fill(total_BM.gather(1, order_BM).isinf(), torch.iinfo(torch.long).max)
        return order_BM.gather(1, key_BM.topk(size, dim=1, largest=False).indices)

    def whole(self, logprob_BK: Tensor) -> Tensor:
        bank_BK = self.phrases.bank(self.written_BKC).masked_fill(logprob_BK.isinf(), -1)
        return logprob_BK.isfinite() & (bank_BK == bank_BK.amax(dim=1, keepdim=True))

    def follow(self, stay: Tensor, parent_BK: Tensor, token_BK: Tensor) -> None:
        if len(stay) < len(self.written_BKC):
            self.phrases = self.phrases.take(stay)
        written_BKC = self.written_BKC[stay]
        before_BKC = written_BKC.gather(1, parent_BK.unsqueeze(2).expand_as(written_BKC))
        self.written_BKC = self.phrases.after(before_BKC, token_BK)


@register("search", "constrained")
class Constrained(Beam):
    """Beam search whose finished outputs hold the phrases that were asked for (`xattend predict --must`)."""

    must_B: Sequence[Sequence[Phrase]] | None = None

    def requiring(self, phrases_B: Sequence[Sequence[Phrase]]) -> Self:
        other = copy(self)
        other.must_B = phrases_B
        return other

    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        rows = len(memory.mask_BS)
        must_B = [()] * rows if self.must_B is None else self.must_B
        if len(must_B) != rows:
            raise UserError(f"phrases for {len(must_B)} rows, and {rows} rows to write them in")
        if any(holds(phrase, never) for row in must_B for phrase in row for never in self.limits.never):
            raise UserError("a phrase that must be written holds one that must not be")
        rule = Dealt(must_B, self.size, memory.mask_BS.device)
        return self.run(decoder, memory, self.limits.plan(memory, prefix), rule, attention=attention)
