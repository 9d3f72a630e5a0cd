"""The field of bits, and the algorithms: their rows by hand, their draws, and what is refused."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from xattend import registry
from xattend.data.fields.base import from_json
from xattend.data.fields.bits import Bits, Pieces, pack, unpack
from xattend.data.readers.base import Row
from xattend.data.readers.lines import BadRow
from xattend.data.tasks.bits import Copy, Drawn, NGrams, PrioritySort, Recall, RepeatCopy, best_guess
from xattend.data.tasks.waveform import Waveform, wave
from xattend.errors import UserError
from xattend.types import UNK

DRAWN = [name for name in registry.names("task") if issubclass(registry.find("task", name), Drawn)]


def field(*texts: str) -> Bits:
    found = Bits()
    found.fit(list(texts))
    return found


@pytest.mark.parametrize("step", [Pieces(), Pieces(0), Pieces(1023, 31, 8191), Pieces(None, 1, -8191), Pieces(5, 0, -1)])
def test_a_step_is_an_id_of_31_bits(step: Pieces) -> None:
    assert unpack(pack(step)) == step
    assert 4 <= pack(step) < 2**31


def test_channels_are_bits_then_marks_then_the_number() -> None:
    one = field("01&0.5 repeat&-0.25 end . 11")
    assert (one.width, one.marks, one.numbers) == (2, ["end", "repeat"], True)
    vectors = one.vectors(torch.tensor(one.encode("01&0.5 repeat&-0.25 end .")))
    assert vectors.tolist() == [[0, 1, 0, 0, 0.5], [0, 0, 0, 1, -0.25], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
    assert one.decode(one.ids(vectors).tolist()) == "01&0.5 00&repeat&-0.25 end 00".replace("00&", "")


def test_padding_and_end_marks_are_silent() -> None:
    one = field("01 copy")
    assert not one.vectors(torch.tensor([0, 2, 3])).any()


def test_it_survives_being_saved() -> None:
    one = field("01&0.5 copy .")
    again = from_json(json.loads(json.dumps(one.to_json())))
    assert isinstance(again, Bits)
    assert again.encode("10&0.25 copy") == one.encode("10&0.25 copy")


def test_a_text_has_one_form() -> None:
    one = field("01 end")
    assert one.normalise(" 01   00&end  0.0 ") == "01 end ."
    assert one.normalise("1.50&01") == "01&1.5"


@pytest.mark.parametrize(("text", "said"), [("01&10", "is no step"), ("01&&", "is no step"), ("a&b", "is no step"), ("9.5", "numbers go from"), ("0" * 11, "10 at most")])
def test_what_is_no_step_is_said(text: str, said: str) -> None:
    with pytest.raises(BadRow, match=said):
        Bits().take(text)


def test_a_users_row_must_be_known() -> None:
    one = field("01 copy .")
    assert one.encode("past") == [UNK]
    with pytest.raises(UserError, match=r"rows.txt:7: 'past' is no step that this model knows.*copy"):
        one.read(["01 copy .", "01 past ."], [Row("", None, "rows.txt", 6), Row("", None, "rows.txt", 7)])
    with pytest.raises(UserError, match="'011' has 3 bits"):
        one.read(["011"])


def rows(task: Any, count: int = 40) -> list[tuple[list[str], list[str]]]:
    return [(source.split(), target.split()) for source, target in list(task.splits()["train"])[:count]]


def test_copy() -> None:
    for source, target in rows(Copy(width=3, max_length=5, rows=50)):
        middle = source.index("copy")
        assert source[:middle] == target
        assert source[middle + 1 :] == ["."] * len(target)


def test_a_series_of_copies() -> None:
    for source, target in rows(Copy(width=3, min_length=2, max_length=2, min_series=3, max_series=3, rows=50)):
        assert [source[i : i + 2] for i in (0, 5, 10)] == [target[i : i + 2] for i in (0, 2, 4)]
        assert source.count(".") == len(target) == 6


def test_repeat_copy() -> None:
    for source, target in rows(RepeatCopy(width=3, max_length=3, max_repeats=4, rows=50)):
        middle = next(i for i, step in enumerate(source) if step.startswith("repeat"))
        times = round(5.5 + 2.87 * float(source[middle].split("&")[1]))
        assert target == source[:middle] * times + ["end"]
        assert source[middle + 1 :] == ["."] * len(target)


def test_recall() -> None:
    for source, target in rows(Recall(width=4, length=2, rows=50)):
        items = [" ".join(item.split()) for item in " ".join(source[: source.index("ask")]).split("item") if item.strip()]
        asked = " ".join(source[source.index("ask") + 1 : -3])
        assert (asked, " ".join(target)) in pairwise(items)


def test_priority_sort() -> None:
    for source, target in rows(PrioritySort(width=4, length=6, answers=4, rows=50)):
        told = sorted((-float(step.split("&")[1]), step.split("&")[0]) for step in source[:6])
        assert target == [bits for _, bits in told[:4]]


def test_ngrams_follow_their_table() -> None:
    task = NGrams(order=2, length=400, rows=10)
    for source, target in rows(task, 5):
        assert source[1:] == target[:-1]
    guess, bits = np.zeros(2), [int(bit) for bit in rows(task, 1)[0][0]]
    guess[:] = best_guess(bits, order=2)[-1], 0.5
    after = [b for a, b in pairwise(bits) if a == bits[-2]][:-1]
    assert guess[0] == pytest.approx((sum(after) + 0.5) / (len(after) + 1))


@pytest.mark.parametrize("name", DRAWN)
def test_a_draw_depends_on_its_generator_alone(name: str) -> None:
    task: Drawn = registry.build("task", name)
    one, again, other = (task.fresh(np.random.default_rng(seed), 3) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one, again))
    assert any(a.shape != b.shape or (a != b).any() for a, b in zip(one, other))
    source, target = Bits(), Bits()
    rows = list(task.splits()["train"])
    source.fit([left for left, _ in rows])
    target.fit([right for _, right in rows])
    text = task.texts(one[0][0], one[1][0])  # ids of a draw are those of the field
    assert (source.encode(text[0]), target.encode(text[1])) == (one[0][0].tolist(), one[1][0].tolist())


def test_a_task_without_enough_different_rows_says_so() -> None:
    with pytest.raises(UserError, match="nothing new"):
        Copy(width=1, max_length=2, rows=100).splits()


def test_waves() -> None:
    assert np.abs(wave(1, 320)).max() == pytest.approx(1.0)
    assert not np.allclose(wave(1, 320), wave(2, 320))
    train, test = (next(Waveform().splits()[split]) for split in ("train", "test"))
    assert train[1].startswith(test[1])
    assert [len(text.split()) for text in (*train, *test)] == [320, 320, 318, 318]
