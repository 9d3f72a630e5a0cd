"""A window that slides along the source (Graves 2013): a mixture of Gaussians over positions, placed by the query and by where it was.

    (a^_t, b^_t, k^_t) = W query_t + b                                 K of each                     (48)
    alpha_t = exp a^_t,  beta_t = exp b^_t,  kappa_t = kappa_{t-1} + exp k^_t                         (49-51)
    phi(t, u) = sum_k alpha_tk exp(-beta_tk (kappa_tk - u)^2),   c_t = sum_u phi(t, u) state_u        (46-47)

What stands at a position plays no part: location alone. The weights are not normalised, so a window may be faint, or between two
positions. It can only go forward; with `monotone = false` the exponential of the last equation is left out, and it may go back as well.

Positions are counted from 0 here, and each step moves `pace` positions on until something better is learnt. Set it to the source positions a step,
about: 1 if both sides are as long as each other, 0.05 where twenty pen points make a letter, 8 where eight frames of sound do. A position reaches half
a position to either side, so the first step's share of the source is from -1/2 to pace - 1/2, and its middle is where the first look lies:
kappa_0 = -(1 + pace) / 2. Begun at the middle of the first position instead, the window of `handwriting` stayed a point or two ahead of the pen.

>>> import torch
>>> from xattend.types import Memory
>>> window = Window(2, 3, components=1, pace=1.0)
>>> _ = torch.nn.init.zeros_(window.place.weight)
>>> memory = Memory(torch.eye(3)[None], torch.ones(1, 3, dtype=torch.bool), torch.zeros(1, 3))
>>> bound = window.bind(memory)
>>> _, first_BHS, kappa_BK = window.attend(torch.zeros(1, 2), bound, window.start(bound))
>>> first_BHS[0, 0].mul(1000).round().tolist()  # exp(-0), exp(-1), exp(-4)
[1000.0, 368.0, 18.0]

Shapes: B batch, T queries, S positions, K Gaussians, Q and D widths.
"""

from __future__ import annotations

import math
from typing import Annotated

import pydantic
import torch
from torch import Tensor, nn

from xattend.attention.base import Attention, Bound
from xattend.registry import register
from xattend.tree import Tree

HIGHEST = 8.0  # of what is exponentiated: a step of 3,000 positions, and no infinity


@register("attention", "window")
class Window(Attention):
    """Gaussians that move along the positions."""

    stateful = True
    sums_to_one = False

    def __init__(
        self, query_size: int, memory_size: int, *,
        components: Annotated[Annotated[int, pydantic.Field(ge=1)], "Gaussians (K)"] = 10,
        monotone: Annotated[bool, "it never goes back"] = True,
        pace: Annotated[Annotated[float, pydantic.Field(gt=0)], "positions that it moves on at each step, before anything is learnt"] = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size)
        self.components, self.monotone, self.pace = components, monotone, pace
        self.place = nn.Linear(query_size, 3 * components)
        # all Gaussians together weigh one at their centre, are about a position wide, and go at the given pace
        alpha, beta, kappa = torch.zeros(3, components).unbind()
        bias_3K = torch.stack([alpha - math.log(components), beta, kappa + (math.log(pace) if monotone else pace)])
        nn.init.normal_(self.place.weight, std=0.1 * query_size**-0.5)
        with torch.no_grad():
            self.place.bias.copy_(bias_3K.flatten())

    def start(self, bound: Bound) -> Tree:
        return bound.values_BSD.new_full((len(bound.mask_BS), self.components), -(1 + self.pace) / 2)

    def look(self, query_BQ: Tensor, kappa_BK: Tensor, mask_BS: Tensor) -> tuple[Tensor, Tensor]:
        """weights_BS, and where the Gaussians are now."""
        alpha_BK, beta_BK, step_BK = self.place(query_BQ).chunk(3, dim=1)
        step_BK = step_BK.clamp(max=HIGHEST).exp() if self.monotone else step_BK
        kappa_BK = kappa_BK + step_BK
        places_S = torch.arange(mask_BS.shape[1], device=query_BQ.device, dtype=query_BQ.dtype)
        away_BKS = kappa_BK[:, :, None] - places_S
        logs_BKS = alpha_BK.clamp(max=HIGHEST)[:, :, None] - beta_BK.clamp(max=HIGHEST).exp()[:, :, None] * away_BKS.square()
        return logs_BKS.exp().sum(dim=1).masked_fill(~mask_BS, 0.0), kappa_BK

    def attend_all(
        self, query_BTQ: Tensor, bound: Bound, state: Tree, *, weights: bool = True
    ) -> tuple[Tensor, Tensor | None, Tree]:
        if query_BTQ.shape[1] != 1:
            return self._one_by_one(query_BTQ, bound, state)
        weights_BS, kappa_BK = self.look(query_BTQ[:, 0], state, bound.mask_BS)
        weights_B1S = weights_BS[:, None]
        return weights_B1S @ bound.values_BSD, weights_B1S[:, :, None], kappa_BK
