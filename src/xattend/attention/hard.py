"""Stochastic hard attention (Xu et al. 2015, section 4.1): one position is drawn and looked at, instead of a mean of all.

    a_t = softmax_j(score(query_t, state_j))     any other mechanism's weights, now a distribution
    s_t ~ Categorical(a_t)                       the place
    c_t = value_{s_t}

A draw has no derivative, so training needs one of two ways (docs/systems/hard_attention.md):

categorical   the score-function gradient of the objective `lower-bound`, which reads log p(s_t) from the state
gumbel        s_t = argmax_j(log a_tj + g_j), g Gumbel noise; the gradient is that of softmax((log a + g) / temperature), as if
              that had been the context (straight-through: Jang et al. 2017). Biased; serves every objective, cross entropy too

The weights that are returned, traced and drawn are the distribution a_t; the context is the drawn position's. Evaluation draws
nothing: the likeliest place, or the expectation, which is soft attention with the same weights.

Who calls a decoder may say where each step looks: `follow` puts a path into a decoder's state. A path is a row of places, or of
LIKELIEST, EXPECTED and DRAW; steps past its end repeat the last. Enumeration, self-critical baselines and soft attention with
the same weights are paths.

>>> hard = Hard(query_size=8, memory_size=6, score="dot").eval()
>>> memory = Memory(torch.randn(2, 4, 6), torch.ones(2, 4, dtype=torch.bool), torch.zeros(2, 6))
>>> bound = hard.bind(memory)
>>> context_BD, weights_BHS, drawn = hard.attend(torch.randn(2, 8), bound, hard.start(bound))
>>> torch.equal(context_BD, memory.states_BSD[torch.arange(2), weights_BHS[:, 0].argmax(dim=-1)])
True
>>> torch.allclose(drawn.log_prob_B, weights_BHS.amax(dim=-1)[:, 0].log())
True
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from xattend import registry
from xattend.attention.base import Attention, Bound, masked_softmax
from xattend.errors import UserError
from xattend.registry import Named, register
from xattend.tree import Tree
from xattend.types import Memory, State

LIKELIEST, EXPECTED, DRAW = -1, -2, -3  # what a path may hold besides places
AT_TEST = {"argmax": LIKELIEST, "expected": EXPECTED, "sample": DRAW}


class Drawn(NamedTuple):
    """What hard attention keeps from step to step.

    place_B      where the last step looked; negative: at no single place
    log_prob_B   sum over the steps of the places' log-probabilities, with their gradient
    entropy_B    sum over the steps of the distributions' entropies, in nats
    steps_B      how many
    path_BT      places to look at instead of one's own choice; None: there are none
    inner        the state of the mechanism that scores
    """

    place_B: Tensor
    log_prob_B: Tensor
    entropy_B: Tensor
    steps_B: Tensor
    path_BT: Tensor | None
    inner: Tree


def drawn(moving: Tree) -> list[Drawn]:
    """Every hard attention's state in a decoder's `State.moving`: one an attention, so several in a Transformer."""
    if isinstance(moving, Drawn):
        return [moving]
    parts = moving.values() if isinstance(moving, dict) else moving if isinstance(moving, tuple) else ()
    return [found for part in parts for found in drawn(part)]


def follow(state: State, path_BT: Tensor) -> State:
    """The decoder's state, told where each of its next steps looks."""

    def told(tree: Tree) -> Tree:
        if isinstance(tree, Drawn):
            return tree._replace(path_BT=path_BT, steps_B=torch.zeros_like(tree.steps_B))
        if isinstance(tree, dict):
            return {key: told(part) for key, part in tree.items()}
        if isinstance(tree, tuple):
            return type(tree)(*map(told, tree)) if hasattr(tree, "_fields") else tuple(map(told, tree))
        return tree

    return state.then(told(state.moving))


@register("attention", "hard")
class Hard(Attention):
    """One place, drawn from another mechanism's weights."""

    stateful = True

    def __init__(
        self, query_size: int, memory_size: int, *,
        score: Annotated[str | dict[str, Any], Named("attention"), "the mechanism whose weights are the distribution"] = "additive",
        sampler: Annotated[Literal["categorical", "gumbel"],
                           "in training: plain draws for objective lower-bound, or straight-through ones for any objective"] = "gumbel",
        temperature: Annotated[float, Field(gt=0), "of gumbel's softmax: lower is less biased and noisier"] = 1.0,
        semi_sampling: Annotated[float, Field(ge=0, le=1), "in training, chance that a row's step takes the expectation; the authors: .5"] = 0.0,
        at_test: Annotated[Literal["argmax", "expected", "sample"], "in evaluation: the likeliest place, the mean of all, or a draw"] = "argmax",
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size)
        self.content: Attention = registry.build_named("attention", score, query_size, memory_size)
        if not self.content.reads_query or type(self.content).attend_all is not Attention.attend_all:
            raise UserError(f"attention.score = '{score if isinstance(score, str) else score.get('kind')}' cannot be drawn from: it does not compare a query with each position, one weight a position")
        self.sampler, self.temperature, self.semi_sampling, self.at_test = sampler, temperature, semi_sampling, at_test
        self.context_size = self.content.context_size

    def bind(self, memory: Memory) -> Bound:
        return self.content.bind(memory)

    def start(self, bound: Bound) -> Drawn:
        zeros_B = bound.values_BSD.new_zeros(len(bound.mask_BS))
        return Drawn(torch.full_like(zeros_B, EXPECTED, dtype=torch.long), zeros_B, zeros_B, zeros_B.long(), None, self.content.start(bound))

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        raise UserError("attention 'hard' cannot be the score of another attention: make it the outer one, and the other its attention.score")

    def attend_all(
        self, query_BTQ: Tensor, bound: Bound, state: Tree, *, weights: bool = True
    ) -> tuple[Tensor, Tensor | None, Tree]:
        if self.content.stateful and query_BTQ.shape[1] != 1:
            return self._one_by_one(query_BTQ, bound, state)
        weights_BTS = self._distribution(query_BTQ, bound, state.inner)
        logs_BTS = weights_BTS.clamp(min=torch.finfo(weights_BTS.dtype).tiny).log()  # no weight: no NaN in its gradient
        place_BT, used_BTS = self._look(weights_BTS, logs_BTS, bound.mask_BS, self._asked(weights_BTS, state))
        log_prob_BT = logs_BTS.gather(2, place_BT.clamp(min=0)[:, :, None]).squeeze(2).masked_fill(place_BT < 0, 0.0)
        inner = self.content.advance(state.inner, used_BTS[:, 0], bound) if self.content.stateful else state.inner
        after = Drawn(
            place_BT[:, -1], state.log_prob_B + log_prob_BT.sum(dim=1), state.entropy_B - (weights_BTS * logs_BTS).sum(dim=(1, 2)),
            state.steps_B + place_BT.shape[1], state.path_BT, inner,
        )  # fmt: skip
        return used_BTS @ bound.values_BSD, weights_BTS[:, :, None], after

    def _distribution(self, query_BTQ: Tensor, bound: Bound, inner: Tree) -> Tensor:
        weights_BTS = masked_softmax(self.content.score(query_BTQ, bound, inner), bound.mask_BS)
        weights_BTS = self.content.focus(weights_BTS, query_BTQ, bound, inner)
        if not self.content.sums_to_one:  # a window that fades: its weights, brought back to a sum of one
            weights_BTS = weights_BTS / weights_BTS.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(weights_BTS.dtype).tiny)
        return weights_BTS

    def _asked(self, weights_BTS: Tensor, state: Drawn) -> Tensor:
        """For each step a place, or one of the three words."""
        batch, steps = weights_BTS.shape[:2]
        if state.path_BT is not None:
            at_BT = state.steps_B[:, None] + torch.arange(steps, device=weights_BTS.device)
            asked_BT = state.path_BT.gather(1, at_BT.clamp(max=state.path_BT.shape[1] - 1))
        else:
            word = DRAW if self.training else AT_TEST[self.at_test]
            asked_BT = torch.full((batch, steps), word, device=weights_BTS.device)
            if self.training and self.sampler == "categorical" and not self.semi_sampling and torch.is_grad_enabled():
                raise UserError(
                    "attention.sampler = \"categorical\" is trained by objective.kind = \"lower-bound\" alone: no other objective gives the "
                    "scores a gradient; set that, or attention.sampler = \"gumbel\""
                )
        if self.training and self.semi_sampling:
            instead_BT = torch.rand(batch, steps, device=weights_BTS.device) < self.semi_sampling
            asked_BT = torch.where((asked_BT == DRAW) & instead_BT, EXPECTED, asked_BT)
        return asked_BT

    def _look(self, weights_BTS: Tensor, logs_BTS: Tensor, mask_BS: Tensor, asked_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Where each step looks, and what its context is the sum with. A row without positions looks nowhere, with weights of zero."""
        place_BT = torch.where(asked_BT == LIKELIEST, weights_BTS.argmax(dim=-1), asked_BT)
        draws_BT, soft_BTS = asked_BT == DRAW, None
        if bool(draws_BT.any()):
            noise_BTS = -torch.empty_like(weights_BTS).exponential_().clamp(min=torch.finfo(weights_BTS.dtype).tiny).log()
            noisy_BTS = logs_BTS + noise_BTS
            place_BT = torch.where(draws_BT, noisy_BTS.masked_fill(weights_BTS == 0, -torch.inf).argmax(dim=-1), place_BT)
            if self.training and self.sampler == "gumbel":
                soft_BTS = masked_softmax(noisy_BTS / self.temperature, mask_BS)
        place_BT = torch.where(mask_BS.any(dim=1)[:, None], place_BT, EXPECTED)
        one_BTS = F.one_hot(place_BT.clamp(min=0), weights_BTS.shape[-1]).to(weights_BTS.dtype)
        if soft_BTS is not None:
            one_BTS = torch.where(draws_BT[:, :, None], one_BTS + soft_BTS - soft_BTS.detach(), one_BTS)
        return place_BT, torch.where((place_BT == EXPECTED)[:, :, None], weights_BTS, one_BTS)
