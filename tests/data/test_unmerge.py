"""Subwords taken apart in training: the text stays, the cut changes from pass to pass, and nothing happens outside of training."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from xattend.data.fields.base import from_json
from xattend.data.fields.text import Text
from xattend.data.fields.unmerge import Unmerging
from xattend.errors import UserError

TEXTS = ["the lowest newer tower", "a lower new tower", "the newest lowland", "wet towels lower"] * 5


def field(rate: float) -> Text:
    found = Text(unit="bpe", size=120, unmerge=rate)
    found.fit(TEXTS)
    return found


HALF = field(0.5)


def rows(texts: list[str]) -> list[np.ndarray]:
    return [np.array(HALF.as_target(HALF.encode(text)), np.int32) for text in texts]


@given(texts=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6), epoch=st.integers(0, 5))
@limits(max_examples=60, deadline=None)
def test_the_text_stays(texts, epoch):
    apart = HALF.collator().at(epoch).apart(rows(texts))
    assert [HALF.decode(row) for row in apart] == texts
    assert all(len(after) >= len(before) for after, before in zip(apart, rows(texts), strict=True))


def test_every_pass_cuts_otherwise_and_the_same_pass_alike():
    collate = HALF.collator()
    first, again, second = (collate.at(epoch)(rows(TEXTS)) for epoch in (1, 1, 2))
    assert first.values.equal(again.values)
    assert first.values.shape != second.values.shape or not first.values.equal(second.values)


def test_nothing_is_taken_apart_outside_of_training():
    padded = HALF.collator()(rows(TEXTS[:2]))
    assert padded.values.equal(Text.collate(rows(TEXTS[:2])).values)


def test_rows_of_none_and_of_nothing():
    collate = HALF.collator().at(1)
    assert collate.apart([]) == []
    nothing = np.zeros(0, np.int32)
    assert [HALF.decode(row) for row in collate.apart([nothing, *rows(["a tower"]), nothing])] == ["", "a tower", ""]


def test_a_merge_is_undone_as_often_as_is_said():
    # 2 = 0 + 1: two letters, merged once; 3 = 2 + 2: its halves are drawn for only if it is taken apart itself
    parts_V2 = np.array([[-1, -1], [-1, -1], [0, 1], [2, 2]])
    apart = Unmerging(parts_V2, rate=0.3).at(1).apart([np.array([3], np.int32)] * 20_000)
    counts = Counter(tuple(row.tolist()) for row in apart)
    expected = {(3,): 0.7, (2, 2): 0.3 * 0.49, (0, 1, 2): 0.3 * 0.21, (2, 0, 1): 0.3 * 0.21, (0, 1, 0, 1): 0.3 * 0.09}
    assert set(counts) == set(expected)
    for row, share in expected.items():
        assert counts[row] / 20_000 == pytest.approx(share, abs=4 * (share / 20_000) ** 0.5)


def test_parts_are_those_of_the_merges():
    unit = HALF.unit
    parts_V2 = unit.parts()
    for id, (left, right) in enumerate(parts_V2.tolist()):
        if left >= 0:
            assert HALF.symbols([id])[0] == "".join(HALF.symbols([left, right]))
    assert (parts_V2[:, 0] >= 0).sum() == len({left + right for left, right in unit.merges})


def test_it_is_a_setting_that_is_kept():
    again = from_json(HALF.to_json())
    assert isinstance(again.collator(), Unmerging)
    pickle.dumps(again.collator())  # it is sent to worker processes
    assert not isinstance(field(0.0).collator(), Unmerging)
    with pytest.raises(UserError, match="unmerge"):
        Text(unit="word", unmerge=0.1)
