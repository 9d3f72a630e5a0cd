"""softmax(q k / sqrt(d) + bias) v for many queries and heads at once, by whichever of two ways is faster.

torch's fused kernel never holds the scores, which pays for long sequences. For the short ones of sentences and words it
spends most of its time on other things: two batched products with a softmax between them take about 60 % of its time on
a CPU, forwards and backwards (15 positions, 270 rows, 4 heads of 64: 15 ms against 24).

Shapes: B batch, H heads, T queries, S positions, d width of a head.

>>> q, k, v = torch.randn(3, 2, 4, 5, 8)
>>> torch.allclose(attend(q, k, v, causal=True), F.scaled_dot_product_attention(q, k, v, is_causal=True), atol=1e-6)
True
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.layers.dropout import drop

SHORT = 64 * 64  # scores of one head up to which the plain way is the faster one


def bias_of(seen: Tensor, like: Tensor) -> Tensor:
    """0 where a mask is True, else minus infinity: what `attend` adds to its scores."""
    return like.new_zeros(seen.shape).masked_fill_(~seen, -torch.inf)


def padding_bias(mask_BS: Tensor, like: Tensor) -> Tensor | None:
    """bias_B11S for a padding mask; None without padding. A row without any real position sees everything, for the softmax would
    give NaN: whoever asks masks what comes out of it."""
    if bool(mask_BS.all()):
        return None
    return bias_of((mask_BS | ~mask_BS.any(dim=1, keepdim=True))[:, None, None], like)


def attend(
    query_BHTd: Tensor, keys_BHSd: Tensor, values_BHSd: Tensor,
    *, bias_BHTS: Tensor | None = None, causal: bool = False, dropout: float = 0.0,
) -> Tensor:  # fmt: skip
    """mixed_BHTd. With `causal` query t sees positions 0 .. t; `dropout` is on the weights."""
    steps, positions = query_BHTd.shape[2], keys_BHSd.shape[2]
    if steps * positions > SHORT:
        return F.scaled_dot_product_attention(
            query_BHTd, keys_BHSd, values_BHSd, attn_mask=bias_BHTS, dropout_p=dropout, is_causal=causal
        )
    scores_BHTS = query_BHTd / math.sqrt(query_BHTd.shape[3]) @ keys_BHSd.transpose(2, 3)
    if causal:
        bias_BHTS = query_BHTd.new_full((steps, positions), -torch.inf).triu_(1)
    if bias_BHTS is not None:
        scores_BHTS = scores_BHTS.add_(bias_BHTS)  # in place: a product does not need its result for its gradient
    return drop(scores_BHTS.softmax(dim=-1), dropout) @ values_BHSd
