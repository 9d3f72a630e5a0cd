"""Encounters of a robot and a person: a small world that answers what the robot does, many episodes at once.

After the reward of Qureshi et al. 2017: a handshake that is met gives 1, one that is not -0.1, all else nothing. A person walks across
the view. A visitor who is looked at turns to the robot, but only after 1 to 3 steps; one who is then waved at holds out a hand after 1 to
3 steps, for 3 steps. Whoever is looked or waved at again while that answer is still to come is put off and walks on, and so is a visitor
who waits in vain. A passer never turns. In half of the episodes a bystander far behind turns and holds out a hand as well, which means
nothing.

    walking --look--> noticed --1..3--> facing --wave--> greeted --1..3--> reaching --handshake--> leaving

What the camera shows of the person is the posture alone (nobody, from the side, from the front, with a hand out): whether an answer is
still to come cannot be seen, so a robot without a memory fails often. All that is drawn at random depends on the episode's number, so an
episode is a function of its number and the actions.

>>> world = Encounters([2])
>>> text = " ".join(ACTIONS[int(script[0])] for script in scripted(world))
>>> text
'wait look wait wave wait handshake wait wait wait wait wait wait wait wait wait wait'
>>> replay(2, text)
Ending(reward=1.0, met=True, visitor=True)

Shapes: B episodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from xattend.drawing.noise import grain
from xattend.errors import UserError

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Truths = np.ndarray[Any, np.dtype[np.bool_]]
Rewards = np.ndarray[Any, np.dtype[np.float32]]

ACTIONS = ("wait", "look", "wave", "handshake")
WAIT, LOOK, WAVE, HANDSHAKE = range(4)
WALKING, NOTICED, FACING, GREETED, REACHING, LEAVING = range(6)
NOBODY, SIDEWAYS, FRONT, HAND = range(4)  # postures: what the camera shows
SHOWN = np.array([SIDEWAYS, SIDEWAYS, FRONT, FRONT, HAND, SIDEWAYS])  # by phase
THEN = np.array([WALKING, FACING, LEAVING, REACHING, LEAVING, LEAVING])  # by phase, when its time is over

STEPS = 16  # of an episode
SIDE = 24  # pixels of the view
PACE = 2  # pixels a step
LASTS = np.array([0, 0, 4, 0, 3, 0])  # by phase: steps that a visitor waits for a wave, and holds a hand out; 0: it has no end of its own
MET, MISSED = 1.0, -0.1
VISITORS = 179  # of 256
DARKEST, BRIGHTEST = 80, 150  # clothes


class Encounters:
    """Some episodes, side by side, at the same step. `posture_B` and `column_B` are what is to be seen now; `act` goes on."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = list(seeds)
        drawn_BN = np.array([grain(f"greeter {seed}", 16) for seed in self.seeds], np.int64).reshape(-1, 16)
        self.visitor_B: Truths = drawn_BN[:, 0] < VISITORS
        self.way_B: Numbers = np.where(drawn_BN[:, 1] < 128, PACE, -PACE)
        self.arrival_B: Numbers = drawn_BN[:, 2] % 4
        self.turn_B: Numbers = 1 + drawn_BN[:, 3] % 3
        self.reach_B: Numbers = 1 + drawn_BN[:, 4] % 3
        self.shade_B: Numbers = DARKEST + drawn_BN[:, 5] % (BRIGHTEST - DARKEST)
        self.bystander_B: Truths = drawn_BN[:, 6] < 128
        self.place_B: Numbers = 2 + drawn_BN[:, 7] % (SIDE - 4)
        self.poses_BN: Numbers = SIDEWAYS + drawn_BN[:, 8:] % 3  # the bystander's, two steps each
        self.column_B: Numbers = np.where(self.way_B > 0, 0, SIDE - 1)  # of the person's middle
        self.phase_B: Numbers = np.full(len(self.seeds), WALKING)
        self.left_B: Numbers = np.zeros(len(self.seeds), np.int64)  # steps until the phase is over; 0: it has no end
        self.met_B: Truths = np.zeros(len(self.seeds), np.bool_)
        self.step = 0

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def posture_B(self) -> Numbers:
        """What there is to be seen of the person."""
        there_B = (self.step >= self.arrival_B) & (self.column_B >= 0) & (self.column_B < SIDE)
        return np.where(there_B, SHOWN[self.phase_B], NOBODY)

    @property
    def pose_B(self) -> Numbers:
        """The same of the bystander."""
        return np.where(self.bystander_B, self.poses_BN[:, self.step // 2 % self.poses_BN.shape[1]], NOBODY)

    def act(self, action_B: Numbers) -> Rewards:
        """The rewards of these actions; the world goes on by a step."""
        phase_B, there_B = self.phase_B, self.posture_B != NOBODY
        looked_B, waved_B = there_B & (action_B == LOOK), there_B & (action_B == WAVE)
        shaken_B = action_B == HANDSHAKE
        met_B = shaken_B & there_B & (phase_B == REACHING)
        noticed_B = looked_B & (phase_B == WALKING) & self.visitor_B
        greeted_B = waved_B & (phase_B == FACING)
        put_off_B = (looked_B & (phase_B == NOTICED)) | (waved_B & (phase_B == GREETED))
        walked_B = (self.step >= self.arrival_B) & np.isin(phase_B, (WALKING, NOTICED, LEAVING))
        self.column_B = self.column_B + self.way_B * walked_B
        phase_B = np.select([noticed_B, greeted_B, put_off_B | met_B], [NOTICED, GREETED, LEAVING], phase_B)
        left_B = np.select([noticed_B, greeted_B, put_off_B | met_B], [self.turn_B, self.reach_B, 0], self.left_B)
        over_B = left_B == 1
        self.phase_B = np.where(over_B, THEN[phase_B], phase_B)
        self.left_B = np.where(over_B, LASTS[self.phase_B], np.maximum(left_B - 1, 0))
        self.met_B = self.met_B | met_B
        self.step += 1
        return np.where(met_B, MET, np.where(shaken_B, MISSED, 0.0)).astype(np.float32)


def scripted(world: Encounters) -> Iterator[Numbers]:
    """Plays the episodes by rule, each gesture once: the actions of each step, after the world has answered them."""
    looked_B, waved_B = np.zeros((2, len(world)), np.bool_)
    while world.step < STEPS:
        posture_B = world.posture_B
        look_B, wave_B = (posture_B == SIDEWAYS) & ~looked_B, (posture_B == FRONT) & ~waved_B
        action_B = np.select([look_B, wave_B, posture_B == HAND], [LOOK, WAVE, HANDSHAKE], WAIT)
        looked_B, waved_B = looked_B | look_B, waved_B | wave_B
        world.act(action_B)
        yield action_B


def actions_of(text: str) -> list[int]:
    """The actions that a text names.

    >>> actions_of("wait wave")
    [0, 2]
    """
    for word in text.split():
        if word not in ACTIONS:
            raise UserError(f"'{word}' is no action: they are {', '.join(ACTIONS)}")
    found = [ACTIONS.index(word) for word in text.split()]
    if len(found) > STEPS:
        raise UserError(f"{len(found)} actions, and an episode has {STEPS} steps")
    return found


class Ending(NamedTuple):
    """What came of an episode: the summed reward, whether a handshake was met, and whether it could have been."""

    reward: float
    met: bool
    visitor: bool


def replay(seed: int, text: str) -> Ending:
    """An episode played as the text says; if it says too little, only so far."""
    world = Encounters([seed])
    earned = sum(float(world.act(np.array([action]))[0]) for action in actions_of(text))
    return Ending(earned, bool(world.met_B[0]), bool(world.visitor_B[0]))
