"""Dot-product attention by two products against torch's fused kernel, forwards and backwards."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from xattend.errors import UserError
from xattend.layers import dot_attention
from xattend.layers.transformer import SelfAttention


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [7, 70])  # 70 x 70 scores are more than SHORT: torch's kernel
def test_both_ways_are_one_function(length: int, causal: bool) -> None:
    torch.manual_seed(1)
    q, k, v = (torch.randn(3, 2, length, 8, requires_grad=True) for _ in range(3))
    seen = torch.arange(length)[None] < torch.tensor([length, length - 2, 1])[:, None]
    bias = None if causal else dot_attention.bias_of(seen[:, None, None], q)
    ours = dot_attention.attend(q, k, v, bias_BHTS=bias, causal=causal)
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=None if causal else seen[:, None, None], is_causal=causal)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    for mine, other in zip(torch.autograd.grad(ours.square().sum(), (q, k, v)), torch.autograd.grad(theirs.square().sum(), (q, k, v))):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-4)


def test_dropout_is_on_the_weights() -> None:
    q, k, v = torch.randn(3, 2, 2, 5, 8)
    torch.manual_seed(1)
    mean = torch.stack([dot_attention.attend(q, k, v, dropout=0.5) for _ in range(3000)]).mean(dim=0)
    torch.testing.assert_close(mean, dot_attention.attend(q, k, v), atol=0.15, rtol=0.1)
    assert not torch.equal(dot_attention.attend(q, k, v, dropout=0.5), dot_attention.attend(q, k, v))


def test_narrow_keys_are_scaled_by_their_own_width() -> None:
    """key = 2 in heads of 4: the same as projecting to 2 and dividing by its root."""
    torch.manual_seed(1)
    layer = SelfAttention(8, 2, 0.0, key=2)
    x_BTD = torch.randn(3, 5, 8)
    query, key, value = layer.query_key_value(x_BTD).split([4, 4, 8], dim=-1)
    q, k, v = (side.view(3, 5, 2, -1).transpose(1, 2) for side in (query, key, value))
    mixed = (q @ k.transpose(2, 3) / 2**0.5).softmax(-1) @ v
    torch.testing.assert_close(layer(x_BTD, None), layer.out(mixed.transpose(1, 2).flatten(2)))


def test_a_key_wider_than_its_head_is_refused() -> None:
    with pytest.raises(UserError, match="key = 5"):
        SelfAttention(8, 2, 0.0, key=5)
