"""Hard attention learns a small task in both ways."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.systems import small
from xattend.search.greedy import Greedy

SMALL: dict[str, dict[str, Any]] = {
    "encoder": {"kind": "birnn", "size": 16, "embedding": 16, "skip": True}, "decoder": {"kind": "rnn", "size": 32, "embedding": 16},
}  # fmt: skip


@pytest.mark.parametrize(
    ("attention", "objective"),
    [({}, {}), ({"sampler": "categorical"}, {"kind": "lower-bound", "samples": 2})], ids=["gumbel", "lower-bound"],
)  # fmt: skip
def test_it_learns_to_reverse(attention: dict[str, Any], objective: dict[str, Any]) -> None:
    model = small.system(**SMALL, attention={"kind": "hard", **attention}, objective=objective)
    assert small.learn(model, 100, turn=True, longest=3, lr=0.02) > 0.8
    rows = small.batch(10, torch.Generator().manual_seed(5), turn=True, longest=3)
    one, again = (model.predict(rows, Greedy(), attention=True) for _ in range(2))
    assert [p.text for p in one] == [p.text for p in again]
    assert all((p.attention.sum(axis=1) - 1 < 1e-5).all() for p in one)
