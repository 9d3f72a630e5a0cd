"""From a gated unit to attention in four steps (the lecture's ladder). Every rung is causal: h_t sees x_1 ... x_t.

0   h_t = u_t * h_{t-1} + (1 - u_t) * n_t                                       a gated recurrent unit
    unrolled: h_t = (prod_{j<=t} u_j) * h_0 + sum_{i<=t} (prod_{i<j<=t} u_j) * (1 - u_i) * n_i
    that is, a weighted sum of candidates whose weights sum to one: attention a GRU performs without saying so
1   h_t = sum_i a_ti n_i,           a_ti ~ exp(att(n_i, x_t))                   free the weights from the gates
2   h_t = sum_i a_ti f(x_i),        a_ti ~ exp(att(f(x_i), x_t))                free the candidates from the recurrence
3   h_t = sum_i a_ti V f(x_i),      a_ti ~ exp(att(K f(x_i), Q x_t))            separate keys, values and queries
4   h_t = [h_t^1 ; ... ; h_t^H]                                                 several heads: causal self-attention

The lecture prints the unrolled sum of rung 0 with other indices; `implicit_weights` is the corrected form, and a test
holds it to the recurrence. Rungs 2-4 have no recurrence and no positions, so they cannot tell orders apart until
`positions` adds them.

>>> encoder = Ladder(Space(vocabulary=10), size=8, rung=4, heads=2)
>>> encoder(Padded(torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3).bool())).states_BSD.shape
torch.Size([2, 3, 8])
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from xattend.encoders.base import Encoder, symbol_embedding
from xattend.errors import UserError
from xattend.layers.dropout import Dropout
from xattend.layers.positions import Positions
from xattend.registry import register
from xattend.types import Memory, Padded, Space


def implicit_weights(update_BTD: Tensor) -> tuple[Tensor, Tensor]:
    """Weights of the unrolled gated unit: on each candidate, weights_BTTD (row t, candidate i), and on h_0, first_BTD.

    >>> weights, first = implicit_weights(torch.tensor([[[0.5], [0.25]]]))
    >>> weights[0, :, :, 0].tolist(), first[0, :, 0].tolist()
    ([[0.5, 0.0], [0.125, 0.75]], [0.5, 0.125])
    """
    steps = update_BTD.shape[1]
    kept = update_BTD.clamp(min=torch.finfo(update_BTD.dtype).tiny).log().cumsum(dim=1)  # log prod_{j<=t} u_j
    between_BTTD = (kept[:, :, None] - kept[:, None]).exp()  # prod_{i<j<=t} u_j
    causal_TT1 = torch.ones(steps, steps, device=update_BTD.device).tril()[:, :, None].bool()
    weights_BTTD = torch.where(causal_TT1, between_BTTD, 0.0) * (1 - update_BTD)[:, None]
    return weights_BTTD, kept.exp()


@register("encoder", "ladder")
class Ladder(Encoder):
    """One rung of the ladder as an encoder."""

    def __init__(
        self, space: Space, *,
        rung: Annotated[Literal[0, 1, 2, 3, 4], "0 gated unit ... 4 multi-head attention"] = 0,
        size: Annotated[int, "width"] = 128,
        heads: Annotated[int, "of rung 4"] = 4,
        positions: Annotated[Literal["sinusoidal", "learned", "none"], "added to the word vectors"] = "none",
        dropout: Annotated[float, "on word vectors and states"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        if rung == 4 and size % heads:
            raise UserError(f"encoder.heads = {heads} does not divide encoder.size = {size}")
        self.size = size
        self.rung = rung
        self.heads = heads if rung == 4 else 1
        self.embedding = symbol_embedding(space.symbols(), size)
        self.positions = Positions(positions, size, 512)
        self.dropout = Dropout(dropout)
        self.candidate = nn.Linear(size, size)
        if rung <= 1:
            self.recurrent = nn.Linear(size, size, bias=False)
        if rung == 0:
            self.update = nn.Linear(2 * size, size)
        if rung in (1, 2):
            self.query = nn.Linear(size, size, bias=False)
        if rung >= 3:
            self.query_key_value = nn.Linear(size, 3 * size, bias=False)

    def forward(self, source: Padded) -> Memory:
        x_BSD = self.embedding(source.values)
        x_BSD = self.dropout(x_BSD + self.positions(0, x_BSD.shape[1], x_BSD))
        states_BSD = self.dropout(self.read(x_BSD)[0]) * source.mask_BS[:, :, None]
        last_B1D = (source.lengths_B - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, self.size)
        return Memory(states_BSD, source.mask_BS, states_BSD.gather(1, last_B1D).squeeze(1), (x_BSD.shape[1],))

    def read(self, x_BTD: Tensor) -> tuple[Tensor, Tensor]:
        """States and where each looked: states_BTD, weights_BHTT (rung 0: the implicit weights, mean over units)."""
        if self.rung == 0:
            return self._gated(x_BTD)
        if self.rung == 1:
            return self._free_weights(x_BTD)
        values_BTD = torch.tanh(self.candidate(x_BTD))  # f(x_i)
        if self.rung == 2:
            return self._mix(self.query(x_BTD), values_BTD, values_BTD)
        weights = self.query_key_value.weight.chunk(3)
        query, key, value = (nn.functional.linear(v, w) for v, w in zip((x_BTD, values_BTD, values_BTD), weights, strict=True))
        return self._mix(query, key, value)

    def _gated(self, x_BTD: Tensor) -> tuple[Tensor, Tensor]:
        h_BD, states, updates = torch.zeros_like(x_BTD[:, 0]), [], []
        for x_BD in x_BTD.unbind(dim=1):
            u_BD = torch.sigmoid(self.update(torch.cat([x_BD, h_BD], dim=-1)))
            n_BD = torch.tanh(self.candidate(x_BD) + self.recurrent(h_BD))
            h_BD = u_BD * h_BD + (1 - u_BD) * n_BD
            states.append(h_BD)
            updates.append(u_BD)
        weights_BTTD, _ = implicit_weights(torch.stack(updates, dim=1).detach())
        return torch.stack(states, dim=1), weights_BTTD.mean(dim=-1)[:, None]

    def _free_weights(self, x_BTD: Tensor) -> tuple[Tensor, Tensor]:
        h_BD, states, candidates, seen = torch.zeros_like(x_BTD[:, 0]), [], [], []
        for x_BD, query_BD in zip(x_BTD.unbind(dim=1), self.query(x_BTD).unbind(dim=1), strict=True):
            candidates.append(torch.tanh(self.candidate(x_BD) + self.recurrent(h_BD)))
            n_BTD = torch.stack(candidates, dim=1)
            weights_BT = ((n_BTD @ query_BD[:, :, None]).squeeze(-1) / math.sqrt(self.size)).softmax(dim=-1)
            h_BD = (weights_BT[:, None] @ n_BTD).squeeze(1)
            states.append(h_BD)
            seen.append(nn.functional.pad(weights_BT, (0, x_BTD.shape[1] - len(candidates))))
        return torch.stack(states, dim=1), torch.stack(seen, dim=1)[:, None]

    def _mix(self, query_BTD: Tensor, key_BTD: Tensor, value_BTD: Tensor) -> tuple[Tensor, Tensor]:
        query, key, value = (
            torch.unflatten(part, -1, (self.heads, -1)).transpose(1, 2) for part in (query_BTD, key_BTD, value_BTD)
        )
        scores_BHTT = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        future_TT = torch.ones(scores_BHTT.shape[-2:], device=scores_BHTT.device).triu(1).bool()
        weights_BHTT = scores_BHTT.masked_fill(future_TT, -torch.inf).softmax(dim=-1)
        return (weights_BHTT @ value).transpose(1, 2).flatten(2), weights_BHTT
