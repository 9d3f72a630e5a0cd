"""What Transformer encoders and decoders are made of: self-attention, feed-forward, and the residual around each.

    post-norm (the paper)   x = LayerNorm(x + Sublayer(x))
    pre-norm                x = x + Sublayer(LayerNorm(x))      trains without warm-up

Shapes: B batch, T positions, S positions looked at, H heads, d width of a head, D width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend.errors import UserError
from xattend.layers.cache import Cache
from xattend.layers.dropout import Dropout


class SelfAttention(nn.Module):
    """Every position looks at every position it is allowed to see, through torch's fused kernel."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        if width % heads:
            raise UserError(f"heads = {heads} does not divide the width {width}")
        self.heads = heads
        self.dropout = dropout
        self.query_key_value = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def _heads(self, vectors_BTD: Tensor) -> Tensor:
        return torch.unflatten(vectors_BTD, -1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x_BTD: Tensor, mask_BTS: Tensor | None, *, causal: bool = False) -> Tensor:
        q, k, v = (self._heads(part) for part in self.query_key_value(x_BTD).chunk(3, dim=-1))
        return self._attend(q, k, v, None if mask_BTS is None else mask_BTS[:, None], causal)

    def step(self, x_ND: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
        """One new position a row, which looks at itself and all before it. N = B x K, the K beams of B sentences."""
        query_ND, key_ND, value_ND = self.query_key_value(x_ND).chunk(3, dim=-1)
        cache = cache.append(key_ND, value_ND)
        query_BKD = torch.unflatten(query_ND, 0, (-1, cache.width))
        mask_BKM = cache.visible_BKM
        mask_B1KM = None if mask_BKM is None else mask_BKM[:, None]
        out_BKD = self._attend(self._heads(query_BKD), self._heads(cache.keys_BMD), self._heads(cache.values_BMD), mask_B1KM, False)
        return out_BKD.flatten(0, 1), cache

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask_BHTS: Tensor | None, causal: bool) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        mixed_BHTd = F.scaled_dot_product_attention(q, k, v, attn_mask=mask_BHTS, dropout_p=dropout, is_causal=causal)
        out_BTD: Tensor = self.out(mixed_BHTd.transpose(1, 2).flatten(2))
        return out_BTD


class FeedForward(nn.Sequential):
    """The same two-layer perceptron at every position."""

    def __init__(self, width: int, inner: int, dropout: float) -> None:
        super().__init__(nn.Linear(width, inner), nn.ReLU(), Dropout(dropout), nn.Linear(inner, width))


class Residual(nn.Module):
    """A sublayer with its shortcut, dropout and layer norm, before or after."""

    def __init__(self, width: int, dropout: float, pre_norm: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)
        self.pre_norm = pre_norm

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Any]) -> tuple[Tensor, Any]:
        """The new x, and whatever else the sublayer gives (it answers a tensor, or a tensor and something)."""
        answer = sublayer(self.norm(x) if self.pre_norm else x)
        change, extra = answer if isinstance(answer, tuple) else (answer, None)
        x = x + self.dropout(change)
        return (x if self.pre_norm else self.norm(x)), extra
