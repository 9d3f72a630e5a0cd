"""How one vector of the whole source, I, enters a recurrent decoder: seven ways to write a caption without attention, as one setting.

none     not at all, but for the initial state (bridge) and the context of attention
state    the initial state, s_0 = tanh(W I + b)                     the lecture's option 1: decoder.bridge, and nothing more
every    beside the word at every step, s_t = cell([I ; e_t], s_{t-1})   the lecture's option 2. Attention every-step does the same and
                                                                    gives I to the readout, too
first    as the first input, x_{-1} = W I, before BOS               Show and Tell (Vinyals et al. 2015)
bias     beside the word at the first step only                     Karpathy and Fei-Fei 2015
merge    never in the recurrence, but before the softmax at every step, m_t = g(V_w e_t + V_r s_t + V_I I)   m-RNN (Mao et al. 2015)
second   into the second layer at every step; the first reads words alone   LRCN (Donahue et al. 2015)
memory   every, and beside it a visual memory of what was said, u_t = tanh(W e_t + U u_{t-1}), which must give the picture back:
         R u_t + b close to I at every step                         Chen and Zitnick 2015

`beside` is asked for one step or for all, so a decoder's fast ways and its single steps read the same.

Shapes: B batch, T target steps, D the summary's width, E word vectors, I what stands beside a word, U visual memory.

>>> karpathy = Inject("bias", summary=2, embedding=3, merged=5, size=4)
>>> fixed_BD, moving_BD = karpathy.start(torch.ones(1, 2))
>>> karpathy.beside(torch.zeros(1, 3, 3), fixed_BD, moving_BD)[0].tolist()
[[[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]]
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from xattend import registry
from xattend.cells.rnn import TanhRNN
from xattend.cells.stack import Stack, StackState

Kind = Literal["none", "state", "every", "first", "bias", "merge", "second", "memory"]


class Inject(nn.Module):
    """What the decoder is given of I, in two halves like its state: what stays for all steps, and what moves with them."""

    def __init__(self, kind: Kind, *, summary: int, embedding: int, merged: int, size: int) -> None:
        super().__init__()
        self.kind = kind
        self.size = {"every": summary, "bias": summary, "second": summary, "memory": summary + size}.get(kind, 0)
        self.view: nn.Linear | None = None
        if kind in ("first", "merge"):
            self.view = nn.Linear(summary, embedding if kind == "first" else merged, bias=kind == "first")
        self.recall = TanhRNN(embedding, size) if kind == "memory" else None
        self.rebuild = nn.Linear(size, summary) if kind == "memory" else None

    def start(self, summary_BD: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """(what stays, what moves) before the first word."""
        if self.kind == "bias":
            return None, summary_BD
        if self.kind == "merge" and self.view is not None:
            return self.view(summary_BD), None
        recalled_BU = None if self.recall is None else self.recall.start(len(summary_BD))[0]
        return summary_BD if self.size else None, recalled_BU

    def first(self, summary_BD: Tensor) -> Tensor | None:
        """What is read before BOS, in place of a word's vector."""
        if self.kind != "first" or self.view is None:
            return None
        word_BE: Tensor = self.view(summary_BD)
        return word_BE

    def beside(self, embedded_BTE: Tensor, fixed_BD: Tensor | None, moving: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """What stands beside each of these words, beside_BTI (None: nothing), and what moves on."""
        steps = embedded_BTE.shape[1]
        if self.kind == "bias":
            assert moving is not None
            later_BD = torch.zeros_like(moving)
            return torch.stack([moving, *[later_BD] * (steps - 1)], dim=1), later_BD
        if not self.size or fixed_BD is None:
            return None, moving
        same_BTD = fixed_BD[:, None].expand(-1, steps, -1)
        if self.recall is None:
            return same_BTD, moving
        assert moving is not None
        recalled_BTU, (last_BU,) = self.recall.unroll(embedded_BTE, (moving,))
        return torch.cat([same_BTD, recalled_BTU], dim=-1), last_BU

    def merged(self, fixed_BD: Tensor | None) -> Tensor | None:
        """What is added inside the readout at every step."""
        return fixed_BD if self.kind == "merge" else None

    def missing(self, embedded_BTE: Tensor, summary_BD: Tensor) -> Tensor | None:
        """How far the visual memory is from the picture after each word: the mean square over I's units, missing_BT.

        I is a constant here: a picture that learns to be easily rebuilt would have nothing in it.
        """
        if self.recall is None or self.rebuild is None:
            return None
        recalled_BTU, _ = self.recall.unroll(embedded_BTE, self.recall.start(len(summary_BD)))
        off_BTD: Tensor = self.rebuild(recalled_BTU) - summary_BD.detach()[:, None]
        return off_BTD.square().mean(dim=-1)


class Factored(Stack):
    """LRCN's stack: the first columns of the input, the picture, go past the first layer and into the second.

    >>> stack = Factored(2, "lstm", 5, 4, layers=2)
    >>> [cell.input.in_features for cell in stack.cells]
    [3, 6]
    """

    def __init__(
        self, picture: int, cell: str, input_size: int, size: int, *,
        layers: int, dropout: float = 0.0, layer_norm: bool = False, residual: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(cell, input_size - picture, size, layers=layers, dropout=dropout, layer_norm=layer_norm, residual=residual)
        self.picture = picture
        self.cells[1] = registry.build("cell", cell, size + picture, size, layer_norm=layer_norm)

    def _below(self, level: int, value: Tensor, picture: Tensor) -> Tensor:
        """What a layer reads."""
        below = value if level == 0 else self.dropout(value)
        return torch.cat([below, picture], dim=-1) if level == 1 else below

    def forward(self, input_BD: Tensor, state: StackState) -> tuple[Tensor, StackState]:
        picture_BD, value, new = input_BD[..., : self.picture], input_BD[..., self.picture :], []
        for level, (cell, old) in enumerate(zip(self._layers(), state, strict=True)):
            new.append(cell(self._below(level, value, picture_BD), old))
            value = self._up(level, value, new[-1][0])
        return value, tuple(new)

    def unroll(self, inputs_BTD: Tensor, state: StackState, mask_BT: Tensor | None = None) -> tuple[Tensor, StackState]:
        picture_BTD, value, last = inputs_BTD[..., : self.picture], inputs_BTD[..., self.picture :], []
        for level, (cell, old) in enumerate(zip(self._layers(), state, strict=True)):
            outputs_BTD, final = cell.unroll(self._below(level, value, picture_BTD), old, mask_BT)
            last.append(final)
            value = self._up(level, value, outputs_BTD)
        return value, tuple(last)
