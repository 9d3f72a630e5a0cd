"""Alignments: format, argmax, and Och and Ney's formula by hand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from xattend.alignment.links import (
    Gold,
    agreement,
    alignment_error_rate,
    format_pharaoh,
    hard_alignment,
    parse_pharaoh,
    read_gold,
)
from xattend.errors import UserError


def test_pharaoh() -> None:
    gold = parse_pharaoh("3-10 0-0  1?2 2p2")
    assert gold.sure == {(3, 10), (0, 0)}
    assert gold.possible == {(3, 10), (0, 0), (1, 2), (2, 2)}
    assert format_pharaoh(gold.possible) == "0-0 1-2 2-2 3-10"
    assert parse_pharaoh("") == Gold(frozenset(), frozenset())
    for wrong in ["0:0", "0-", "a-b", "1-2-3", "-1-0", "٣-1"]:
        with pytest.raises(UserError, match="is not a link"):
            parse_pharaoh(f"0-0 {wrong}")


def test_hard_alignment() -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.0, 0.0, 0.0]], dtype=np.float32)
    assert hard_alignment(weights) == {(2, 0), (0, 1)}
    assert hard_alignment(weights, eos="skip") == {(1, 0), (0, 1)}
    assert hard_alignment(weights, eos="unaligned") == {(0, 1)}
    assert hard_alignment(weights[:, :1], eos="skip") == set()
    assert hard_alignment(weights[:0]) == set()


def test_error_rate_by_hand() -> None:
    # S = {0-0, 1-1}, P adds 2-1; A = {0-0, 2-1, 3-3}: in S 1, in P 2, so AER = 1 - (1 + 2) / (3 + 2) = 0.4
    gold = parse_pharaoh("0-0 1-1 2?1")
    score = alignment_error_rate([{(0, 0), (2, 1), (3, 3)}], [gold])
    assert (score.precision, score.recall, score.error_rate) == pytest.approx((2 / 3, 1 / 2, 0.4))
    perfect = alignment_error_rate([{(0, 0), (1, 1), (2, 1)}], [gold])  # possible links cost nothing
    assert (perfect.precision, perfect.recall, perfect.error_rate) == (1.0, 1.0, 0.0)


def test_corpus_sums_before_it_divides() -> None:
    first, second = parse_pharaoh("0-0"), parse_pharaoh("0-0 1-1 2-2")
    score = alignment_error_rate([{(0, 0)}, {(5, 5)}], [first, second])
    assert score.error_rate == pytest.approx(1 - 2 / 6)
    assert alignment_error_rate([set(), {(0, 0)}], [first, second]).precision == 1.0


def test_what_cannot_be_scored() -> None:
    with pytest.raises(UserError, match="1 alignments, but 0"):
        alignment_error_rate([set()], [])
    with pytest.raises(UserError, match="nothing to score"):
        alignment_error_rate([set()], [parse_pharaoh("")])


def test_links_that_do_not_fit() -> None:
    gold = parse_pharaoh("0-0 1?2")
    gold.must_fit(2, 3)
    with pytest.raises(UserError, match="link 1-2: the target side of this row has 2 words, counted from 0 to 1"):
        gold.must_fit(2, 2)
    with pytest.raises(UserError, match="link 1-2: the source side of this row has 1 words"):
        gold.must_fit(1, 3)


def test_a_gold_file(tmp_path: Path) -> None:
    file = tmp_path / "gold"
    file.write_text("0-0\n\n1p1\r\n")
    assert read_gold(file) == [parse_pharaoh("0-0"), parse_pharaoh(""), parse_pharaoh("1?1")]
    file.write_text("0-0\n0-0 1/1\n")
    with pytest.raises(UserError, match=re.escape(f"{file}:2: '1/1' is not a link")):
        read_gold(file)
    file.write_bytes(b"\xff\n")
    with pytest.raises(UserError, match=re.escape(f"{file}:1: not valid UTF-8")):
        read_gold(file)
    with pytest.raises(UserError, match="cannot be read"):
        read_gold(tmp_path / "none")


def test_agreement_by_hand() -> None:
    # 1 link in common of 2 + 3
    assert agreement([{(0, 0)}, {(1, 1)}], [{(0, 0)}, {(1, 0), (0, 1)}]) == pytest.approx(2 / 5)
    assert agreement([set()], [set()]) == 1.0
