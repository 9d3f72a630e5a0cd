"""Minimum risk, by hand: the likeliest output alone against two that resemble each other."""

from __future__ import annotations

import pytest

from tests.search.models import Attending, Named, sources
from xattend.errors import UserError
from xattend.search import Beam, MinimumRisk
from xattend.types import EOS

# 4 4 4 has .4; 5 5 4 and 5 5 5 have .3 each, and are one edit apart
TREE = {
    (): {4: 0.4, 5: 0.6}, (4,): {4: 1.0}, (4, 4): {4: 1.0}, (4, 4, 4): {EOS: 1.0},
    (5,): {5: 1.0}, (5, 5): {4: 0.5, 5: 0.5}, (5, 5, 4): {EOS: 1.0}, (5, 5, 5): {EOS: 1.0},
}  # fmt: skip


def test_the_fewest_expected_edits_win() -> None:
    decoder, memory = Named(TREE, 6), sources([3])
    assert Beam(size=6).search(decoder, memory)[0][0].tokens == [4, 4, 4]
    best = MinimumRisk(size=6, nbest=3).search(decoder, memory)[0]
    assert best[0].tokens == [5, 5, 4]
    # 554: .4 x 2 + .3 x 1; 555: .4 x 3 + .3 x 1; 444: .3 x 2 + .3 x 3
    assert [one.score for one in best] == pytest.approx([-1.1, -1.5, -1.5], abs=1e-3)


def test_a_low_temperature_is_beam_search_by_probability() -> None:
    decoder, memory = Attending(12), sources([3, 6, 2, 9])
    sharp = MinimumRisk(size=5, temperature=1e-3).search(decoder, memory)
    likeliest = Beam(size=5, nbest=5).search(decoder, memory)
    assert [one[0].tokens for one in sharp] == [max(one, key=lambda h: h.logprob).tokens for one in likeliest]


def test_the_answer_does_not_depend_on_nbest() -> None:
    decoder, memory = Attending(12), sources([3, 6, 2, 9])
    one, many = (MinimumRisk(size=6, nbest=n).search(decoder, memory) for n in (1, 6))
    assert [group[0].tokens for group in one] == [group[0].tokens for group in many]
    with pytest.raises(UserError, match="nbest 3 is more"):
        MinimumRisk(size=2, nbest=3)
