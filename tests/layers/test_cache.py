"""The cache of a Transformer's decoder against the plain way: copy what a row has read whenever the row moves."""

from __future__ import annotations

import math
import random

import pytest
import torch
from torch import Tensor

from xattend.layers.cache import ROOM, Cache

CPU = torch.device("cpu")
LAYERS, HEADS = 2, 2  # layer 1 holds layer 0's vectors twice as large; values are minus keys


def append(cache: Cache, new_ND: Tensor) -> Cache:
    """One more position in every layer, as a decoder writes it."""
    cache = cache.grow()
    new_BHKd = new_ND.view(-1, cache.width, HEADS, new_ND.shape[1] // HEADS).transpose(1, 2)
    for layer in range(LAYERS):
        keys_BHMd, values_BHMd = cache.put(layer, torch.stack([new_BHKd, -new_BHKd]) * (layer + 1))
        assert torch.equal(keys_BHMd, -values_BHMd)
    return cache


def keys(cache: Cache, layer: int) -> Tensor:
    """keys_BMD of a layer, heads side by side."""
    return cache._filled()[layer][0].transpose(1, 2).flatten(2) / (layer + 1)


def seen(cache: Cache, row: int, layer: int) -> Tensor:
    """The keys that a row may look at, in order."""
    sentence, beam = divmod(row, cache.width)
    visible_BKM = cache.visible_BKM
    keys_MD = keys(cache, layer)[sentence]
    return keys_MD if visible_BKM is None else keys_MD[visible_BKM[sentence, beam]]


def check(cache: Cache, plain_NTD: Tensor) -> None:
    assert cache.rows == len(plain_NTD)
    assert cache.length == plain_NTD.shape[1]
    for row in range(len(plain_NTD)):
        for layer in range(LAYERS if cache.slots else 0):
            assert torch.equal(seen(cache, row, layer), plain_NTD[row])


@pytest.mark.parametrize("seed", range(20))
def test_any_sequence_of_moves(seed: int) -> None:
    draw = random.Random(seed)
    torch.manual_seed(seed)
    width, sentences = draw.choice([1, 2, 5]), 3
    with torch.inference_mode():
        cache, plain_NTD = Cache(sentences, CPU), torch.zeros(sentences, 0, 4)
        for _ in range(draw.choice([0, 2])):  # a prefix, read before there are beams
            new = torch.randn(sentences, 4)
            cache, plain_NTD = append(cache, new), torch.cat([plain_NTD, new[:, None]], dim=1)
        cache, plain_NTD = cache.repeat(width), plain_NTD.repeat_interleave(width, dim=0)
        for _ in range(ROOM + 9):
            new = torch.randn(len(plain_NTD), 4)
            cache, plain_NTD = append(cache, new), torch.cat([plain_NTD, new[:, None]], dim=1)
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
        before = append(Cache(2, CPU), torch.zeros(2, 4))
        one, other = append(before, torch.ones(2, 4)), append(before, torch.full((2, 4), 2.0))
    assert keys(one, 0)[:, 1].eq(1).all()
    assert keys(other, 0)[:, 1].eq(2).all()
    assert keys(before, 0).shape == (2, 1, 4)


def test_the_mask_is_that_of_the_slots_a_beam_descends_from() -> None:
    with torch.inference_mode():
        cache = append(append(Cache(1, CPU).repeat(2), torch.randn(2, 4)).take(torch.tensor([1, 1])), torch.randn(2, 4))
        bias_B1KM = cache.bias_like(torch.zeros(1))
    assert bias_B1KM is not None
    assert bias_B1KM.tolist() == [[[[-math.inf, 0.0, 0.0, -math.inf], [-math.inf, 0.0, -math.inf, 0.0]]]]
    assert append(Cache(1, CPU), torch.randn(1, 4)).bias_like(torch.zeros(1)) is None


def test_gradients_go_through_it() -> None:
    first, second = torch.randn(2, 4, requires_grad=True), torch.randn(2, 4, requires_grad=True)
    cache = append(append(Cache(2, CPU), first), second)
    (keys(cache, 0) ** 2).sum().backward()
    assert first.grad is not None
    torch.testing.assert_close(first.grad, 2 * first)
