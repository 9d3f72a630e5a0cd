"""Stories and dialogues: the notation, bAbI's layout, what is kept in a batch, and tasks whose answers are worked out again."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from xattend.data.fields.base import from_json
from xattend.data.fields.story import Story, Told, take_apart
from xattend.data.fields.turns import Turns
from xattend.data.readers.base import Row, open_reader
from xattend.data.readers.lines import BadRow
from xattend.data.tasks.dialogues import ANSWERED, Dialogues
from xattend.data.tasks.stories import KINDS, NUMBERS, Stories
from xattend.errors import UserError
from xattend.types import PAD, UNK

TEXT = "Ada walked to the cellar. Boris took the lamp. Where is Ada? #1"


def field(**given: object) -> Story:
    story = Story(**given)  # type: ignore[arg-type]
    story.fit([TEXT])
    return story


def test_a_text_is_taken_apart() -> None:
    assert take_apart(TEXT) == Told(["Ada walked to the cellar.", "Boris took the lamp."], "Where is Ada?", [0])
    assert take_apart("It is 3.5 m long! Is it?") == Told(["It is 3.5 m long!"], "Is it?", [])
    assert take_apart("A. B. C?  #2 #1 ").facts == [1, 0]
    assert take_apart("He said #1. Did he?").facts == []  # only behind the question


def test_a_batch_has_sentences_question_and_facts() -> None:
    story = field()
    batch = story.read([TEXT, "Ada walked. Where is Boris?"])
    assert batch.values.shape == (2, 2, 5)
    assert batch.mask_BS.tolist() == [[True, True], [True, False]]
    assert (batch.values[1, 1] == PAD).all()
    assert batch.values[1, 0].tolist() == [*story.text.encode("ada walked"), PAD, PAD, PAD]
    assert batch.beside is not None
    assert story.text.decode(batch.beside.values[1].tolist()) == "where is boris"
    assert batch.beside.beside is not None
    assert batch.beside.beside.values.tolist() == [[0], [PAD]]
    assert batch.beside.beside.mask_BS.tolist() == [[True], [False]]
    assert story.names(batch) == [["Ada walked to the cellar.", "Boris took the lamp."], ["Ada walked."]]
    of_a_split = story.collate([np.array(story.encode(TEXT), np.int32)])
    assert story.names(of_a_split) == [["ada walked to the cellar", "boris took the lamp"]]


def test_marks_of_facts_are_not_words() -> None:
    story = field()
    assert UNK in story.units(story.encode("Ada is 1. Where is Ada? #1"))
    assert story.decode(story.encode(TEXT)) == "ada walked to the cellar. boris took the lamp. where is ada?"


def test_the_last_sentences_are_kept_facts_are_renumbered_and_cuts_are_said() -> None:
    story = field(last=2)
    assert story.apart("A. B. C. D? #1 #3") == Told(["B.", "C."], "D?", [1])
    for text in (TEXT, "A. B. C. D?"):
        story.take(text)
    assert story.notes() == ["1 of 2 stories are longer than last = 2 sentences: those before are not read"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Where is Ada?", "it has one sentence alone"), ("  ", "there is nothing in it"), ("Ada fell. ?", "has no words"),
        ("Ada fell. Who fell? #2", "#2 names"), ("Ada fell. Who fell? #0", "#0 names"),
        ("Ada fell. Boris sat.", "end it with '?' ('Boris sat.' does not)"), ("Ada fell. Boris sat. #1", "end it with '?'"), ("Ada fell. Boris sat", "end it with '?'"),
    ],
)  # fmt: skip
def test_a_row_that_is_no_story_is_placed(text: str, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)) as error:
        field().read([TEXT, text], [Row(TEXT, None, "rows.tsv", 1), Row(text, None, "rows.tsv", 2)])
    assert str(error.value).startswith("rows.tsv:2: ")
    with pytest.raises(BadRow):
        Story().take(text)


def test_a_question_may_end_in_other_marks_too() -> None:
    for question in ('Did Ada say "no?"', "Did Ada fall?!", "Did Ada fall\uff1f", "\u0623\u064a\u0646 Ada\u061f"):
        field().check(f"Ada fell. {question} #1")


def test_sentences_of_ones_own_are_called_as_they_were_typed() -> None:
    story, typed = field(last=1), "Ada fell. Zebulon, 'the  Great', took Boris!  Where is Zebulon? #2"
    batch = story.read([typed, TEXT])
    assert story.names(batch) == [["Zebulon, 'the Great', took Boris!"], ["Boris took the lamp."]]
    assert story.unknown(typed) == ["Zebulon", "Great", "Zebulon"]
    assert story.unknown(TEXT) == []
    turns = Turns()
    turns.fit(["hello | how are you ?"])
    assert turns.names(turns.read(["hello  Ada | how ?"])) == [["hello Ada", "how ?"]]
    assert turns.unknown("hello Ada | how ?") == ["Ada"]


def test_lengths_are_coarse() -> None:
    story = field()
    lengths = [story.length(story.encode(" ".join(["Ada walked."] * count + ["Where is Ada?"]))) for count in (1, 16, 17, 33)]
    assert lengths == [16, 16, 32, 64]


def test_rows_to_train_on_end_with_a_question() -> None:
    story = Story()
    for about in KINDS:
        for source, _ in Stories(about=about, rows=50).splits()["train"]:  # type: ignore[arg-type]
            story.take(source)


def test_turns_are_sentences_without_a_question() -> None:
    turns = Turns()
    turns.fit(["hello , ada | how are you ?"])
    batch = turns.read(["hello , ada | how are you ?", "you ?"])
    assert turns.names(batch) == [["hello , ada", "how are you ?"], ["you ?"]]
    assert batch.beside is not None
    assert batch.beside.values.shape == (2, 0)
    again = from_json(turns.to_json())
    assert isinstance(again, Turns)
    assert again.decode(again.encode("you ? | hello")) == "you ? | hello"
    with pytest.raises(UserError, match="a turn is empty"):
        turns.read(["hello | "])
    turns.take("I am Ada. | fine .")  # nobody asks


BABI = """1 Mary moved to the bathroom.
2 Where is Mary? \tbathroom\t1
3 John went to the hallway.
4 Where is John?\thallway\t3
1 Sam fell.
2 Who fell?\tSam\t1
"""


def test_babi_rows_have_the_story_so_far(tmp_path: Path) -> None:
    file = tmp_path / "qa1_one_train.txt"
    file.write_text(BABI)
    rows = list(open_reader(str(file), format="babi"))
    for row in rows:
        Story().take(row.source)
    assert [(row.source, row.target, row.line) for row in rows] == [
        ("Mary moved to the bathroom. Where is Mary? #1", "bathroom", 2),
        ("Mary moved to the bathroom. John went to the hallway. Where is John? #2", "hallway", 4),  # line 3 is sentence 2
        ("Sam fell. Who fell? #1", "Sam", 6),
    ]
    (tmp_path / "qa10_two_train.txt").write_text("1 A b.\n2 C?\td\t1\n")
    (tmp_path / "qa2_three_train.txt").write_text("1 E f.\n2 G?\th\t1\n")
    (tmp_path / "qa3_three_test.txt").write_text("1 X.\n2 Y?\tz\t1\n")
    joint = list(open_reader(str(file), format="babi-joint"))
    assert [row.target for row in joint] == ["bathroom", "hallway", "Sam", "h", "d"]  # in the order of the tasks' numbers


@pytest.mark.parametrize(
    ("text", "said"),
    [("Mary fell.\n", "not a number and a sentence"), ("1 Mary fell.\n2 Who?\t\t1\n", "has no answer"), ("1 A.\n2 Who?\tA\t7\n", "'7' is given as a supporting fact")],
)
def test_a_bad_line_of_babi_is_placed(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "bad.txt"
    file.write_text(text)
    with pytest.raises(UserError, match=re.escape(said)) as error:
        list(open_reader(str(file), format="babi"))
    assert f"bad.txt:{text.count(chr(10))}" in str(error.value)


def solved(told: Told) -> str:
    """The answer, found by going through the sentences as a person would."""
    places: dict[str, list[str]] = {}
    things: dict[str, str] = {}  # to a person, or to a place behind @
    kinds, fears = {}, {}
    for sentence in told.sentences:
        words = sentence.rstrip(".").split()
        if " fear " in sentence:
            fears[words[0].lower()] = words[2]
        elif words[1] == "is":
            kinds[words[0]] = words[3]
        elif " to the " in sentence:
            places.setdefault(words[0], []).append(words[-1])
        else:
            dropped = words[1] in ("put", "dropped", "left")
            things[words[-1]] = "@" + places[words[0]][-1] if dropped else words[0]
    asked = told.question.rstrip("?").split()
    if asked[0] == "What":
        plural = {"fox": "foxes", "owl": "owls", "wolf": "wolves", "goat": "goats"}
        return fears[plural[kinds[asked[2]]]]
    if asked[0] == "How":
        return NUMBERS[sum(who == asked[4] for who in things.values())]
    if asked[0] == "Is":
        return "yes" if places[asked[1]][-1] == asked[-1] else "no"
    if asked[1] == "was":
        visits = places[asked[2]]
        return visits[max(at for at, place in enumerate(visits) if place == asked[-1]) - 1]
    where = things.get(asked[-1], asked[-1])
    return where[1:] if where.startswith("@") else places[where][-1]


@pytest.mark.parametrize("about", KINDS)
def test_answers_follow_from_the_story_and_from_its_facts_alone(about: str) -> None:
    for source, target in Stories(about=about, rows=100).splits()["train"]:  # type: ignore[arg-type]
        told = take_apart(source)
        assert told.facts
        assert solved(told) == target
        if about != "count":  # whoever is counted for must have been somewhere to put things down
            assert solved(told._replace(sentences=[told.sentences[fact] for fact in sorted(told.facts)])) == target


def test_no_answer_is_frequent_enough_to_be_guessed() -> None:
    for about in KINDS:
        targets = [target for _, target in Stories(about=about, rows=300).splits()["train"]]  # type: ignore[arg-type]
        share = np.unique(targets, return_counts=True)[1].max() / len(targets)
        assert share < {"yes-no": 0.6, "count": 0.5}.get(about, 0.4), about


def test_a_dialogue_needs_its_first_and_its_last_turn() -> None:
    for source, target in Dialogues(rows=50).splits()["train"]:
        first, *_, last = source.split(" | ")
        assert len(source.split(" | ")) == 7
        name, town = re.search(r"\b(?:is|hello ,) (\w+)", first), first.split()[-1]
        thing = re.search(r"(?:new|the|order a) (\w+)", last)
        assert name is not None
        assert thing is not None
        assert target in [way.format(name=name[1], town=town, thing=thing[1]) for way in ANSWERED]
