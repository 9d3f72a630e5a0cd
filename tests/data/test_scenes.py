"""Scenes: things that lie apart, boxes that hold them, captions that are true."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import numpy as np
import pytest

from tests.data.drawn import PAIR, digest, rows_of
from xattend.data.tasks.scenes import Scenes
from xattend.drawing import scene
from xattend.drawing.shapes import FULL, SHAPES, coverage


def test_coverage_by_hand():
    # a circle of radius 1: of the 16 points of a corner pixel only the inmost, (5, 5) eighths away, is inside, as 25 + 25 < 64;
    # of a side's pixel those at 5 and 7 eighths (49 + 9 < 64), all four each
    assert coverage("circle", 1).tolist() == [[1, 8, 1], [8, 16, 8], [1, 8, 1]]
    for shape in SHAPES:
        for radius in (4, 5, 7, 9):
            inked = coverage(shape, radius)
            assert inked.max() == FULL
            assert (inked == inked[:, ::-1]).all()  # each has a left and a right half
    areas = {shape: int(coverage(shape, 9).sum()) / FULL for shape in SHAPES}
    assert areas["circle"] == pytest.approx(np.pi * 81, rel=0.01)
    assert areas["square"] == pytest.approx((7 / 4 * 9) ** 2, rel=0.04)
    assert areas["diamond"] == pytest.approx(2 * 81, rel=0.04)


def test_scenes_are_the_same_pixels_on_every_machine():
    assert digest(Scenes.draw(PAIR)) == "ab3540b44c0a4269"
    assert digest(Scenes.draw("96;black triangle 30 30 12;green cross 70 60 6;yellow diamond 30 80 8")) == "f84de07111180337"


def test_no_two_scenes_look_alike():
    seen = set()
    for found in rows_of("scenes", rows=3000, most=2).values():
        for text in {source for source, _ in found}:
            things = scene.parse(text.removeprefix("scenes:")).things
            key = frozenset((t.colour, t.shape, t.x // 4, t.y // 4, t.radius <= 6) for t in things)
            assert key not in seen
            seen.add(key)


def test_boxes_hold_their_things_pixels_and_nothing_else():
    draw = Random(3)
    for _ in range(30):
        drawn = scene.random_scene(draw, 4)
        whole = drawn.paint().astype(int)
        for thing in drawn.things:
            left, top, right, bottom = (round(64 * side) for side in thing.box(64))
            inked = np.ones((64, 64), bool)
            inked[top:bottom, left:right] = False
            colour = np.array(scene.COLOURS[thing.colour])
            like = (abs(whole - colour) <= 12 + scene.GRAIN).all(2)  # the thing's own pixels that it fills
            others = [other for other in drawn.things if other.colour == thing.colour and other is not thing]
            if not others and thing.colour != "black":  # edges of any colour on a light ground are never like another colour but grey
                assert not (like & inked).any()
            assert like[top:bottom, left:right].sum() >= (coverage(thing.shape, thing.radius) == FULL).sum()
            # no margin on any side: each of the box's four edges has ink
            patch = coverage(thing.shape, thing.radius) > 0
            assert (right - left, bottom - top) == (int(patch.any(0).sum()), int(patch.any(1).sum()))


def test_no_two_things_touch_or_lie_near_a_diagonal():
    draw = Random(4)
    for _ in range(100):
        things = scene.random_scene(draw, 4).things
        for one in things:
            for other in things:
                if one is not other:
                    x, y = abs(one.x - other.x), abs(one.y - other.y)
                    assert max(x, y) > one.radius + other.radius
                    assert abs(x - y) >= 4
                    assert scene.relation(one, other) == scene.OPPOSITE[scene.relation(other, one)]


LIES = "left of|right of|above|below"


def claims(text, things):
    """What a caption says, read without the code that wrote it: (one, relation, other) of each claim, and the things named first."""
    named = []

    def number(match):
        found = [i for i, t in enumerate(things) if (t.colour, t.shape) == (match[3], match[4])]
        assert len(found) == 1
        if match[1] == "a":
            named.append(found[0])
            assert bool(match[2]) == (things[found[0]].radius <= 6)
        return str(found[0])

    words = re.sub(rf"\b(a|the) (small )?({'|'.join(scene.COLOURS)}) ({'|'.join(SHAPES)})\b", number, text).removeprefix("there is ")
    lies = rf"({LIES})"
    forms = {
        rf"(.) (?:is )?{lies} (.)": [(1, 2, 3)],
        rf"(.) with (.) {lies} it": [(2, 3, 1)],
        rf"(.) with (.) {lies} it and (.) {lies} it": [(2, 3, 1), (4, 5, 1)],
        rf"(.) {lies} (.) and (.) {lies} (.)": [(1, 2, 3), (4, 5, 6)],
        rf"(.) {lies} (.) and (.)": [(1, 2, 3), (1, 2, 4)],
        rf"(.) and (.) are {lies} (.)": [(1, 3, 4), (2, 3, 4)],
        rf"(.) {lies} (.) and (.) with (.) {lies} it": [(1, 2, 3), (5, 6, 4)],
        rf"(.) with (.) {lies} it and (.) {lies} (.)": [(2, 3, 1), (4, 5, 6)],
        rf"(.) and (.) are {lies} (.) and (.)": [(1, 3, 4), (1, 3, 5), (2, 3, 4), (2, 3, 5)],
    }
    for form, found in forms.items():
        if match := re.fullmatch(form, words):
            return [(int(match[a]), match[b], int(match[c])) for a, b, c in found], named
    match = re.fullmatch(r"(?:. )?((?:at|in) the [a-z ]*?)(?: there is)?(?: .)?", words)
    assert match, text
    return [(0, match[1].strip(), 0)], named


def test_captions_are_true_and_name_everything_once():
    wordings = Counter()
    for source, text in rows_of("scenes", rows=1500)["train"]:
        things = scene.parse(source.removeprefix("scenes:")).things
        said, named = claims(text, things)
        assert sorted(named) == list(range(len(things)))
        for one, lies, other in said:
            a, b = things[one], things[other]
            x, y = b.x - a.x, b.y - a.y
            if len(things) == 1:
                row = "top " if a.y < 64 / 3 else "bottom " if a.y >= 128 / 3 else ""
                column = "left" if a.x < 64 / 3 else "right" if a.x >= 128 / 3 else ""
                assert lies == (f"at the {row}{column}".strip() if row or column else "in the middle")
            else:
                assert lies == ("left of" if x > abs(y) else "right of" if -x > abs(y) else "above" if y > 0 else "below")
        wordings[re.sub(rf"\b(?:small|{'|'.join([*scene.COLOURS, *SHAPES])}) ?", "", re.sub(LIES, "R", text))] += 1
    assert len(wordings) > 15
    assert max(wordings.values()) < 1500 / 6


def test_held_out_pictures_have_several_captions():
    rows = rows_of("scenes", rows=300)
    assert len({source for source, _ in rows["train"]}) == 300
    for split in ("validation", "test"):
        captions = Counter(source for source, _ in rows[split])
        assert len(captions) == 30
        assert set(captions.values()) <= {2, 3}
        assert sum(captions.values()) > 85
    assert len(rows_of("scenes", rows=300, captions=1)["test"]) == 30


def test_gold_of_a_caption():
    source = f"scenes:{PAIR}"
    circle, square = ((11 / 64, 3 / 64, 30 / 64, 22 / 64), (20 / 64, 40 / 64, 29 / 64, 49 / 64))
    found = Scenes().gold(source, "a red circle with a small blue square below it")
    assert found == [None, circle, circle, None, None, square, square, square, None, None]
    assert Scenes().gold(source, "a green circle above a blue square") == [None] * 5 + [square, square]  # what is not there has no box
