"""Pictures of words: letters, boxes and ink."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.data.drawn import picture, rows_of
from xattend import registry
from xattend.data.tasks.moving_digits import MovingDigits
from xattend.data.tasks.words import Words
from xattend.drawing import fonts
from xattend.drawing.lettering import Arc, Lettering, Straight, printed, sampled
from xattend.errors import UserError


def test_letters_and_pairs_are_added_to_training_alone():
    plain, more = rows_of("words", rows=200), rows_of("words", rows=200, short=50)
    assert more["train"][:200] == plain["train"]
    assert [len(word) for _, word in more["train"][200:]] == [1, 2] * 25
    assert all(source.startswith(f"words:{word} ") for source, word in more["train"][200:])
    assert len(more["train"]) == 250
    assert (more["validation"], more["test"]) == (plain["validation"], plain["test"])
    with pytest.raises(UserError, match="single letters are held out too"):
        Words(short=5, shortest=1)


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


def test_capitals_are_written_and_say_the_same():
    rows = rows_of("words", rows=1000, capitals=0.5, alphabet="abcdeilnorst")["train"]
    written = [source.split()[0].removeprefix("words:") for source, _ in rows]
    assert all(shown.lower() == word for shown, (_, word) in zip(written, rows, strict=True))
    assert 0.35 < sum(shown.isupper() for shown in written) / 1000 < 0.45
    assert 0.05 < sum(shown.istitle() for shown in written) / 1000 < 0.15
    source, word = next((source, word) for source, word in rows if source.split()[0].removeprefix("words:").isupper())
    assert all(box is not None for box in Words().gold(source, word))
    assert (picture(source)[0] != picture(source.replace(word.upper(), word))[0]).any()
    assert rows_of("words", rows=50, capitals=0.0) == rows_of("words", rows=50)


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
