"""From a decoder's state to what the vocabulary is scored from. s state, c context, e vector of the previous word.

state     s                                        the lecture's softmax(V s + b)
luong     tanh(W [c ; s])                          Luong et al. 2015, equation 5
deep      tanh(W_s s + W_c c + W_e e)              a deep output layer (Pascanu et al. 2014)
maxout    max over pairs of (U s + V e + C c)      Bahdanau et al. 2015, appendix A.2.2

Inside the bracket of any but the first something may be added that is the same at every step (decoders/inject.py, "merge").

>>> import torch
>>> Readout("maxout", 8, 6, 4, size=5)(torch.zeros(2, 8), torch.zeros(2, 6), torch.zeros(2, 4)).shape
torch.Size([2, 5])
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from xattend.errors import UserError

Kind = Literal["state", "luong", "deep", "maxout"]


class Readout(nn.Module):
    """Works on one step or on all: any leading axes."""

    def __init__(self, kind: Kind, state: int, context: int, embedding: int, size: int) -> None:
        super().__init__()
        self.kind = kind
        self.size = size
        if kind == "state":
            if size != state:
                raise UserError(f"readout = \"state\" is as wide as the decoder ({state}), not {size}: choose another readout")
            return
        width = state + context + (0 if kind == "luong" else embedding)
        self.layer = nn.Linear(width, 2 * size if kind == "maxout" else size)

    @property
    def inner(self) -> int:
        """The width of what is inside the bracket; 0 if there is none."""
        return 0 if self.kind == "state" else self.layer.out_features

    def forward(self, state_BD: Tensor, context_BD: Tensor, embedded_BD: Tensor, merged_BD: Tensor | None = None) -> Tensor:
        if self.kind == "state":
            return state_BD
        parts = [state_BD, context_BD] if self.kind == "luong" else [state_BD, context_BD, embedded_BD]
        mixed: Tensor = self.layer(torch.cat(parts, dim=-1))
        if merged_BD is not None:
            mixed = mixed + merged_BD
        if self.kind == "maxout":
            return torch.unflatten(mixed, -1, (self.size, 2)).amax(dim=-1)
        return torch.tanh(mixed)
