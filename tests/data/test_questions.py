"""Questions about scenes: answers that are right, and that the question alone does not give."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

import numpy as np
import pytest

from tests.data.drawn import PAIR, rows_of
from xattend.data.tasks.questions import Questions, find, questions, relational
from xattend.data.tasks.scenes import Scenes
from xattend.drawing import scene
from xattend.errors import UserError


def brute(described, text):
    """The right answer by going through everything, or None if it is in doubt."""
    things = scene.parse(described).things
    words = text.split()
    if text.startswith("how many") and text.endswith("are there"):
        return str(sum(words[2] in (f"{t.shape}s", f"{t.shape}es") for t in things))
    colour = words[words.index("thing") - 1] if "thing" in words else None
    it = next((t for t in things if t.colour == colour), None)
    others = [t for t in things if t is not it]
    if text.startswith("what colour is the"):
        return next(t.colour for t in things if t.shape == words[4])
    if text.startswith("what shape is the"):
        return it.shape
    if text.endswith("small"):
        return "yes" if it.radius <= 6 else "no"
    if text.endswith("on the left"):
        return "yes" if it.x < 32 else "no"
    if text.endswith("at the top"):
        return "yes" if it.y < 32 else "no"
    if text.startswith("how many other"):
        return str(sum(t.shape == it.shape for t in others))
    if "nearest" in words:
        other = min(others, key=lambda t: np.hypot(t.x - it.x, t.y - it.y))
    elif "farthest" in words:
        other = max(others, key=lambda t: np.hypot(t.x - it.x, t.y - it.y))
    else:
        right, down = {"left": (-1, 0), "right": (1, 0), "above": (0, -1), "below": (0, 1)}[words[3]]
        there = [(t, t.x - it.x, t.y - it.y) for t in others]
        (other,) = [t for t, x, y in there if x * right + y * down > abs(x * down + y * right)]
    return other.shape if words[1] == "shape" else other.colour


def test_answers_are_right():
    rows = rows_of("questions", rows=2000)
    for source, answer in [*rows["train"], *rows["test"]]:
        described, _, question = source.removeprefix("questions:").partition("|")
        assert answer == brute(described, question), source
        assert answer == find(source).answer


def test_the_question_alone_does_not_give_the_answer():
    for split, found in rows_of("questions", rows=4000).items():
        answers = defaultdict(Counter)
        for source, answer in found:
            answers[source.partition("|")[2]][answer] += 1
        for given in answers.values():
            assert max(given.values()) - min(given.values()) <= 3
        # always the most frequent answer to the question: between one in two (yes and no) and one in six (colours)
        assert sum(max(given.values()) for given in answers.values()) / len(found) < (0.33 if split == "train" else 0.45)


def test_single_things_are_added_to_training_alone():
    plain, more = rows_of("questions", rows=200), rows_of("questions", rows=200, singles=50)
    assert more["train"][:200] == plain["train"]
    assert len(more["train"]) == 250
    assert all(";" not in source and brute(source[len("questions:") :].partition("|")[0], source.partition("|")[2]) == answer for source, answer in more["train"][200:])
    assert (more["validation"], more["test"]) == (plain["validation"], plain["test"])
    with pytest.raises(UserError, match="single things are held out too"):
        Questions(singles=5, fewest=1)


def test_half_of_the_questions_are_relational():
    rows = [source for source, _ in rows_of("questions", rows=1000)["train"]]
    assert abs(sum(map(relational, rows)) - 500) <= 10
    asked = Counter(source.partition("|")[0] for source in rows)
    assert max(asked.values()) == 4
    kinds = Counter(find(source).kind for source in rows)
    assert len(kinds) == 13
    assert min(kinds.values()) > 30
    draw = Random(1)
    for _ in range(20):
        drawn = scene.random_scene(draw, 5, colours_differ=True)
        for question in questions(drawn):
            assert relational(question.text) == question.relational
            if question.relational:  # it cannot be answered from the thing that it names
                assert question.about is not question.named
    odd = [source for source, _ in rows_of("questions", rows=200, asked=1)["train"]]
    assert 90 <= sum(map(relational, odd)) <= 110


def test_gold_of_an_answer_is_the_thing_it_speaks_of():
    task, source = Questions(), "questions:red circle 12 40 9;blue square 44 20 5|"
    red, blue = (thing.box(64) for thing in scene.parse("red circle 12 40 9;blue square 44 20 5").things)
    assert task.gold(f"{source}what shape is the red thing", "circle") == [red]
    assert task.gold(f"{source}what shape is nearest to the red thing", "square") == [blue]
    assert task.named(f"{source}what shape is nearest to the red thing") == red
    assert task.gold(f"{source}how many circles are there", "1") == [None]
    assert task.named(f"{source}how many circles are there") is None
    with pytest.raises(UserError, match="no question about this scene"):
        task.gold(f"{source}what shape is the green thing", "circle")
    assert (Questions.draw(f"{PAIR}|is the red thing small")[0] == Scenes.draw(PAIR)[0]).all()


def test_a_question_in_doubt_is_not_asked():
    texts = {question.text for question in questions(scene.parse("red circle 33 10 5;blue square 10 40 5;green circle 54 40 5"))}
    assert "is the red thing on the left" not in texts  # a pixel from the middle
    assert "what shape is nearest to the red thing" not in texts  # 38 and 37 pixels away
    assert "what shape is nearest to the blue thing" in texts
    assert "what colour is the circle" not in texts  # there are two
    assert "what shape is below the red thing" not in texts  # there are two
    assert "what shape is right of the blue thing" in texts
