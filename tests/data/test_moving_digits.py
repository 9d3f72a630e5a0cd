"""Films of digits: captions that are true, paths that depend on nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from tests.data.drawn import picture, rows_of
from xattend.data.tasks.moving_digits import caption
from xattend.drawing import film as films
from xattend.drawing import fonts


def test_captions_of_films_are_true():
    """Read off the frames: where each digit's ink is at the beginning, in the middle and at the end."""
    ways = {(-1, 0): "moves left", (1, 0): "moves right", (0, -1): "moves up", (0, 1): "moves down", (0, 0): "stays"}
    for source, text in rows_of("moving-digits", rows=60)["train"]:
        film = films.parse(source.removeprefix("moving-digits:"))
        said = []
        for digit in film.digits:
            alone = films.Film((digit,), seed=film.seed).paint()
            places = []
            for frame in (alone[0], alone[9], alone[10], alone[19]):
                y, x = np.nonzero(frame[..., 0] >= films.GRAIN)
                places.append((x.min(), y.min()))
            legs = [tuple(np.sign(np.subtract(places[end], places[start])).tolist()) for start, end in ((0, 1), (2, 3))]
            first, then = (ways[leg] for leg in legs)
            shorter = then.replace("moves ", "") if first != "stays" else then
            said.append(f"digit {digit.digit} {first}" + (f" then {shorter}" if first != then else ""))
        assert text == " while ".join(said)
        assert said[0] < said[1]


def test_a_film_backwards_has_the_same_frames_and_another_caption():
    other = 0
    for source, text in rows_of("moving-digits", rows=40)["train"]:
        film = films.parse(source.removeprefix("moving-digits:"))
        back = films.backwards(film)
        assert films.parse(back.text) == back  # a film like any other
        assert (np.stack(back.paint())[::-1] == np.stack(film.paint())).all()
        assert films.backwards(back) == film
        other += caption(back) != text
    assert other > 30


def test_where_digits_go_does_not_depend_on_the_face():
    """So the rows are the same whatever FreeType makes of a font."""
    for face in fonts.FACES:
        for digit in "0123456789":
            ink = films.sprite(digit, face, 20, 10)
            assert ink.shape == (20, 20)
            rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
            assert max(np.ptp(rows), np.ptp(columns)) >= 18  # it fills its cell one way
            assert ink.max() > 150


@pytest.mark.parametrize("frames", [4, 5, 20, 21])
def test_frames_and_side_of_films(frames):
    rows = rows_of("moving-digits", rows=10, frames=frames, side=80)["train"]
    drawn = picture(rows[0][0])
    assert len(drawn) == frames
    assert drawn[0].shape == (80, 80, 3)


def test_digits_are_seen_apart_for_half_of_the_film():
    for source, _ in rows_of("moving-digits", rows=50)["train"]:
        one, other = films.parse(source.removeprefix("moving-digits:")).digits
        apart = 0
        for (x, y), (u, v) in zip(one.path(20), other.path(20)):
            apart += max(x, u) >= min(x + one.size, u + other.size) or max(y, v) >= min(y + one.size, v + other.size)
        assert apart >= 10
