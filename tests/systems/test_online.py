"""Online hard alignments learn noisy runs, by the sum over all paths and by drawn ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from xattend.data.fields.text import Text
from xattend.data.tasks.segments import Segments
from xattend.errors import UserError
from xattend.recipe import Recipe
from xattend.search.greedy import Greedy
from xattend.systems import System, assemble
from xattend.types import Batch

ROWS = list(Segments(symbols=4, runs=3, shortest=2, longest=3, noise=0.0, rows=200).splits()["train"])


def fields() -> tuple[Text, Text]:
    source, target = Text(unit="word"), Text(unit="word")
    source.fit([source for source, _ in ROWS])
    target.fit([target for _, target in ROWS])
    return source, target


def system(**given: Any) -> System:
    recipe = Recipe({
        "data": {"task": "segments"}, "system": {"kind": "online", "size": 32, **given},
        "encoder": {"kind": "rnn", "size": 32, "embedding": 8}, "search": {"kind": "greedy"},
    }, "t.toml")  # fmt: skip
    return assemble(recipe.resolve(), *fields())


def batch(rows: list[tuple[str, str]]) -> Batch:
    source, target = fields()
    left = source.collate([np.array(source.as_source(source.encode(one)), np.int32) for one, _ in rows])
    right = target.collate([np.array(target.as_target(target.encode(one)), np.int32) for _, one in rows])
    return Batch(left, right, tuple(range(len(rows))))


def learn(model: System, steps: int) -> float:
    """The exact loss a token afterwards."""
    torch.manual_seed(1)
    optimiser, whole = torch.optim.Adam(model.parameters(), lr=0.01), batch(ROWS[:64])
    model.train()
    for _ in range(steps):
        loss = model.loss(whole)
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    model.eval()
    with torch.no_grad():
        found = model.loss(whole)
    return float(found.total) / found.tokens


def test_the_sum_learns_quickly_and_drawn_paths_learn() -> None:
    exact, drawn = system(), system(learn="policy-gradient")
    before = learn(system(), 0)
    by_sum, by_paths = learn(exact, 60), learn(drawn, 60)
    assert by_sum < 0.35 * before
    assert by_paths < 0.85 * before
    found = exact.predict(batch(ROWS[:8]), Greedy(), attention=True)
    assert all(one.trace is not None and len(one.trace.target_tokens) == len(one.tokens) + 1 for one in found)
    looked = exact.align(batch(ROWS[:8]))
    torch.testing.assert_close(looked[0].sum(dim=2), torch.ones(len(looked[0]), 1))
    scores = exact.score(batch(ROWS[:8]))
    assert -sum(map(sum, scores)) == pytest.approx(float(exact.loss(batch(ROWS[:8])).total.detach()), rel=1e-4)


def test_more_tokens_than_steps_are_refused() -> None:
    with pytest.raises(UserError, match="at most one is written a step"):
        system().loss(batch([("a", "a b a b")]))
