"""Weights of 8 bits."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.contracts import samples
from xattend.decoders.rnn import RNN
from xattend.decoders.transformer import Transformer
from xattend.layers.int8 import Int8Linear, to_int8
from xattend.types import Space


@pytest.mark.parametrize("bias", [True, False])
def test_close_to_the_exact_layer(bias: bool) -> None:
    torch.manual_seed(1)
    layer, x = nn.Linear(300, 200, bias=bias), torch.randn(7, 3, 300)
    error = (Int8Linear(layer)(x) - layer(x)).abs()
    assert error.mean() < 0.02 * layer(x).std()
    assert error.max() > 0  # it is not the exact layer under another name


def test_rows_of_very_different_size_have_scales_of_their_own() -> None:
    layer = nn.Linear(100, 2, bias=False)
    with torch.no_grad():
        layer.weight[0] *= 1000
    x = torch.randn(50, 100)
    error = (Int8Linear(layer)(x) - layer(x)).abs().mean(dim=0)
    assert bool((error < 0.03 * layer(x).std(dim=0)).all())


def test_weights_laid_out_by_columns() -> None:
    layer, x = nn.Linear(30, 20), torch.randn(5, 30)
    by_rows = Int8Linear(layer)(x)
    layer.weight.data = layer.weight.data.t().contiguous().t()
    torch.testing.assert_close(Int8Linear(layer)(x), by_rows)


def test_a_row_of_zeros() -> None:
    layer = nn.Linear(4, 3)
    nn.init.zeros_(layer.weight)
    torch.testing.assert_close(Int8Linear(layer)(torch.randn(2, 4)), layer.bias.expand(2, 3).detach())


@pytest.mark.parametrize("kind", [RNN, Transformer])
def test_a_decoder_steps_with_it(kind: type) -> None:
    torch.manual_seed(1)
    part = kind(Space(vocabulary=samples.VOCABULARY), samples.WIDTH, lambda size: samples.attention("multi-head", size), size=16).eval()
    memory, token = samples.memory(), samples.target()[:, 0]
    with torch.inference_mode():
        exact = part.step(token, part.start(memory)).logits_BV
        weights = sum(p.numel() for p in part.parameters())
        assert to_int8(part) > 3
        rough = part.step(token, part.start(memory)).logits_BV
    assert sum(p.numel() for p in part.parameters()) == weights
    assert 0 < (exact - rough).abs().max() < 0.2 * exact.std() + 0.05
