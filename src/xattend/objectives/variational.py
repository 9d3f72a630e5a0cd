"""Hard attention's lower bound (Xu et al. 2015, section 4.1), climbed by the score-function gradient (REINFORCE, Williams 1992).

    log p(y | a)  >=  L_s = E_s[log p(y | s, a)]
    dL_s/dW  ~  1/N sum_n [ d log p(y | s^n, a)/dW + lambda_r (R^n - b) d log p(s^n | a)/dW + lambda_e dH[s^n]/dW ]

R is what a place is credited with: log p(y | s, a) of the whole row (the paper), or of the words from its own step on (the same
mean, less noise: a place cannot change the words before it). b may be anything that does not depend on the place:

none            0
moving          average log p of a token over earlier batches, times the tokens that R sums; b = .9 b + .1 new in the paper
learned         the same from a small network that reads the memory's summary; trained by its own squared error
self-critical   R of the row's likeliest places (Rennie et al. 2017), each step's taken in turn
leave-one-out   mean R of the row's other paths (Kool et al. 2019)

With lambda_r = 1 and lambda_e = 0 the gradient is unbiased; `xattend gradients` measures it. The authors' code has lambda_r = .1 on
a row's mean cost a step, lambda_e = .002, one path and `attention.semi_sampling` = .5: each makes it another gradient.

`label_smoothing` changes what words teach the decoder, not what a place is credited with.

The logged `loss` is -L_s - lambda_e H: the other terms have a gradient and no value. `bound` is L_s, `nll` is
-log 1/N sum_n p(y | s^n, a), which for several paths is nearer to -log p(y | a).

With several processes each has a moving average of its own rows, which is right for them: a baseline changes no mean. The first
process's is saved, and all begin with it after a resume.

>>> LowerBound(samples=1, baseline="leave-one-out")
Traceback (most recent call last):
xattend.errors.UserError: objective.baseline = "leave-one-out" compares a row's paths: set objective.samples to 2 or more
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from xattend.attention.hard import DRAW, LIKELIEST, Hard
from xattend.decoders.base import Decoder
from xattend.errors import UserError
from xattend.objectives.base import Objective, as_loss
from xattend.objectives.cross_entropy import CrossEntropy
from xattend.objectives.paths import all_one, walk
from xattend.registry import register
from xattend.types import Loss, Memory, Padded, State

WIDTH = 64  # of the learned baseline's hidden layer


@register("objective", "lower-bound")
class LowerBound(Objective):
    """The expected log-likelihood over drawn paths of places."""

    moving: Tensor
    batches: Tensor

    def __init__(
        self, *,
        samples: Annotated[int, Field(gt=0), "paths a row"] = 4,
        baseline: Annotated[Literal["none", "moving", "learned", "self-critical", "leave-one-out"],
                            "what is taken from the reward to make it less noisy"] = "leave-one-out",
        credit: Annotated[Literal["path", "rest"], "reward of a place: all words of the row, as in the paper, or those from its step on"] = "rest",
        reward_weight: Annotated[float, Field(ge=0), "lambda_r; 1: the bound's own gradient, the authors: .1"] = 1.0,
        entropy: Annotated[float, Field(ge=0), "lambda_e: bonus for each nat of entropy; the authors: .002"] = 0.0,
        decay: Annotated[float, Field(ge=0, lt=1), "of the moving baseline"] = 0.9,
        label_smoothing: Annotated[float, Field(ge=0, lt=1), "share of the target spread over all words"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        if baseline == "leave-one-out" and samples < 2:
            raise UserError("objective.baseline = \"leave-one-out\" compares a row's paths: set objective.samples to 2 or more")
        self.samples, self.baseline, self.credit = samples, baseline, credit
        self.reward_weight, self.entropy, self.decay, self.smoothing = reward_weight, entropy, decay, label_smoothing
        self.whole = CrossEntropy()
        self.register_buffer("moving", torch.zeros(()))
        self.register_buffer("batches", torch.zeros((), dtype=torch.long))
        self.critic: nn.Sequential | None = None

    def wire(self, memory_size: int, vocabulary: int = 0) -> None:
        if self.baseline == "learned":
            self.critic = nn.Sequential(nn.Linear(memory_size, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))

    def forward(self, decoder: Decoder, memory: Memory, target: Padded) -> Loss:
        if not self.training:
            whole: Loss = self.whole(decoder, memory, target)
            return whole
        if any(isinstance(part, Hard) and part.sampler == "gumbel" for part in decoder.modules()):
            raise UserError(
                "attention.sampler = \"gumbel\" has a gradient of its own: train it with objective.kind = \"cross-entropy\", "
                "or set attention.sampler = \"categorical\""
            )
        start = decoder.start(memory)
        read = walk(decoder, all_one(start.beams(self.samples), DRAW), target, smoothing=self.smoothing)
        words_BNT, learnt_BNT, places_BNT, entropy_BNT, mask_BNT = read.rows(self.samples)
        words_BN, entropy = words_BNT.sum(dim=2), (entropy_BNT * mask_BNT).sum() / self.samples
        bound, learnt = words_BN.sum() / self.samples, learnt_BNT.sum() / self.samples
        reward_BNT, left_BNT = self._credited(words_BNT.detach()), self._credited(mask_BNT.to(words_BNT.dtype))
        baseline_BNT, critic = self._baseline(decoder, memory, target, start, reward_BNT, left_BNT)
        credit_BNT = self.reward_weight * (reward_BNT - baseline_BNT) * mask_BNT
        score = (credit_BNT * places_BNT).sum() / self.samples
        total = -learnt - self.entropy * entropy - (score - score.detach()) + (critic - critic.detach())
        if self.baseline == "moving":
            self._move(float(words_BN.detach().sum() / mask_BNT.sum()))
        nll = -(words_BN.detach().logsumexp(dim=1) - math.log(self.samples)).sum()
        return as_loss(total, nll, target, bound=bound, entropy=entropy)

    def _credited(self, each_BNT: Tensor) -> Tensor:
        """What each step is credited with, of something that each step has."""
        if self.credit == "path":
            return each_BNT.sum(dim=2, keepdim=True).expand_as(each_BNT)
        return each_BNT.flip(2).cumsum(dim=2).flip(2)

    def _baseline(
        self, decoder: Decoder, memory: Memory, target: Padded, start: State, reward_BNT: Tensor, left_BNT: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What is taken from the rewards, and the squared error of a baseline that learns."""
        nothing = reward_BNT.new_zeros(())
        if self.baseline == "moving":
            return self.moving.to(reward_BNT.dtype) * left_BNT, nothing
        if self.baseline == "learned":
            if self.critic is None:
                raise UserError("objective.baseline = \"learned\" was given no width: its system must call objective.wire(memory size)")
            rate_B: Tensor = self.critic(memory.summary_BD.detach()).squeeze(1)
            seen_BN = self._whole_of(reward_BNT) / self._whole_of(left_BNT).clamp(min=1)
            error = ((seen_BN - rate_B[:, None]) ** 2).sum() / self.samples
            return rate_B.detach()[:, None, None] * left_BNT, error
        if self.baseline == "self-critical":
            with torch.no_grad():
                words_B1T, *_ = walk(decoder, all_one(start, LIKELIEST), target).rows(1)
            return self._credited(words_B1T), nothing
        if self.baseline == "leave-one-out":
            return (reward_BNT.sum(dim=1, keepdim=True) - reward_BNT) / (self.samples - 1), nothing
        return nothing, nothing

    @staticmethod
    def _whole_of(credited_BNT: Tensor) -> Tensor:
        """The first step is credited with everything, in either way."""
        return credited_BNT[:, :, 0]

    @torch.no_grad()
    def _move(self, mean: float) -> None:
        """After the update's own use of it: a baseline that knew these draws would bias their gradient."""
        if math.isfinite(mean):  # an update that is not finite is skipped, and must leave nothing behind
            self.moving.mul_(self.decay).add_((1 - self.decay) * mean) if int(self.batches) else self.moving.fill_(mean)
            self.batches += 1
