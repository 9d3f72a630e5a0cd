"""Show, Attend and Interact (Qureshi et al. 2017): a deep recurrent Q-network with soft attention, on a simulated greeter.

    state_ti = CNN(frame_t)_i                                             a place of the picture
    alpha_t  = attention(h_{t-1}, state_t),   c_t = sum_i alpha_ti state_ti
    h_t      = LSTM(h_{t-1}, [c_t ; a_{t-1}]),   Q_t = W h_t + b           a value for each action

With attention `every-step` the context is the mean of the places: the recurrent network without attention (DRQN). Learning, by the
agent's own episodes, which are those that the rows of the batch name (data/tasks/greeter.py), played epsilon-greedily:

    y_t = r_t + g r_{t+1} + .. + g^{n-1} r_{t+n-1} + g^n Q'_{t+n}(argmax_a Q_{t+n}(a)),   loss = sum_t huber(y_t - Q_t(a_t))

Q' is a copy of the network that is renewed every so many losses (double Q-learning, van Hasselt et al. 2016). There is no replay: a batch
is played, learnt from and forgotten, and what else training depends on (the copy, how many losses there were) are saved buffers, so that
a resumed training is exact. In evaluation the loss is minus the reward of the greedy episodes: the best model is the one that earns most.

>>> rewards_BT, values_BT = torch.tensor([[0.0, 1.0, 0.0]]), torch.tensor([[9.0, 4.0, 2.0]])
>>> returns(rewards_BT, values_BT, steps=1, discount=0.5).tolist()  # 0 + 4/2, 1 + 2/2, 0: nothing comes after the end
[[2.0, 2.0, 0.0]]
>>> returns(rewards_BT, values_BT, steps=2, discount=0.5).tolist()  # 0 + 1/2 + 2/4, 1 + 0, 0
[[1.0, 1.0, 0.0]]

Shapes: B episodes, T steps, A actions, H heads, S places, D width.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Annotated, NamedTuple

import numpy as np
import pydantic
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend import registry
from xattend.attention.base import Attention
from xattend.cells.base import Cell, CellState
from xattend.data.fields.base import Field
from xattend.data.tasks.greeter import number
from xattend.drawing.encounter import ACTIONS, SIDE, STEPS, Encounters, actions_of
from xattend.drawing.people import frames
from xattend.encoders.base import Encoder
from xattend.errors import UserError
from xattend.registry import Named, register
from xattend.search.base import Search
from xattend.search.ensemble import Together
from xattend.search.greedy import Greedy
from xattend.systems.answers import places
from xattend.systems.base import System
from xattend.systems.parts import Parts
from xattend.tree import Tree
from xattend.types import EOS, Batch, Hypothesis, Loss, Padded, Prediction, Space, Trace

TEMPERATURE = 0.1  # of the softmax by which `score` makes probabilities of values
Share = Annotated[float, pydantic.Field(ge=0, le=1)]
Positive = Annotated[int, pydantic.Field(ge=1)]


class Look(NamedTuple):
    """What the network has between two steps: the cell's state, the attention's (None before the first look), and the last action."""

    cell: CellState
    attention: Tree
    last_BA: Tensor
    first: bool


class Network(nn.Module):
    """From what is seen, step by step, to the value of each action."""

    def __init__(self, encoder: Encoder, attention: Attention, cell: Cell) -> None:
        super().__init__()
        self.encoder, self.attention, self.cell = encoder, attention, cell
        self.value = nn.Linear(cell.size, len(ACTIONS))

    def start(self, batch: int) -> Look:
        return Look(self.cell.start(batch), None, self.value.weight.new_zeros(batch, len(ACTIONS)), True)

    def step(self, frame_B2HW: Tensor, now: Look) -> tuple[Tensor, Tensor, Look]:
        """values_BA, weights_BHS, and the state, which still is to be told the action (`told`)."""
        memory = self.encoder(Padded(frame_B2HW[:, None], torch.ones(len(frame_B2HW), 1, dtype=torch.bool)))
        bound = self.attention.bind(memory)
        moving = self.attention.start(bound) if now.first else now.attention
        context_BD, weights_BHS, moving = self.attention.attend(now.cell[0], bound, moving)
        assert weights_BHS is not None
        cell = self.cell(torch.cat([context_BD, now.last_BA], dim=1), now.cell)
        return self.value(cell[0]), weights_BHS, Look(cell, moving, now.last_BA, False)

    def told(self, now: Look, action_B: Tensor) -> Look:
        return now._replace(last_BA=F.one_hot(action_B, len(ACTIONS)).to(now.last_BA.dtype))


class Played(NamedTuple):
    """Episodes that were played to their end."""

    frames_BT2HW: Tensor
    values_BTA: Tensor
    weights_BTHS: Tensor
    actions_BT: Tensor
    rewards_BT: Tensor


def returns(rewards_BT: Tensor, values_BT: Tensor, *, steps: int, discount: float) -> Tensor:
    """y_t: the next rewards, discounted, and the value of what is reached then. After the last step there is nothing."""
    length, total_BT = rewards_BT.shape[1], torch.zeros_like(rewards_BT)
    for ahead in range(min(steps, length)):
        total_BT[:, : length - ahead] += discount**ahead * rewards_BT[:, ahead:]
    if steps < length:
        total_BT[:, : length - steps] += discount**steps * values_BT[:, steps:]
    return total_BT


@register("system", "interact")
class Interact(System):
    """An encoder of frames, an attention, a cell and values of actions, learnt by double Q-learning on episodes of the task `greeter`."""

    uses = ("encoder", "attention")

    def __init__(
        self, parts: Parts, *,
        cell: Annotated[str, Named("cell"), "the recurrent cell"] = "lstm",
        size: Annotated[Positive, "its width"] = 128,
        discount: Annotated[Share, "of a reward a step later"] = 0.97,
        ahead: Annotated[Positive, "rewards that are summed before the value of what is reached counts (n-step)"] = 3,
        renew: Annotated[Positive, "losses until the copy that gives those values is renewed"] = 50,
        explore: Annotated[Share, "share of random actions at the beginning"] = 1.0,
        explore_last: Annotated[Share, "share of random actions in the end"] = 0.05,
        explore_losses: Annotated[Positive, "losses until then"] = 300,
    ) -> None:  # fmt: skip
        super().__init__()
        assert parts.source is not None
        _must_be_greedy(parts.recipe.part("search")[0] == "greedy")
        self.source: Field = parts.source
        self.target: Field = parts.target
        encoder: Encoder = parts.build("encoder", Space(features=(2, SIDE, SIDE)))
        attention: Attention = parts.build("attention", size, encoder.size)
        if attention.context_size == 0:
            raise UserError("this attention would never see a frame: attention 'every-step' gives the mean of its places")
        built: Cell = registry.build("cell", cell, attention.context_size + len(ACTIONS), size)
        self.network = Network(encoder, attention, built)
        self.copied = deepcopy(self.network).requires_grad_(False).eval()
        self.discount, self.ahead, self.renew = discount, ahead, renew
        self.explore, self.explore_last, self.explore_losses = explore, explore_last, explore_losses
        self.losses: Tensor
        self.register_buffer("losses", torch.zeros((), dtype=torch.int64))

    def train(self, mode: bool = True) -> Interact:
        super().train(mode)
        self.copied.eval()  # its dropout, if any, stays off
        return self

    def epsilon(self) -> float:
        """The share of random actions now."""
        done = min(1.0, int(self.losses) / self.explore_losses)
        return self.explore + done * (self.explore_last - self.explore)

    def episodes(self, batch: Batch) -> Encounters:
        """Those that the rows name, at their first step."""
        assert batch.source is not None
        rows = zip(batch.source.values.tolist(), batch.source.lengths_B.tolist(), strict=True)
        return Encounters([number(self.source.decode(ids[:length])) for ids, length in rows])

    def play(self, world: Encounters, *, epsilon: float = 0.0, given_BT: Tensor | None = None) -> Played:
        """To the end: by the best value, but for random actions, or as `given`."""
        now, kept = self.network.start(len(world)), list[tuple[Tensor, ...]]()
        for step in range(STEPS):
            frame_B2HW = torch.from_numpy(frames(world)).float() / 255
            values_BA, weights_BHS, now = self.network.step(frame_B2HW, now)
            action_B = values_BA.detach().argmax(dim=1) if given_BT is None else given_BT[:, step]
            if epsilon:
                random_B = torch.rand(len(world)) < epsilon
                action_B = torch.where(random_B, torch.randint(len(ACTIONS), (len(world),)), action_B)
            reward_B = torch.from_numpy(world.act(action_B.numpy().astype(np.int64)))
            now = self.network.told(now, action_B)
            kept.append((frame_B2HW, values_BA, weights_BHS, action_B, reward_B))
        return Played(*(torch.stack(each, dim=1) for each in zip(*kept, strict=True)))

    def loss(self, batch: Batch) -> Loss:
        world = self.episodes(batch)
        played = self.play(world, epsilon=self.epsilon() if self.training else 0.0)
        earned, met = float(played.rewards_BT.sum()), float(world.met_B.sum())
        parts = {"reward": earned, "met": met}
        if not self.training:
            return Loss(-played.rewards_BT.sum(), played.rewards_BT.numel(), len(batch), parts)
        if int(self.losses) % self.renew == 0:
            self.copied.load_state_dict(self.network.state_dict())
        self.losses += 1
        chosen_BT = played.values_BTA.gather(2, played.actions_BT[:, :, None]).squeeze(2)
        wanted_BT = returns(played.rewards_BT, self._judged(played), steps=self.ahead, discount=self.discount)
        return Loss(F.smooth_l1_loss(chosen_BT, wanted_BT, reduction="sum"), chosen_BT.numel(), len(batch), parts)

    @torch.no_grad()
    def _judged(self, played: Played) -> Tensor:
        """values_BT: what the copy gives the action that the network thinks best."""
        now, kept = self.copied.start(len(played.actions_BT)), []
        for frame_B2HW, action_B in zip(played.frames_BT2HW.unbind(1), played.actions_BT.unbind(1), strict=True):
            values_BA, _, now = self.copied.step(frame_B2HW, now)
            now = self.copied.told(now, action_B)
            kept.append(values_BA)
        return torch.stack(kept, dim=1).gather(2, played.values_BTA.argmax(dim=2, keepdim=True)).squeeze(2)

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        """The greedy episode of each row: its actions, the reward as score, and on request where each step looked in its frame."""
        inner = search.inner if isinstance(search, Together) else search
        alone = not (isinstance(search, Together) and (search.others or search.held))
        _must_be_greedy(isinstance(inner, Greedy) and inner.limits == Greedy().limits and alone)
        played = self.play(self.episodes(batch))
        logs_BT = _logs(played)
        grid = self.grid()
        found = []
        for actions, logs, rewards, weights_THS in zip(
            played.actions_BT.tolist(), logs_BT.tolist(), played.rewards_BT.tolist(), played.weights_BTHS, strict=True
        ):
            words = [ACTIONS[action] for action in actions]
            text, score = " ".join(words), sum(rewards)
            ends_THS = F.pad(weights_THS, (0, 0, 0, 0, 0, 1)).numpy()  # the world ends the episode: the end mark looks nowhere
            trace = Trace(places(grid), [*words, *self.target.symbols([EOS])], ends_THS, grid) if attention else None
            best = Hypothesis(self.target.encode(text), score, sum(logs), [*logs, 0.0], True, ends_THS if attention else None)
            found.append(Prediction(text, words, score, best.logprob, [(text, score)], trace, best))
        return found

    def grid(self) -> tuple[int, ...]:
        """How the places of a frame lie."""
        empty = Padded(torch.zeros(1, 1, 2, SIDE, SIDE), torch.ones(1, 1, dtype=torch.bool))
        grid: tuple[int, ...] = self.network.encoder(empty).grid
        return grid

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        """Log-probability of each given action by a softmax of the values, while the given ones are done; the end mark is certain."""
        assert batch.target is not None
        rows = zip(batch.target.values.tolist(), batch.target.lengths_B.tolist(), strict=True)
        given = [actions_of(self.target.decode(ids[:length])) for ids, length in rows]
        short = next((len(actions) for actions in given if len(actions) != STEPS), None)
        if short is not None:
            raise UserError(f"a target has {short} actions, and an episode has {STEPS} steps: give one action a step")
        return [[*logs, 0.0] for logs in _logs(self.play(self.episodes(batch), given_BT=torch.tensor(given))).tolist()]

    def align(self, batch: Batch) -> list[Tensor]:
        raise UserError("aligning links words, and this model looks at pictures: predict --attention shows where each action looked")


def _logs(played: Played) -> Tensor:
    logs_BTA = (played.values_BTA / TEMPERATURE).log_softmax(dim=2)
    return logs_BTA.gather(2, played.actions_BT[:, :, None]).squeeze(2)


def _must_be_greedy(greedy: bool) -> None:
    if not greedy:
        raise UserError(
            "the system 'interact' acts step by step, each time by the best value: set search.kind = \"greedy\", "
            "without limits, phrases or ensembles"
        )
