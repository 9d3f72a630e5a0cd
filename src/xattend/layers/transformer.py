"""What Transformer encoders and decoders are made of: self-attention, feed-forward, and the residual around each.

    post-norm (the paper)   x = LayerNorm(x + Sublayer(x))
    pre-norm                x = x + Sublayer(LayerNorm(x))      trains without warm-up

Shapes: B batch, T positions, S positions looked at, H heads, d width of a head, D width.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend.errors import UserError
from xattend.layers import dot_attention
from xattend.layers.cache import Cache
from xattend.layers.dropout import Dropout


class SelfAttention(nn.Module):
    """Every position looks at every position it is allowed to see."""

    def __init__(self, width: int, heads: int, dropout: float, key: int | None = None) -> None:
        super().__init__()
        if width % heads:
            raise UserError(f"heads = {heads} does not divide the width {width}")
        self.heads, self.value = heads, width // heads
        self.key = key or self.value
        if self.key > self.value:
            raise UserError(f"key = {key} is more than a head's width, {width} / {heads}")
        self.dropout = dropout
        self.query_key_value = nn.Linear(width, heads * (2 * self.key + self.value))
        self.out = nn.Linear(width, width)

    def forward(self, x_BTD: Tensor, bias_B1TS: Tensor | None, *, causal: bool = False) -> Tensor:
        q, k, v = self._split(x_BTD).unbind()
        return self._attend(q, k, v, bias_B1TS, causal)

    def step(self, x_ND: Tensor, cache: Cache, layer: int) -> Tensor:
        """One new position a row, which looks at itself and all before it. N = B x K, the K beams of B sentences."""
        qkv_3BHKd = self._split(x_ND.view(-1, cache.width, x_ND.shape[1]))
        keys_BHMd, values_BHMd = cache.put(layer, qkv_3BHKd[1:])
        out_BKD = self._attend(qkv_3BHKd[0], keys_BHMd, values_BHMd, cache.bias_like(x_ND), False)
        return out_BKD.view(x_ND.shape)

    def _split(self, x_BTD: Tensor) -> Tensor:
        """Queries, keys and values, head by head: [3, B, H, T, d]. Narrow keys are filled up with zeros: the cache has one width."""
        batch, length, _ = x_BTD.shape
        qkv: Tensor = self.query_key_value(x_BTD)
        if self.key < self.value:
            sides = torch.split(qkv, [self.heads * size for size in (self.key, self.key, self.value)], dim=-1)
            query, key, value = (side.view(batch, length, self.heads, -1) for side in sides)
            # `attend` divides by the root of the filled width
            query = query * math.sqrt(self.value / self.key)
            room = (0, self.value - self.key)
            return torch.stack([F.pad(query, room), F.pad(key, room), value]).transpose(2, 3)
        return qkv.view(batch, length, 3, self.heads, self.value).permute(2, 0, 3, 1, 4)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, bias_BHTS: Tensor | None, causal: bool) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        mixed_BHTd = dot_attention.attend(q, k, v, bias_BHTS=bias_BHTS, causal=causal, dropout=dropout)
        out_BTD: Tensor = self.out(mixed_BHTd.transpose(1, 2).flatten(2))
        return out_BTD


class FeedForward(nn.Module):
    """The same two-layer perceptron at every position."""

    def __init__(self, width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Linear(width, inner), nn.Linear(inner, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        narrow: Tensor = self.narrow(self.dropout.after_relu(self.widen(x)))
        return narrow


class Residual(nn.Module):
    """The shortcut around a sublayer, with dropout and layer norm: x = after(x, sublayer(before(x)))."""

    def __init__(self, width: int, dropout: float, pre_norm: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)
        self.pre_norm = pre_norm

    def before(self, x: Tensor) -> Tensor:
        """What the sublayer reads."""
        return self.norm(x) if self.pre_norm else x

    def after(self, x: Tensor, change: Tensor) -> Tensor:
        """The new x, from the old one and what the sublayer wrote."""
        x = x + self.dropout(change)
        return x if self.pre_norm else self.norm(x)
