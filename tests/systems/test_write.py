"""Handwriting: the layers above run at once as they would step by step, it learns, and samples can be told what to be like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from xattend.data.fields.strokes import Strokes, vectors
from xattend.data.fields.text import Text
from xattend.data.tasks.handwriting import Handwriting
from xattend.errors import UserError
from xattend.recipe import Recipe
from xattend.search.greedy import Greedy
from xattend.systems import assemble
from xattend.systems.write import Write
from xattend.types import Batch

ROWS = list(Handwriting(rows=16, shortest=2, longest=3, writers=1).splits()["train"])[:6]


def fields() -> tuple[Text, Strokes]:
    source, target = Text(unit="character"), Strokes()
    source.fit(["abcdefghijklmnopqrstuvwxyz "])
    target.fit([drawing for _, drawing in ROWS])
    return source, target


def system(attention: str = "window", **given: Any) -> Write:
    settings = {"pace": 0.1, "components": 3} if attention == "window" else {}
    recipe = Recipe({
        "data": {"task": "handwriting"}, "system": {"kind": "write", "size": 24, "layers": 2, "gaussians": 3, **given},
        "attention": {"kind": attention, **settings}, "search": {"kind": "greedy"},
    }, "t.toml")  # fmt: skip
    found = assemble(recipe.resolve(), *fields())
    assert isinstance(found, Write)
    return found


def batch(rows: list[tuple[str, str]]) -> Batch:
    source, target = fields()
    right = target.collate([np.array(target.as_target(target.encode(one)), np.int32) for _, one in rows])
    return Batch(source.read([one for one, _ in rows]), right, tuple(range(len(rows))))


def test_all_points_at_once_equal_point_by_point() -> None:
    model, rows = system().eval(), batch(ROWS[:2])
    assert rows.source is not None
    assert rows.target is not None
    text = model.bind(rows.source)
    points = vectors(rows.target.values)[:, :7]
    together, _, _ = model.run(points, text, model.start(text.bound))
    hand, found = model.start(text.bound), []
    for point in points.unbind(dim=1):
        output, _, hand = model.run(point[:, None], text, hand)
        found.append(output[:, 0])
    torch.testing.assert_close(together, torch.stack(found, dim=1), atol=1e-5, rtol=1e-5)


def test_a_place_of_the_text_shows_the_characters_that_follow() -> None:
    model, rows = system(ahead=2), batch([("ab", ROWS[0][1]), ("c", ROWS[1][1])])
    assert rows.source is not None
    found = model.memory(rows.source).states_BSD.unflatten(2, (3, model.vocabulary))
    a, b, end = rows.source.values[0].tolist()
    assert found[0].sum(dim=2).tolist() == [[1, 1, 1], [1, 1, 0], [1, 0, 0]]
    assert found[0, 0].argmax(dim=1).tolist() == [a, b, end]
    assert found[0, 1, 1].argmax() == end
    assert found[1, 0].sum(dim=1).tolist() == [1, 1, 0]  # c, the end, and nothing
    assert found[1, 2].sum() == 0  # padding


def test_a_space_may_be_no_place() -> None:
    model, spaced = system(ahead=1, spaces=False).eval(), batch([("a b", ROWS[0][1]), ("c", ROWS[1][1])])
    assert spaced.source is not None
    text = model.bind(spaced.source)
    assert text.bound.mask_BS.tolist() == [[True, True, True, False], [True, True, False, False]]  # letters and the end
    assert text.place_BS[0].tolist() == [0, 3, 1, 2]
    states = text.bound.values_BSD.unflatten(2, (2, model.vocabulary))
    a, space, b, end = spaced.source.values[0].tolist()
    assert [place.argmax(dim=1).tolist() for place in states[0, :2]] == [[a, space], [b, end]], "the letter before tells of it"
    weights = model.align(spaced)[0][:, 0]
    assert weights[:, 1].eq(0).all()
    assert weights[:, [0, 2]].gt(0).any(dim=1).all()
    with pytest.raises(UserError, match=r"system\.ahead"):
        system(spaces=False)


@pytest.mark.parametrize(("ahead", "spaces"), [(0, True), (1, True), (1, False)])
def test_padding_and_neighbours_change_nothing(ahead: int, spaces: bool) -> None:
    model = system(ahead=ahead, spaces=spaces).eval()
    together = model.score(batch(ROWS[:3]))
    for row in range(3):
        assert model.score(batch([ROWS[row]]))[0] == pytest.approx(together[row], abs=1e-4)
    loss = model.loss(batch(ROWS[:3]))
    assert float(loss.total.detach()) == pytest.approx(-sum(map(sum, together)), rel=1e-4)
    assert loss.tokens == sum(map(len, together))


@pytest.mark.parametrize("attention", ["window", "none"])
def test_it_learns(attention: str) -> None:
    torch.manual_seed(1)
    model, rows = system(attention), batch(ROWS)
    optimiser, losses = torch.optim.Adam(model.parameters(), lr=0.01), []
    for _ in range(25):
        loss = model.loss(rows)
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(float(loss.total.detach()) / loss.tokens)
    assert losses[-1] < losses[0] - 0.5


def test_samples() -> None:
    model = system(bias=0.5, seed=3).eval()
    one, other = model.predict(batch(ROWS[:2]), Greedy(), attention=True)
    assert one.trace is not None
    assert one.trace.kind == "strokes"
    assert one.trace.points_T3 is not None
    assert len(one.trace.points_T3) == len(one.tokens)
    assert one.trace.weights_THS.shape == (len(one.trace.target_tokens), 1, len(one.trace.source_tokens))
    alone = model.predict(batch(ROWS[1:2]), Greedy())[0]
    assert alone.text == other.text, "a sample does not depend on its neighbours"
    model.prime = "handwriting:3 lo"
    primed = model.predict(batch(ROWS[:1]), Greedy(), attention=True)[0]
    assert primed.trace is not None
    assert "".join(primed.trace.source_tokens).startswith("lo")
    model.prime = "lo|3,4 5,6."
    model.predict(batch(ROWS[:1]), Greedy())
    model.prime = "lo"
    with pytest.raises(UserError, match=r"system\.prime"):
        model.predict(batch(ROWS[:1]), Greedy())
