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
from xattend.layers.dropout import Dropout

Cache = tuple[Tensor, Tensor]  # keys and values of the positions already read, each [B, T, D]


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

    def step(self, x_BD: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
        """One new position, which looks at itself and all before it."""
        q, k, v = self.query_key_value(x_BD[:, None]).chunk(3, dim=-1)
        keys_BTD, values_BTD = torch.cat([cache[0], k], dim=1), torch.cat([cache[1], v], dim=1)
        out_BTD = self._attend(self._heads(q), self._heads(keys_BTD), self._heads(values_BTD), None, False)
        return out_BTD[:, 0], (keys_BTD, values_BTD)

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
