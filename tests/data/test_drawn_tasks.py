"""Tasks that draw: the same pixels every time, boxes around what they speak of, captions and answers that are true, nothing that leaks."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from random import Random

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from xattend import registry
from xattend.data.tasks.moving_digits import MovingDigits, caption
from xattend.data.tasks.questions import Questions, find, questions, relational
from xattend.data.tasks.scenes import Scenes
from xattend.data.tasks.words import Words
from xattend.drawing import film as films
from xattend.drawing import fonts, scene, sheet
from xattend.drawing.lettering import Arc, Lettering, Straight, printed, sampled
from xattend.drawing.shapes import FULL, SHAPES, coverage
from xattend.errors import UserError

TASKS = ["scenes", "questions", "words", "moving-digits"]
PAIR = "red circle 20 12 9;blue square 24 44 5"


def rows_of(name, **given):
    return {split: list(rows) for split, rows in registry.build("task", name, **given).splits().items()}


def picture(source):
    name, _, spec = source.partition(":")
    return registry.find("task", name).draw(spec)


def digest(frames):
    return hashlib.sha256(np.stack(frames).tobytes()).hexdigest()[:16]


# --- all of them


@pytest.mark.parametrize("name", TASKS)
def test_rows_are_fixed_and_no_picture_is_in_two_splits(name):
    rows = rows_of(name, rows=300)
    assert rows == rows_of(name, rows=300)
    assert rows != rows_of(name, rows=300, seed=2)
    assert len(rows["train"]) == 300
    pictures = {split: {source.partition("|")[0] for source, _ in found} for split, found in rows.items()}
    assert not pictures["train"] & (pictures["validation"] | pictures["test"])
    assert not pictures["validation"] & pictures["test"]
    assert all(len(set(found)) == len(found) for found in rows.values())


@pytest.mark.parametrize("name", TASKS)
def test_pictures_are_drawn_from_their_texts_alone(name):
    rows = [source for source, _ in rows_of(name, rows=20)["train"]]
    first = [digest(picture(source)) for source in rows]
    assert first[::-1] == [digest(picture(source)) for source in rows[::-1]]
    assert len(set(first)) == len({source.partition("|")[0] for source in rows})
    frames = picture(rows[0])
    assert all(frame.dtype == np.uint8 and frame.shape == frames[0].shape and frame.shape[2] == 3 for frame in frames)


@pytest.mark.parametrize(("name", "spec"), [
    ("scenes", "red circle 12 40"), ("scenes", "pink circle 12 40 9"), ("scenes", "red circel 12 40 9"), ("scenes", "red circle 5 40 9"),
    ("scenes", ""), ("scenes", "8;red circle 4 4 2"), ("questions", "red circle 12|is it"), ("words", "oslo"),
    ("words", "oslo gothic 32x100 straight 1"), ("words", "oslo plain 1x100 straight 1"),
    ("moving-digits", "20 64;3 plain 20 0 1 1 1 up up"), ("moving-digits", "20 64 1"),
    ("moving-digits", "20 64 1;3 plain 20 0 1 1 1 up up"), ("moving-digits", "20 64 1;3 gothic 20 0 1 40 1 up up"), ("copy", "a b"),
])  # fmt: skip
def test_a_text_that_describes_no_picture_is_the_users_error(name, spec):
    with pytest.raises(UserError):
        registry.find("task", name).draw(spec)


@pytest.mark.parametrize(("name", "given"), [
    ("scenes", {"fewest": 3, "most": 2}), ("questions", {"fewest": 3, "most": 2}), ("words", {"shortest": 9, "longest": 3}),
    ("words", {"alphabet": "äö"}), ("words", {"alphabet": ""}),
    ("words", {"fonts": []}), ("words", {"fonts": ["gothic"]}), ("moving-digits", {"fonts": []}),
    ("moving-digits", {"frames": 60}),
])  # fmt: skip
def test_settings_that_cannot_be_are_refused(name, given):
    with pytest.raises(UserError):
        registry.build("task", name, **given)


def test_too_few_pictures_or_words_are_said():
    with pytest.raises(UserError, match="different scenes of 1 to 1 things: set fewer 'rows'"):
        rows_of("scenes", rows=20_000, fewest=1, most=1)
    with pytest.raises(UserError, match="different words were found"):
        rows_of("words", rows=100, alphabet="ab", longest=3)


# --- scenes


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


# --- questions


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


# --- words


def test_no_word_is_in_two_splits_and_words_are_of_the_alphabet():
    rows = rows_of("words", rows=2000, alphabet="abcdeilnorst12", shortest=4, longest=6)
    words = {split: [word for _, word in found] for split, found in rows.items()}
    assert not set(words["train"]) & {*words["validation"], *words["test"]}
    assert not set(words["validation"]) & set(words["test"])
    assert all(4 <= len(word) <= 6 and set(word) <= set("abcdeilnorst12") for found in words.values() for word in found)
    assert all(len(set(found)) == len(found) for found in words.values())
    other = [word for _, word in rows_of("words", rows=2000, alphabet="abcdeilnorst12", shortest=4, longest=6, seed=2)["train"]]
    assert not set(words["test"]) & set(other)  # nor in the training words of another seed
    assert {len(word) for word in words["train"]} == {4, 5, 6}
    assert 0.1 < sum(any(letter.isdecimal() for letter in word) for word in words["train"]) / 2000 < 0.3
    assert all(source.startswith(f"words:{word} ") for source, word in rows["train"])
    assert {source.split()[1] for source, _ in rows["train"]} == set(fonts.FACES)


def test_curved_words_and_sizes():
    rows = [source for source, _ in rows_of("words", rows=1000, curved=0.3)["train"]]
    assert 0.25 < sum(" curved " in source for source in rows) / 1000 < 0.35
    assert picture(rows[0])[0].shape == (48, 160, 3)
    assert Words(curved=0.3).source["size"] == [48, 160]
    assert Words.source["size"] == Words().source["size"] == [32, 100]
    rows = rows_of("words", rows=20, fonts=["plain", "hand"])["train"]
    assert {source.split()[1] for source, _ in rows} == {"plain", "hand"}
    assert not any(" curved " in source for source, _ in rows)


@pytest.mark.parametrize("bend", [Straight, Arc])
def test_the_inverse_undoes_the_map(bend):
    for seed in range(20):
        way, (u, v) = bend(4.0, 1.0, Random(seed)), np.random.default_rng(seed).uniform(-0.5, 0.5, (2, 50)) * [[4.0], [1.0]]
        again = way.inverse(*way.forward(u, v))
        assert np.allclose(again, (u, v))


def test_sampling_between_pixels():
    ink = np.array([[0, 100], [200, 0]], np.uint8)
    x, y = np.array([0.5, 1.0, 1.5, 1.0, 0.5, -3.0, 9.0]), np.array([0.5, 0.5, 0.5, 1.0, 2.0, 0.5, 9.0])
    # centres are at halves; halfway between two, in the middle of all four, halfway to the nothing outside, and far outside
    assert sampled(ink, x, y).tolist() == [0, 50, 100, 75, 100, 0, 0]


@pytest.mark.parametrize("face", ["plain", "sans", "serif", "round"])
def test_letters_begin_where_there_is_no_ink(face):
    ink, edges = printed("ilil", face, 60)
    blank = np.flatnonzero(~ink.any(0))
    assert edges[0] == 0
    assert edges[-1] == ink.shape[1]
    assert all(abs(blank - edge).min() <= 1 for edge in edges[1:-1])
    assert np.diff(edges).min() > ink.shape[1] / 8


@pytest.mark.parametrize("curved", [False, True])
def test_all_of_a_word_is_in_its_picture_and_in_its_boxes(curved):
    """The ink found in the picture is the ink that was printed, and each letter's is in its box."""
    for seed in range(12):
        face = fonts.FACES[seed % len(fonts.FACES)]
        word = Lettering("amsterdam"[: 3 + seed % 7], face, 48, 160, curved=curved, seed=str(seed))
        inked = sampled(word.ink, word.x, word.y) > 100
        rows, columns = word.ink.shape
        letter = np.searchsorted(word.edges, word.x, side="right") - 1
        boxes = word.boxes()
        assert len(boxes) == len(word.word)
        for number, box in enumerate(boxes):
            left, top, right, bottom = (round(side * size) for side, size in zip(box, (160, 48, 160, 48)))
            inside = np.zeros((48, 160), bool)
            inside[top:bottom, left:right] = True
            own = inked & (letter == number) & (word.y >= 0) & (word.y < rows)
            assert own.any()
            assert not (own & ~inside).any()
        # the printed word's four corners come out somewhere within the picture
        near = (abs(word.x - columns / 2) < columns / 2) & (abs(word.y - rows / 2) < rows / 2)
        assert not near[0].all()
        assert word.x[near].min() < 2
        assert word.x[near].max() > columns - 2


def test_gold_of_a_word_has_a_box_a_letter_from_left_to_right():
    task, source = Words(), "words:lusaka sans 32x100 straight 17"
    boxes = task.gold(source, "lusaka")
    assert len(boxes) == 6
    lefts = [box[0] for box in boxes]
    assert lefts == sorted(lefts)
    assert all(0 <= box[0] < box[2] <= 1 and 0 <= box[1] < box[3] <= 1 for box in boxes)
    assert task.gold(source, "lusakka") == [None] * 7


def test_ink_and_ground_can_be_told_apart():
    for seed in range(20):
        word = Lettering("mm", "sans-bold", 32, 100, curved=False, seed=str(seed))
        grey, cover = word.picture().astype(float), sampled(word.ink, word.x, word.y)
        ink, ground = grey[cover > 250], grey[cover == 0]
        assert abs(ink.mean() - ground.mean()) > 30


def test_a_face_whose_package_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(fonts, "find_spec", lambda package: None)
    fonts.font.cache_clear()
    with pytest.raises(UserError, match="the face 'hand' needs font-intuitive: pip install font-intuitive"):
        registry.build("task", "words", fonts=["plain", "hand"], rows=10).splits()
    assert Words.draw("oslo plain 32x100 straight 1")
    with pytest.raises(UserError, match="font-caladea"):
        MovingDigits.draw("20 64 1;3 serif 21 0 10 40 1 up up")
    fonts.font.cache_clear()


# --- moving digits


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


# --- the contact sheet


@pytest.mark.parametrize("name", TASKS)
def test_contact_sheet(name, tmp_path):
    result = CliRunner().invoke(sheet.main, [name, str(tmp_path / "sheet.png"), "--pictures", "3", "--columns", "2", "-s", "rows=20"])
    assert result.exit_code == 0, result.output
    with Image.open(tmp_path / "sheet.png") as image:
        assert image.width >= 2 * sheet.NARROWEST
    wrong = CliRunner().invoke(sheet.main, [name, str(tmp_path / "x.png"), "-s", "rows"])
    assert wrong.exit_code == 1
    assert "KEY=VALUE" in wrong.output
