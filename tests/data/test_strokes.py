"""Strokes as text, as ids and as vectors; and letters that a pen writes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from xattend.data.fields.base import from_json
from xattend.data.fields.strokes import Strokes, ids_of, vectors
from xattend.data.readers.lines import BadRow
from xattend.data.tasks.handwriting import Handwriting
from xattend.drawing import pen
from xattend.errors import UserError


def test_there_and_back() -> None:
    field = Strokes()
    field.fit(["30,-40 0,50.", "handwriting:3 to"])
    text = "30,-40 0,50. -212,7 1,1."
    ids = field.encode(text)
    assert field.decode(ids) == field.normalise(text) == text
    assert ids_of(vectors(torch.tensor(ids))).tolist() == ids
    again = from_json(field.to_json())
    assert again.encode(text) == ids
    assert vectors(torch.tensor([0, 2, 3])).abs().sum() == 0, "marks are points that go nowhere"


def test_a_source_is_vectors_and_a_target_ids() -> None:
    field = Strokes(scale=10.0)
    ids = field.encode("10,-20 5,0.")
    source = field.read(["10,-20 5,0.", "1,1"])
    torch.testing.assert_close(source.values[0], torch.tensor([[1.0, -2.0, 0.0], [0.5, 0.0, 1.0]]))
    assert source.lengths_B.tolist() == [2, 1]
    target = field.collate([np.array(field.as_target(ids), np.int32)])
    assert target.values.tolist() == [[2, *ids, 3]]


@pytest.mark.parametrize("text", ["", "1.5,2", "1;2", "handwriting:x y", "words:a", "handwriting:3 \u00e9", "1,2 3"])
def test_what_is_no_drawing_is_said(text: str) -> None:
    with pytest.raises(BadRow):
        Strokes().take(text)


def test_a_leap_is_refused() -> None:
    with pytest.raises(UserError, match="at once"):
        Strokes(scale=1.0).encode("50,0")


def test_a_hand_is_the_same_every_time_and_hands_differ() -> None:
    assert pen.write("some text", 3) == pen.write("some text", 3)
    assert len({pen.hand_of(writer) for writer in range(20)}) == 20
    written = pen.write("to be", 3)
    assert sorted(set(written.letters)) == [0, 1, 3, 4], "a space has no points"
    assert written.letters == sorted(written.letters)
    assert written.points[-1][2] == 1, "the pen is lifted in the end"


def test_the_two_directions_have_the_same_rows() -> None:
    there, back = (Handwriting(rows=30, direction=direction).splits() for direction in ("write", "read"))  # type: ignore[arg-type]
    for split, rows in there.items():
        assert [(target, source) for source, target in rows] == list(back[split])
    texts = [source for rows in Handwriting(rows=200).splits().values() for source, _ in rows]
    assert len(texts) == len(set(texts))
