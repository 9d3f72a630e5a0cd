"""Reading and answering learn in seconds, and look where they should: parts for pictures and questions work together."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from xattend.data.fields.asked import Asked
from xattend.data.fields.image import Image
from xattend.data.fields.text import Text
from xattend.recipe import Recipe
from xattend.search.greedy import Greedy
from xattend.systems import Seq2Seq, assemble
from xattend.types import BOS, EOS, Batch, Padded

COLOURS, SIDES, LETTERS = ("red", "green", "blue"), ("left", "right"), "abcd"


def padded(rows: list[list[int]]) -> Padded:
    longest = max(map(len, rows))
    values = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return Padded(values, values != 0)


def target(texts: list[str], unit: Any) -> Text:
    field = Text(unit=unit)
    field.fit(texts)
    return field


def fit(model: Seq2Seq, make: Any, steps: int) -> None:
    draw = torch.Generator().manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        loss = model.loss(make(32, draw))
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        optimiser.step()
    model.eval()


def test_a_question_says_where_to_look() -> None:
    """Two halves of two colours; the question names a half. What is asked is right, and the look goes to that half."""
    answers = target(list(COLOURS), "word")
    asked = Asked(size=8)
    asked.fit([f"p|{side}" for side in SIDES])

    def make(count: int, draw: torch.Generator) -> Batch:
        colours_B2 = torch.randint(3, (count, 2), generator=draw)
        sides_B = torch.randint(2, (count,), generator=draw)
        halves_B312 = torch.nn.functional.one_hot(colours_B2, 3).float().transpose(1, 2)[:, :, None]
        pictures = halves_B312.repeat_interleave(4, dim=3).repeat(1, 1, 8, 1)[:, None]
        questions = padded([asked.question.as_source(asked.question.encode(SIDES[side])) for side in sides_B.tolist()])
        said = [COLOURS[int(colours[side])] for colours, side in zip(colours_B2, sides_B.tolist())]
        source = Padded(pictures, torch.ones(count, 1, dtype=torch.bool), questions)
        return Batch(source, padded([answers.as_target(answers.encode(text)) for text in said]), tuple(range(count)))

    def system(**more: Any) -> Seq2Seq:
        picture = {"kind": "cnn", "size": 16, "widths": [8], "strides": [4], "norm": "none", "positions": "learned"}
        sections = {
            "data": {"task": "questions"}, "decoder": {"kind": "hops", "size": 16},
            "encoder": {"kind": "asked", "picture": picture, "question": {"kind": "rnn", "size": 8, "embedding": 8}, **more.pop("encoder", {})}, **more,
        }  # fmt: skip
        found = assemble(Recipe(sections, "t.toml").resolve(), asked, answers)
        assert isinstance(found, Seq2Seq)
        return found

    model = system()
    fit(model, make, 200)
    new = make(60, torch.Generator().manual_seed(2))
    assert new.source is not None
    assert new.source.beside is not None
    assert new.target is not None
    found = model.predict(new, Greedy(), attention=True)
    right = [one.text == answers.decode(ids) for one, ids in zip(found, new.target.values.tolist(), strict=True)]
    assert sum(right) / len(right) > 0.95
    assert found[0].trace is not None
    assert found[0].trace.grid == (2, 2)
    looks, grid = model.look(new)
    assert (grid, looks[0].shape) == ((2, 2), (1, 4))
    sides = new.source.beside.values[:, 0].tolist()  # the ids of 'left' and 'right'
    there = [int(look_TS[0].argmax()) % 2 == side - 4 for look_TS, side in zip(looks, sides, strict=True)]
    assert sum(there) / len(there) > 0.9
    for kind in ("every-step", "none"):  # these run, too, and see the picture in the summary
        blind = system(attention={"kind": kind}, encoder={"summary": "both"})
        scores = blind.eval().score(new)
        other = blind.score(Batch(new.source._replace(values=1 - new.source.values), new.target, new.rows))
        assert scores != other


@pytest.mark.parametrize("rows", ["keep", "pool"])
def test_letters_are_read_in_their_order(rows: str) -> None:
    """A letter is a grey; three of them stand side by side, in any row of the picture."""
    letters = target([LETTERS], "character")

    def make(count: int, draw: torch.Generator) -> Batch:
        words_B3 = torch.randint(len(LETTERS), (count, 3), generator=draw)
        heights_B3 = torch.randint(2, (count, 3), generator=draw)
        greys_B23 = torch.nn.functional.one_hot(heights_B3, 2).transpose(1, 2) * ((1 + words_B3) / len(LETTERS))[:, None]
        pictures = greys_B23.repeat_interleave(4, dim=1).repeat_interleave(4, dim=2)[:, None, None]
        said = [[BOS, *letters.encode("".join(LETTERS[i] for i in word)), EOS] for word in words_B3.tolist()]
        return Batch(Padded(pictures, torch.ones(count, 1, dtype=torch.bool)), padded(said), tuple(range(count)))

    sections: dict[str, Any] = {
        "data": {"task": "words"}, "attention": {"kind": "neighbourhood", "size": 16}, "decoder": {"size": 32, "embedding": 8, "cell": "lstm"},
        "encoder": {"kind": "cnn", "size": 24, "widths": [16], "strides": [4], "norm": "none", "positions": "learned", "rows": rows},
    }  # fmt: skip
    model = assemble(Recipe(sections, "t.toml").resolve(), Image(size=[8, 12], grey=True), letters)
    assert isinstance(model, Seq2Seq)
    fit(model, make, 150)
    new = make(60, torch.Generator().manual_seed(2))
    assert new.target is not None
    found = model.predict(new, Greedy())
    right = [one.text == letters.decode(ids) for one, ids in zip(found, new.target.values.tolist(), strict=True)]
    assert sum(right) / len(right) > 0.9
    assert model.look(new)[1] == ((2, 3) if rows == "keep" else (1, 3))
