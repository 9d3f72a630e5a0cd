"""Temporal links (Graves et al. 2016): what was written after what, so that a head can read on, or back, in the order of writing.

    L[i, j] = (1 - w_i - w_j) L[i, j] + w_i p[j],   L[i, i] = 0        i was written after j
    p       = (1 - sum_i w_i) p + w                                     where was written last
    f = L r,   b = L^T r                                                on and back from where the head read before
    w = pi_1 b + pi_2 w_found + pi_3 f,   pi = softmax

>>> import torch
>>> links_BNN, last_BN = torch.zeros(1, 3, 3), torch.tensor([[1.0, 0.0, 0.0]])  # slot 0 was written
>>> links_BNN, last_BN = linked(links_BNN, last_BN, torch.tensor([[0.0, 0.0, 1.0]]))  # then slot 2
>>> links_BNN[0].tolist(), last_BN.tolist()
([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]])
"""

from __future__ import annotations

from torch import Tensor

from xattend.addressing.base import Addressing, PartState, Seen
from xattend.registry import register


def linked(links_BNN: Tensor, last_BN: Tensor, write_BN: Tensor) -> tuple[Tensor, Tensor]:
    """Links and where was written last, after a write."""
    to_BN1, from_B1N = write_BN[:, :, None], write_BN[:, None]
    links_BNN = links_BNN * ((1 - to_BN1) - from_B1N) + to_BN1 * last_BN[:, None]
    no_loops_BNN = links_BNN - links_BNN.diagonal(dim1=1, dim2=2).diag_embed()
    return no_loops_BNN, last_BN - last_BN * write_BN.sum(dim=-1, keepdim=True) + write_BN


@register("addressing", "links")
class Links(Addressing):
    """Back in the order of writing, the slots found, or on."""

    one_write, group = True, "read"
    numbers = 3

    def start(self, batch: int, slots: int, like: Tensor) -> PartState:
        return {"links": like.new_zeros(batch, slots, slots), "written": like.new_zeros(batch, slots)}

    def forward(self, numbers_BHP: Tensor, weights_BHN: Tensor, seen: Seen, state: PartState) -> tuple[Tensor, PartState]:
        links_BNN, written_BN = linked(state["links"], state["written"], seen.writes_BWN[:, 0])
        modes_BHP = numbers_BHP.softmax(dim=-1)
        back_BHN, on_BHN = seen.last_BHN @ links_BNN, seen.last_BHN @ links_BNN.transpose(1, 2)
        mixed_BHN = modes_BHP[..., :1] * back_BHN + modes_BHP[..., 1:2] * weights_BHN + modes_BHP[..., 2:] * on_BHN
        return mixed_BHN, {**state, "links": links_BNN, "written": written_BN}
