"""Listen, Attend and Walk on a small map of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.data.sail import MAP, sail
from xattend.data.fields.base import from_json
from xattend.data.fields.text import Text
from xattend.data.fields.walk import Walk as WalkField
from xattend.data.maps import ACTIONS, World, parse_map
from xattend.data.named import Places
from xattend.data.readers.base import open_reader
from xattend.data.readers.lines import BadRow
from xattend.errors import UserError
from xattend.recipe import Recipe
from xattend.search.beam import Beam
from xattend.search.greedy import Greedy
from xattend.systems import System, assemble
from xattend.types import BOS, Batch

FULL = {"kind": "birnn", "size": 16, "embedding": 16, "skip": True}


def fields(folder: Path, rows: list[tuple[str, str]]) -> tuple[WalkField, Text]:
    source, target = WalkField(maps="maps"), Text(unit="word")
    source.settle(Places((folder,), (folder,)))
    source.fit([one for one, _ in rows])
    target.fit([one for _, one in rows])
    return source, target


def system(source: WalkField, target: Text, **sections: Any) -> System:
    given = {
        "data": {"task": "copy"}, "system": {"kind": "walk", "size": 24, "dropout": 0.0}, "encoder": FULL,
        "attention": {"kind": "additive"}, **sections,
    }  # fmt: skip
    return assemble(Recipe(given, "t.toml").resolve(), source, target)


def batch(source: WalkField, target: Text, rows: list[tuple[str, str]]) -> Batch:
    right = target.collate([np.array(target.as_target(target.encode(one)), np.int32) for _, one in rows])
    return Batch(source.read([one for one, _ in rows]), right, tuple(range(len(rows))))


def test_the_corpus_is_read(tmp_path: Path) -> None:
    sail(tmp_path)
    rows = [(row.source, row.target) for row in open_reader(str(tmp_path / "SingleSentence.xml#t"), format="sail")]
    assert rows[0] == ("T 0 0 90|go to the lamp", "walk stop")
    absolute = [(row.source, row.target) for row in open_reader(str(tmp_path / "SingleSentence.xml"), format="sail-absolute")]
    assert absolute[0] == ("T 0 0 0|go to the lamp", "right walk stop")
    with pytest.raises(UserError, match="no example of map 'x'"):
        list(open_reader(str(tmp_path / "SingleSentence.xml#x"), format="sail"))
    bad = (tmp_path / "SingleSentence.xml").read_text().replace("(1, 0, 90)", "(1, 3, 90)")
    (tmp_path / "bad.xml").write_text(bad)
    with pytest.raises(UserError, match="neither a turn nor a step ahead"):
        list(open_reader(str(tmp_path / "bad.xml"), format="sail"))


def test_the_world_by_hand() -> None:
    world = World([parse_map(MAP)])
    start = world.pose("t", 0, 0, 0)
    assert world.walk(start, ["walk"]) == start, "there is a wall"
    assert world.walk(start, ["right", "walk", "right", "walk"]) == world.pose("T", 1, 1, 180)
    assert world.walk(start, ["left", "left", "left", "stop", "walk"]) == world.pose("T", 0, 0, 90)
    with pytest.raises(UserError, match="no place 9 9"):
        world.pose("T", 9, 9, 0)


def test_rows_on_no_map_are_said(tmp_path: Path) -> None:
    sail(tmp_path)
    source, _ = fields(tmp_path, [("T 0 0 90|go", "walk stop")])
    for text in ("T 0 0 45|go", "go", "T 7 7 90|go", "X 0 0 90|go", "T 0 0 90|"):
        with pytest.raises(BadRow):
            source.take(text)
    again = from_json(source.to_json())
    assert again.encode("T 0 0 90|go") == source.encode("T 0 0 90|go")
    with pytest.raises(UserError, match="no maps"):
        assert WalkField(maps="nowhere").world


def test_forward_equals_steps_and_each_action_moves(tmp_path: Path) -> None:
    sail(tmp_path)
    rows = [(row.source, row.target or "") for row in open_reader(str(tmp_path / "SingleSentence.xml"), format="sail")]
    source, target = fields(tmp_path, rows)
    model, whole = system(source, target).eval(), batch(source, target, rows)
    assert whole.target is not None
    memory = model.read(whole)  # type: ignore[operator]
    decoder: Any = model.decoder
    state, found = decoder.start(memory), []
    for token in whole.target.values[:, :-1].unbind(dim=1):
        step = decoder.step(token, state)
        state = step.state
        found.append(step.logits_BV)
    torch.testing.assert_close(decoder(memory, whole.target.values[:, :-1]), torch.stack(found, dim=1))
    first = decoder.start(memory)
    begun = decoder.step(torch.full((len(rows),), BOS), first).state
    assert torch.equal(begun.moving["pose"], memory.carry), "the mark that a walk begins with moves nobody"
    by_hand = torch.tanh(memory.summary_BD @ decoder.begin.weight.T + decoder.begin.bias)
    torch.testing.assert_close(first.moving["cell"][0], by_hand)  # the first look depends on the instruction
    left = decoder.step(torch.full((len(rows),), target.encode("left")[0]), first).state.moving["pose"]
    assert left.tolist() == [int(source.world.after[pose, ACTIONS.index("left")]) for pose in memory.carry.tolist()]


@pytest.mark.parametrize(
    "sections", [{}, {"attention": {"kind": "every-step"}}, {"encoder": {"kind": "embedding", "size": 16}}],
    ids=["full", "no-aligner", "no-encoder"],
)  # fmt: skip
def test_it_learns(sections: dict[str, Any], tmp_path: Path) -> None:
    sail(tmp_path)
    rows = [(row.source, row.target or "") for row in open_reader(str(tmp_path / "SingleSentence.xml"), format="sail")]
    source, target = fields(tmp_path, rows)
    torch.manual_seed(1)
    model, whole = system(source, target, **sections), batch(source, target, rows)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    model.train()
    for _ in range(60):
        loss = model.loss(whole)
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        optimiser.step()
    model.eval()
    assert [one.text for one in model.predict(whole, Greedy())] == [one for _, one in rows]
    assert [one.text for one in model.predict(whole, Beam(size=3))] == [one for _, one in rows]
    assert model.align(whole)[0].shape[1] == 1
