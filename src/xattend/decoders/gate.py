"""How much of what was looked at is let through (Xu et al. 2015, section 4.2.1): a scalar a step, from the state that looked.

    beta_t = sigmoid(w . query_t + b)        c_t = beta_t sum_j a_tj value_j

The query is s_{t-1} where a decoder looks before its update, as in the paper; s'_t between two updates; s_t after one. So a decoder
may turn to the picture for "dog" and rely on what it has written for "of the".

>>> gate = Gate(4)
>>> _ = nn.init.zeros_(gate.layer.weight), nn.init.zeros_(gate.layer.bias)
>>> gate(torch.randn(2, 4), torch.ones(2, 3)).tolist()
[[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Gate(nn.Module):
    """Multiplies a context by a number between 0 and 1. Any leading axes."""

    def __init__(self, query_size: int) -> None:
        super().__init__()
        self.layer = nn.Linear(query_size, 1)

    def forward(self, query_BQ: Tensor, context_BD: Tensor) -> Tensor:
        return torch.sigmoid(self.layer(query_BQ)) * context_BD
