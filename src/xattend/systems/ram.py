"""The recurrent model of visual attention (Mnih et al. 2014): a network that looks at a few places of a picture, and learns where from rewards.

    g_t = glimpse network(rho(x, l_{t-1}), l_{t-1})       what is seen there, and where (glimpses/)
    h_t = relu(W h_{t-1} + W g_t)                         the core; an LSTM does as well
    l_t ~ N(tanh(W relu(W h_t)), std^2)                   where to look next, in [-1, 1] x [-1, 1]; the first place is drawn evenly
    a   = softmax(W h_T)                                  what it is, after the last look

Core, glimpse and action networks learn by the cross entropy. Where to look has no gradient: it is learnt by REINFORCE (Williams 1992) with a
baseline, which learns to expect the reward,

    dJ/dW ~ 1/M sum_m sum_t d log pi(l_t^m | h_t^m)/dW (R^m - b_t^m),   b_t = W h_t + b,  least (R - b_t)^2

R is 1 if the answer is right, else 0; with `reward = "likelihood"` it is log p(a* | looks), the lecture's, a lower bound of log p(a* | x) in
its mean. M copies of a picture look at different places, all in one batch. No gradient passes through a place (l_t is a constant where it is
looked at), nor from the location network and the baseline into the core. A place outside of the picture is moved to its edge when it is
looked at; log pi is that of the place as it was drawn. The logged `loss` is the cross entropy: the other terms have a gradient and no value.

In evaluation a place is the mean, and what must be drawn is drawn from the picture itself (layers/dice.py), so that a picture's answer never
depends on which others share its batch. Controls: `policy = "random"`, every place drawn evenly; `policy = "centre"`. Training with a learnt
policy runs all looks as one function (ram_fused.py).

Shapes: B pictures, N = B x M, T looks, D width, V target vocabulary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

import pydantic
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend import registry
from xattend.cells.base import Cell
from xattend.errors import UserError
from xattend.glimpses.base import Glimpse
from xattend.glimpses.network import GlimpseNetwork
from xattend.layers import dice
from xattend.objectives.base import as_loss
from xattend.registry import Named, register
from xattend.search.base import Search
from xattend.systems import ram_fused
from xattend.systems.answers import prediction
from xattend.systems.base import System
from xattend.systems.label import Label, label_scores, labels_of, memory_of
from xattend.systems.looked import traces
from xattend.systems.parts import Parts
from xattend.tree import Tree
from xattend.types import Batch, Loss, Prediction

Positive = Annotated[int, pydantic.Field(ge=1)]
Above = Annotated[float, pydantic.Field(gt=0)]


class Looks(NamedTuple):
    """A walk over pictures.

    last_ND      the state after the last look
    where_TN2    the places that were looked at
    drawn_nN2    the places as they were drawn, for all looks but the first; empty where no network chose them
    mean_nN2     the means that they were drawn around
    expected_nN  the baseline's reward, told before the place is drawn
    """

    last_ND: Tensor
    where_TN2: Tensor
    drawn_nN2: Tensor
    mean_nN2: Tensor
    expected_nN: Tensor


def log_density(drawn_N2: Tensor, mean_N2: Tensor, std: float) -> Tensor:
    """log N(drawn; mean, std^2 I), up to a constant. Any leading axes.

    >>> log_density(torch.tensor([[0.1, 0.0]]), torch.zeros(1, 2), 0.1).round(decimals=4).tolist()
    [-0.5]
    """
    return -(drawn_N2.detach() - mean_N2).square().sum(dim=-1) / (2 * std * std)


def reinforce(log_pi_nN: Tensor, reward_N: Tensor, expected_nN: Tensor) -> Tensor:
    """What to minimise so that its gradient is REINFORCE's, with a baseline: -sum_t log pi_t (R - b_t), for each copy.

    >>> reinforce(torch.tensor([[-1.0], [-2.0]]), torch.tensor([1.0]), torch.tensor([[0.5], [1.0]])).tolist()
    [0.5]
    """
    return -(log_pi_nN * (reward_N - expected_nN).detach()).sum(dim=0)


@register("system", "ram")
class RAM(System):
    """Hard glimpses, learnt from rewards."""

    glimpses = True

    def __init__(
        self, parts: Parts, *,
        glimpse: Annotated[str | dict[str, Any], Named("glimpse"), "the window"] = "retina",
        looks: Annotated[Positive, "how often it looks"] = 6,
        cell: Annotated[str, Named("cell"), "the core: relu-rnn, or lstm"] = "relu-rnn",
        size: Annotated[Positive, "width of the core"] = 256,
        inner: Annotated[Positive, "width of what was seen, and of where, before they are put together"] = 128,
        policy: Annotated[Literal["learned", "random", "centre"], "who says where to look"] = "learned",
        std: Annotated[Above, "of the place around its mean; the picture is 2 wide"] = 0.1,
        samples: Annotated[Positive, "copies of a picture that look at different places (M)"] = 1,
        reward: Annotated[Literal["right", "likelihood"], "1 if right, else 0; or the log-likelihood of the right answer"] = "right",
        reward_weight: Annotated[float, pydantic.Field(ge=0), "of the reward's gradient beside that of the cross entropy"] = 1.0,
        at_test: Annotated[Literal["mean", "sample"], "the place in evaluation: its mean, or drawn as in training"] = "mean",
    ) -> None:  # fmt: skip
        super().__init__()
        assert parts.source is not None
        self.target = parts.target
        self.window: Glimpse = registry.build_named("glimpse", glimpse, parts.source.space)
        if not self.window.hard:
            raise UserError("a soft glimpse is learnt by the gradient, not from rewards: set system.kind = \"classify\" and encoder.kind = \"glimpses\"")
        self.network = GlimpseNetwork(self.window, inner, size)
        self.core: Cell = registry.build("cell", cell, size, size)
        self.label = Label(size, parts.target.space.symbols())
        self.locator = nn.Sequential(nn.Linear(size, inner), nn.ReLU(), nn.Linear(inner, 2), nn.Tanh()) if policy == "learned" else None
        self.baseline = nn.Linear(size, 1) if policy == "learned" else None
        if policy == "centre" and samples > 1:
            raise UserError("policy = \"centre\" looks at one place: several samples of it are the same (samples = 1)")
        self.steps, self.policy, self.std, self.samples = looks, policy, std, samples
        self.reward, self.reward_weight, self.at_test = reward, reward_weight, at_test

    def walk(self, picture_BCHW: Tensor, copies: int) -> Looks:
        """Looks at each picture, `copies` times side by side."""
        bound = self.window.bind(picture_BCHW)
        even_NT2, noise_NT2 = self._even(picture_BCHW, copies), self._noise(picture_BCHW, copies)
        gates = ram_fused.gates_of(self.core)
        if self.locator is None or self.baseline is None or noise_NT2 is None or gates is None:
            return self.one_by_one(bound, even_NT2, noise_NT2)
        if self.steps == 1 or not torch.is_grad_enabled():  # no place is chosen, or nothing is learnt
            return self.one_by_one(bound, even_NT2, noise_NT2)
        how = ram_fused.Plan(self.window, self.core, gates, self.std)
        return Looks(*ram_fused.run(how, self.network, self.locator, self.baseline, bound, even_NT2[:, 0], noise_NT2))

    def one_by_one(self, bound: Tree, even_NT2: Tensor, noise_NT2: Tensor | None) -> Looks:
        """The plain way, for every policy and core: the reference for ram_fused.py."""
        state = self.core.start(len(even_NT2))
        where, drawn, means, expected = list[Tensor](), list[Tensor](), list[Tensor](), list[Tensor]()
        where_N2 = torch.zeros_like(even_NT2[:, 0]) if self.policy == "centre" else even_NT2[:, 0]
        for look in range(self.steps):
            state = self.core(self.network(self.window.read(bound, where_N2), where_N2), state)
            where.append(where_N2)
            if look + 1 == self.steps:
                break
            if self.locator is None or self.baseline is None:
                where_N2 = where_N2 if self.policy == "centre" else even_NT2[:, look + 1]
                continue
            known_ND = state[0].detach()  # rewards teach where to look, not what to see
            mean_N2 = self.locator(known_ND)
            drawn_N2 = (mean_N2 if noise_NT2 is None else mean_N2 + self.std * noise_NT2[:, look]).detach()
            means.append(mean_N2)
            drawn.append(drawn_N2)
            expected.append(self.baseline(known_ND).squeeze(1))
            where_N2 = drawn_N2.clamp(-1, 1)
        none_N2 = even_NT2.new_empty(0, len(even_NT2), 2)
        chosen = [torch.stack(each) if each else none for each, none in ((drawn, none_N2), (means, none_N2), (expected, none_N2[..., 0]))]
        return Looks(state[0], torch.stack(where), *chosen)

    def _even(self, picture_BCHW: Tensor, copies: int) -> Tensor:
        """A place drawn evenly for each look."""
        if self.training:
            return 2 * torch.rand(copies * len(picture_BCHW), self.steps, 2) - 1
        return 2 * dice.uniform(picture_BCHW, 2 * self.steps).view(-1, self.steps, 2) - 1

    def _noise(self, picture_BCHW: Tensor, copies: int) -> Tensor | None:
        if self.training:
            return torch.randn(copies * len(picture_BCHW), self.steps, 2)
        return dice.normal(picture_BCHW, 2 * self.steps).view(-1, self.steps, 2) if self.at_test == "sample" else None

    def loss(self, batch: Batch) -> Loss:
        assert batch.source is not None
        assert batch.target is not None
        labels_B, copies = labels_of(batch.target), self.samples if self.training else 1
        labels_N = labels_B.repeat_interleave(copies)
        found = self.walk(batch.source.picture(), copies)
        logits_NV = self.label(found.last_ND)
        nll_N = F.cross_entropy(logits_NV, labels_N, reduction="none")
        right_N = (logits_NV.detach().argmax(dim=1) == labels_N).to(nll_N.dtype)
        nll = nll_N.sum() / copies
        parts = {"right": right_N.sum() / copies}
        if not self.training or not len(found.mean_nN2):
            return as_loss(nll, nll, batch.target, **parts)
        reward_N = right_N if self.reward == "right" else -nll_N.detach()
        log_pi_nN = log_density(found.drawn_nN2, found.mean_nN2, self.std)
        score = self.reward_weight * reinforce(log_pi_nN, reward_N, found.expected_nN).sum() / copies
        surprise = (reward_N - found.expected_nN).square().sum() / copies
        total = nll + (score - score.detach()) + (surprise - surprise.detach())
        return as_loss(total, nll, batch.target, **parts, surprise=surprise / len(found.mean_nN2))

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        """One walk a picture; on request the trace of its windows."""
        assert batch.source is not None
        looked = self.walk(batch.source.picture(), 1)
        found = search.search(self.label, memory_of(looked.last_ND))
        answers = [prediction(hypotheses, self.target, [], (0,)) for hypotheses in found]
        if attention:
            answers = [replace(one, trace=trace) for one, trace in zip(answers, traces([self.window], [list(looked.where_TN2)]), strict=True)]
        return answers

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        assert batch.source is not None
        return label_scores(self.label(self.walk(batch.source.picture(), 1).last_ND), batch.target)
