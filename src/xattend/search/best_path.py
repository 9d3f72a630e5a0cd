"""Best path (Graves et al. 2006): the likeliest label of each frame, repeats taken together, blanks taken out. For CTC alone.

    l = B(argmax_pi prod_t y^t_{pi_t})

The fastest search, and not the likeliest output: many ways to say another one may weigh more than the one best way. `exact` is never below it.

>>> y_BTV = torch.tensor([[[0.6, 0, 0, 0, 0.4], [0.6, 0, 0, 0, 0.4]]]).log()  # the best path says nothing (.36); saying 4 has .64
>>> memory = Memory(y_BTV, torch.ones(1, 2, dtype=torch.bool), torch.zeros(1, 5))
>>> best = BestPath().search(PrefixSteps(), memory)[0][0]
>>> best.tokens, round(best.logprob, 4)  # log .36
([], -1.0217)
"""

from __future__ import annotations

import torch

from xattend.errors import UserError
from xattend.lattices.ctc import BLANK, collapsed, forward_backward
from xattend.lattices.prefixes import PrefixSteps
from xattend.registry import register
from xattend.search.base import Search, Steps
from xattend.search.limits import Limits
from xattend.types import EOS, SPECIALS, Hypothesis, Memory


@register("search", "best-path")
class BestPath(Search):
    """The score is the log-probability of the output, all its paths together."""

    def __init__(self) -> None:
        self.limits = Limits()

    @torch.inference_mode()
    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        if not isinstance(decoder, PrefixSteps):
            raise UserError("search 'best-path' is for system 'ctc' alone: set search.kind to greedy or beam")
        if prefix or self.limits.never:
            raise UserError("search 'best-path' can neither begin with given tokens nor leave any out: set search.kind to beam")
        found = []
        for log_y_TV, frames in zip(memory.states_BSD, memory.mask_BS.sum(dim=1).tolist(), strict=True):
            allowed_TV = log_y_TV[:frames].clone()
            allowed_TV[:, [mark for mark in range(len(SPECIALS)) if mark not in (BLANK, 1)]] = -torch.inf
            tokens = collapsed(allowed_TV.argmax(dim=1).tolist())
            logprob = float(
                forward_backward(log_y_TV[None, :frames], torch.tensor([frames]), torch.tensor([tokens], dtype=torch.long), torch.tensor([len(tokens)])).log_prob_B
            )
            found.append([Hypothesis(tokens, logprob, logprob, self._each(decoder, log_y_TV[:frames], tokens), finished=True)])
        return found

    @staticmethod
    def _each(decoder: Steps, log_y_TV: torch.Tensor, tokens: list[int]) -> list[float]:
        """Log-probability of each label given those before it, and of the end."""
        state = decoder.start(Memory(log_y_TV[None], torch.ones(1, len(log_y_TV), dtype=torch.bool), log_y_TV[None, 0]))
        given, found = 2, []  # BOS
        for token in [*tokens, EOS]:
            step = decoder.step(torch.tensor([given]), state)
            found.append(float(step.logits_BV[0, token]))
            state, given = step.state, token
        return found
