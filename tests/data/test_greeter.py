"""The greeter's world: an episode worked by hand, what puts people off, why memory pays, and what the camera shows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from xattend.data.tasks.greeter import Greeter, ending, number
from xattend.drawing.encounter import (
    ACTIONS,
    FRONT,
    HAND,
    HANDSHAKE,
    LOOK,
    NOBODY,
    SIDEWAYS,
    STEPS,
    WAIT,
    WAVE,
    Encounters,
    replay,
    scripted,
)
from xattend.drawing.people import boxes, frames
from xattend.errors import UserError


def one(*, visitor: bool = True, arrival: int = 0, turn: int = 2, reach: int = 1) -> Encounters:
    """An episode as it is wanted: somebody comes from the left."""
    world = Encounters([1])
    world.visitor_B[:], world.arrival_B[:], world.turn_B[:], world.reach_B[:] = visitor, arrival, turn, reach
    world.way_B[:], world.column_B[:], world.bystander_B[:] = 2, 0, False
    return world


def play(world: Encounters, *actions: int) -> tuple[list[int], list[float]]:
    """The postures before each action, and the rewards."""
    seen, earned = [], []
    for action in actions:
        seen.append(int(world.posture_B[0]))
        earned.append(float(world.act(np.array([action]))[0]))
    return seen, earned


def test_an_encounter_worked_by_hand() -> None:
    world = one(arrival=1, turn=2, reach=1)
    seen, earned = play(world, LOOK, LOOK, WAIT, WAVE, HANDSHAKE, HANDSHAKE)
    assert seen == [NOBODY, SIDEWAYS, SIDEWAYS, FRONT, HAND, SIDEWAYS]  # the first look found nobody
    assert earned == [0.0, 0.0, 0.0, 0.0, 1.0, pytest.approx(-0.1)]
    assert world.met_B.tolist() == [True]
    assert world.column_B.tolist() == [6]  # two steps before turning, two stood still, one of leaving


@pytest.mark.parametrize(
    ("actions", "at_last"),
    [
        ((LOOK, LOOK, WAIT, WAIT), SIDEWAYS),  # stared at
        ((LOOK, WAIT, WAVE, WAVE, WAIT, WAIT), SIDEWAYS),  # waved at twice
        ((LOOK, WAIT, WAIT, WAIT, WAIT, WAIT), FRONT),  # waits for four steps ..
        ((LOOK, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT), SIDEWAYS),  # .. and no longer
        ((LOOK, WAIT, WAVE, WAIT, WAIT, WAIT, WAIT), HAND),  # holds a hand out for three
        ((LOOK, WAIT, WAVE, WAIT, WAIT, WAIT, WAIT, WAIT), SIDEWAYS),
        ((LOOK, WAIT, WAVE, HANDSHAKE, WAIT), HAND),  # a handshake too soon costs, and no more
    ],
)
def test_who_is_put_off(actions: tuple[int, ...], at_last: int) -> None:
    seen, _ = play(one(turn=2, reach=2), *actions)
    assert seen[-1] == at_last


def test_a_passer_never_turns() -> None:
    seen, _ = play(one(visitor=False), LOOK, *[WAIT] * 15)
    assert set(seen) == {SIDEWAYS, NOBODY}
    assert seen[11:] == [SIDEWAYS, *[NOBODY] * 4]  # 24 pixels at 2 a step


def test_memory_pays() -> None:
    """No rule that goes by what is seen alone comes near the script."""
    seeds = range(300)
    world = Encounters(seeds)
    for _ in scripted(world):
        pass
    assert world.met_B.tolist() == world.visitor_B.tolist()
    shares = []
    for rule in itertools.product(range(len(ACTIONS)), repeat=4):
        forgetful = Encounters(seeds)
        for _ in range(STEPS):
            forgetful.act(np.array(rule)[forgetful.posture_B])
        shares.append(forgetful.met_B.sum() / forgetful.visitor_B.sum())
    assert 0.05 < max(shares) < 0.25  # those whose two delays are one step: a ninth


def test_an_episode_does_not_depend_on_its_neighbours() -> None:
    alone, among = Encounters([5]), Encounters([9, 5, 7])
    for action in (LOOK, WAIT, WAVE, HANDSHAKE) * 4:
        assert (frames(alone)[0] == frames(among)[1]).all()
        assert boxes(alone)[0] == boxes(among)[1]
        assert alone.act(np.array([action]))[0] == among.act(np.array([WAVE, action, LOOK]))[1]


def test_the_camera_shows_the_posture() -> None:
    world = one(turn=1, reach=1)
    play(world, WAIT, WAIT, LOOK, WAVE)
    assert world.posture_B.tolist() == [HAND]
    assert world.column_B.tolist() == [6]
    grey_HW, near_HW = frames(world)[0].astype(int)
    assert grey_HW[8, 5] < 40  # an eye ..
    assert grey_HW[9, 5] > 180  # .. in a face
    assert near_HW[12:16, 8:12].min() > near_HW[12:16, 4:8].min() > 100  # the hand before the body
    assert near_HW[:, 13:].max() < 64  # the ground
    assert boxes(world) == [(4 / 24, 6 / 24, 12 / 24, 22 / 24)]


def test_the_rows_say_what_the_script_earns() -> None:
    task = Greeter(rows=30)
    rows = {split: list(found) for split, found in task.splits().items()}
    assert {split: len(found) for split, found in rows.items()} == {"train": 30, "validation": 10, "test": 10}
    for source, target in rows["train"]:
        came = ending(source, target)
        assert came.reward == came.met == came.visitor
        gold = task.gold(source, target)
        assert len(gold) == STEPS == len(task.draw(source.removeprefix("greeter:")))
        assert gold[target.split().index("look")] is not None  # who is looked at is there


@pytest.mark.parametrize("source", ["greeter:", "greeter:x", "scenes:7", "greeter:-1", "greeter:" + "9" * 30])
def test_what_is_no_episode(source: str) -> None:
    with pytest.raises(UserError, match="is no episode"):
        number(source)


def test_what_is_no_action() -> None:
    with pytest.raises(UserError, match="'dance' is no action"):
        replay(1, "wait dance")
    with pytest.raises(UserError, match="17 actions"):
        replay(1, "wait " * 17)
