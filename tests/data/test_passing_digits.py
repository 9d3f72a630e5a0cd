"""Films of digits that pass one after another: captions that are true, and what neither a frame nor a short stretch can tell."""

from __future__ import annotations

import numpy as np
import pytest

from tests.data.drawn import picture, rows_of
from xattend.data.tasks.passing_digits import SHOWN, PassingDigits, caption, scenes
from xattend.drawing import film as films
from xattend.errors import UserError

WAYS = {(-1, 0): "going left", (1, 0): "going right", (0, -1): "going up", (0, 1): "going down", (0, 0): "staying there"}


def corner(frame):
    y, x = np.nonzero(frame[..., 0] >= films.GRAIN)
    return x.min(), y.min()


def test_captions_are_true():
    """Read off the frames: whose ink it is, and where it is at a scene's beginning and end."""
    for source, text in rows_of("passing-digits", rows=60, fonts=["plain"])["train"]:
        frames = picture(source)
        found = scenes(source.removeprefix("passing-digits:"))
        assert len(frames) == 3 * (SHOWN + 1)
        names, ways = [], set()
        for number, scene in enumerate(found):
            shown = frames[number * (SHOWN + 1) :][: SHOWN + 1]
            (x, y), digit = corner(shown[0]), scene.digits[0]
            for name in "0123456789":  # the digit whose ink is on the frame
                ink = films.sprite(name, "plain", digit.size, digit.angle)
                patch = shown[0][digit.y : digit.y + digit.size, digit.x : digit.x + digit.size, 0]
                if (patch[ink >= films.GRAIN] == ink[ink >= films.GRAIN]).all() and (patch[ink < films.GRAIN] < films.GRAIN).all():
                    names.append(name)
            ways.add(tuple(np.sign(np.subtract(corner(shown[SHOWN - 1]), (x, y))).tolist()))
            assert shown[SHOWN].max() < films.GRAIN  # nothing to see before the next
        assert len(ways) == 1
        assert text == f"{' then '.join(names)} pass {WAYS[ways.pop()]}"


def test_no_frame_tells_the_way_and_no_scene_tells_the_order():
    for source, text in rows_of("passing-digits", rows=20)["train"]:
        found = scenes(source.removeprefix("passing-digits:"))
        back = [films.backwards(scene) for scene in found]
        assert all((np.stack(one.paint())[::-1] == np.stack(other.paint())).all() for one, other in zip(found, back))
        assert (caption(back) == text) == text.endswith("there")
        turned = found[::-1]
        frames = picture("passing-digits:" + " + ".join(scene.text for scene in turned))
        stretches = {np.stack(frames[start : start + SHOWN + 1]).tobytes() for start in range(0, len(frames), SHOWN + 1)}
        before = picture(source)
        assert stretches == {np.stack(before[start : start + SHOWN + 1]).tobytes() for start in range(0, len(before), SHOWN + 1)}
        assert caption(turned) != text


def test_as_many_digits_as_are_asked_for_and_all_of_them_different():
    for source, text in rows_of("passing-digits", rows=20, digits=6)["train"]:
        names = text.partition(" pass")[0].split(" then ")
        assert len(set(names)) == 6 == len(scenes(source.removeprefix("passing-digits:")))


@pytest.mark.parametrize("spec", ["", "3 64 7", "3 64 7;3 plain 20 -8 30 14 5 left left + ", "3 64 7;3 plain 20 -8 2 14 5 left left"])
def test_a_text_that_describes_no_film_is_the_users_error(spec):
    with pytest.raises(UserError):
        PassingDigits.draw(spec)


def test_faces_that_are_none():
    with pytest.raises(UserError, match="names no face"):
        PassingDigits(fonts=[])
