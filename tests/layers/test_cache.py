"""The cache of a Transformer's decoder against the plain way: copy what a row has read whenever the row moves."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from xattend.layers.cache import ROOM, Cache


def seen(cache: Cache, row: int) -> Tensor:
    """The keys that a row may look at, in order."""
    sentence, beam = divmod(row, cache.width)
    visible_BKM = cache.visible_BKM
    keys_MD = cache.keys_BMD[sentence]
    return keys_MD if visible_BKM is None else keys_MD[visible_BKM[sentence, beam]]


def check(cache: Cache, plain_NTD: Tensor) -> None:
    assert cache.rows == len(plain_NTD)
    assert cache.length == plain_NTD.shape[1]
    for row in range(len(plain_NTD)):
        assert torch.equal(seen(cache, row), plain_NTD[row])


@pytest.mark.parametrize("seed", range(20))
def test_any_sequence_of_moves(seed: int) -> None:
    draw = random.Random(seed)
    torch.manual_seed(seed)
    width, sentences = draw.choice([1, 2, 5]), 3
    with torch.inference_mode():
        cache, plain_NTD = Cache(sentences), torch.zeros(sentences, 0, 4)
        for _ in range(draw.choice([0, 2])):  # a prefix, read before there are beams
            new = torch.randn(sentences, 4)
            cache, plain_NTD = cache.append(new, -new), torch.cat([plain_NTD, new[:, None]], dim=1)
        cache, plain_NTD = cache.repeat(width), plain_NTD.repeat_interleave(width, dim=0)
        for _ in range(ROOM + 9):
            new = torch.randn(len(plain_NTD), 4)
            cache, plain_NTD = cache.append(new, -new), torch.cat([plain_NTD, new[:, None]], dim=1)
            assert torch.equal(cache.values_BMD, -cache.keys_BMD)
            check(cache, plain_NTD)
            groups = len(plain_NTD) // width
            stay = sorted(draw.sample(range(groups), max(1, groups - (draw.random() < 0.05))))
            order = torch.tensor([g * width + draw.randrange(width) for g in stay for _ in range(width)])
            cache, plain_NTD = cache.take(order), plain_NTD[order]
            check(cache, plain_NTD)
        order = torch.tensor([draw.randrange(len(plain_NTD)) for _ in range(2 * width + 1)])  # across sentences
        check(cache.take(order), plain_NTD[order])
        check(cache.repeat(2), plain_NTD.repeat_interleave(2, dim=0))


def test_two_ways_on_from_one_state_do_not_disturb_each_other() -> None:
    with torch.inference_mode():
        before = Cache(2).append(torch.zeros(2, 4), torch.zeros(2, 4))
        one, other = before.append(torch.ones(2, 4), torch.ones(2, 4)), before.append(torch.full((2, 4), 2.0), torch.ones(2, 4))
    assert one.keys_BMD[:, 1].eq(1).all()
    assert other.keys_BMD[:, 1].eq(2).all()
    assert before.keys_BMD.shape == (2, 1, 4)


def test_gradients_go_through_it() -> None:
    first, second = torch.randn(2, 4, requires_grad=True), torch.randn(2, 4, requires_grad=True)
    cache = Cache(2).append(first, first).append(second, second)
    (cache.keys_BMD**2).sum().backward()
    assert first.grad is not None
    torch.testing.assert_close(first.grad, 2 * first)
