"""Oracle attention: the weights are given, not learned (the lecture's hand-set rows for "Main ghar ja raha hoon").

given      row t of `memory.given_BTS`; steps past the last row repeat it
diagonal   step t looks at position t       reversed   step t looks at position S - 1 - t
uniform    every step looks everywhere

`given` serves from Python, to edit or supervise an alignment; the patterns serve in recipes, as controls.

>>> import torch
>>> rows = torch.tensor([[[1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0.5, 0.5, 0], [0, 1, 0, 0, 0]]])
>>> memory = Memory(torch.eye(5)[None], torch.ones(1, 5, dtype=torch.bool), torch.zeros(1, 5), given_BTS=rows)
>>> oracle = Oracle(8, 5)
>>> bound = oracle.bind(memory)
>>> oracle.attend_all(torch.zeros(1, 3, 8), bound, oracle.start(bound))[0][0, 2].tolist()
[0.0, 0.0, 0.5, 0.5, 0.0]
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor

from xattend.attention.base import Attention, Bound
from xattend.errors import UserError
from xattend.registry import register
from xattend.tree import Tree
from xattend.types import Memory


@register("attention", "oracle")
class Oracle(Attention):
    """Weights from outside. Padding is masked and rows are brought back to a sum of one."""

    stateful = True
    reads_query = False

    def __init__(
        self, query_size: int, memory_size: int, *,
        pattern: Annotated[Literal["given", "diagonal", "reversed", "uniform"], "where the weights come from"] = "given",
    ) -> None:  # fmt: skip
        super().__init__(query_size, memory_size)
        self.pattern = pattern

    def bind(self, memory: Memory) -> Bound:
        if self.pattern == "given" and memory.given_BTS is None:
            raise UserError("oracle attention needs weights: give memory.given_BTS, or set attention.pattern to a pattern")
        return super().bind(memory)._replace(extra=memory.given_BTS if self.pattern == "given" else None)

    def start(self, bound: Bound) -> Tree:
        return bound.mask_BS.new_zeros(len(bound.mask_BS), dtype=torch.long)

    def score(self, query_BTQ: Tensor, bound: Bound, state: Tree) -> Tensor:
        """log of the weights, so that the base class's masked softmax gives them back."""
        logs_BS = self._wanted(bound, state, query_BTQ.dtype).log()
        return logs_BS.clamp(min=torch.finfo(query_BTQ.dtype).min)[:, None]

    def _wanted(self, bound: Bound, step_B: Tensor, dtype: torch.dtype) -> Tensor:
        if self.pattern == "given":
            rows_BTS = bound.extra.to(dtype)
            at_B = step_B.clamp(max=rows_BTS.shape[1] - 1)
            wanted_BS: Tensor = rows_BTS[torch.arange(len(at_B), device=at_B.device), at_B]
            return wanted_BS
        if self.pattern == "uniform":
            return bound.mask_BS.to(dtype)
        last_B = (bound.mask_BS.sum(dim=1) - 1).clamp(min=0)
        at_B = torch.minimum(step_B, last_B)
        at_B = last_B - at_B if self.pattern == "reversed" else at_B
        return torch.nn.functional.one_hot(at_B, bound.mask_BS.shape[1]).to(dtype)

    def advance(self, state: Tree, weights_BS: Tensor, bound: Bound) -> Tree:
        return state + 1
