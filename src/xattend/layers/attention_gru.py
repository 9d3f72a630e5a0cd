"""A GRU whose update gate is the attention (Xiong et al. 2016): what it has read in the end is the context, in the order of the facts.

    r_i = sigmoid(W_r x_i + U_r h_{i-1})
    n_i = tanh(W x_i + r_i * (U h_{i-1} + b))
    h_i = g_i n_i + (1 - g_i) h_{i-1}           g_i is the weight of fact i

A plain GRU does it (cells/sequence.py): its update gate is sigmoid of a sum, so that sum is log((1 - g) / g), with no product of its own.
`one_by_one` is the reference. A gate is kept within 1e-6 of 0 and 1; a fact of weight 0 (padding) changes the state by no more than that.

>>> episode = AttentionGRU(3, 4)
>>> episode(torch.randn(2, 5, 3), torch.full((2, 5), 0.2)).shape
torch.Size([2, 4])

Shapes: B batch, S facts, D width of a fact, Q of the state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from xattend.cells.sequence import gru

LEAST = 1e-6


class AttentionGRU(nn.Module):
    """From facts and their gates to one vector."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.input = nn.Linear(input_size, 2 * size)  # reset and candidate
        self.recurrent = nn.Linear(size, 2 * size)
        for part in (self.input, self.recurrent):
            for gate in part.weight.chunk(2):
                nn.init.xavier_uniform_(gate)
            nn.init.zeros_(part.bias)

    def forward(self, facts_BSD: Tensor, gates_BS: Tensor) -> Tensor:
        gates_BS1 = gates_BS.clamp(LEAST, 1 - LEAST)[:, :, None]
        kept_BS1 = torch.log1p(-gates_BS1) - torch.log(gates_BS1)
        reset_BSQ, candidate_BSQ = self.input(facts_BSD).to(kept_BS1.dtype).chunk(2, dim=2)
        sums_BSG = torch.cat([reset_BSQ, kept_BS1.expand_as(reset_BSQ), candidate_BSQ], dim=2)
        return gru(sums_BSG, sums_BSG.new_zeros(len(sums_BSG), self.size), self._between(self.recurrent.weight), self._between(self.recurrent.bias))[:, -1]

    @staticmethod
    def _between(two: Tensor) -> Tensor:
        """Reset and candidate with nothing for the update gate between them, as a GRU wants it."""
        reset, candidate = two.chunk(2)
        return torch.cat([reset, torch.zeros_like(reset), candidate])

    def one_by_one(self, facts_BSD: Tensor, gates_BS: Tensor) -> Tensor:
        state_BQ = facts_BSD.new_zeros(len(facts_BSD), self.size)
        for fact_BD, gate_B in zip(facts_BSD.unbind(1), gates_BS.unbind(1), strict=True):
            (x_r, x_n), (h_r, h_n) = self.input(fact_BD).chunk(2, dim=1), self.recurrent(state_BQ).chunk(2, dim=1)
            new_BQ = torch.tanh(x_n + torch.sigmoid(x_r + h_r) * h_n)
            state_BQ = torch.lerp(state_BQ, new_BQ, gate_B[:, None])
        return state_BQ
