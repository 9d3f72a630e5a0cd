"""No attention: the whole source is one fixed vector, given to the decoder in one of the lecture's two ways.

none         option 1: the vector is the decoder's initial state, and the decoder never looks again (Sutskever 2014)
every-step   option 2: the vector is an input at every step (Cho 2014)

>>> import torch
>>> memory = Memory(torch.zeros(1, 3, 4), torch.ones(1, 3, dtype=torch.bool), torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
>>> every = EveryStep(8, 4)
>>> every.attend(torch.zeros(1, 8), every.bind(memory), None)[0].tolist()
[[1.0, 2.0, 3.0, 4.0]]
"""

from __future__ import annotations

from torch import Tensor

from xattend.attention.base import Attention, Bound
from xattend.registry import register
from xattend.tree import Tree
from xattend.types import Memory


@register("attention", "none")
class NoAttention(Attention):
    """Option 1: context as initial state. The context of a step has no width at all."""

    sums_to_one = False
    reads_query = False

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.context_size = 0

    def fixed(self, memory: Memory) -> Tensor:
        """What every step is given."""
        return memory.summary_BD[:, :0]

    def bind(self, memory: Memory) -> Bound:
        return Bound(self.fixed(memory)[:, None], memory.states_BSD[:, :, :0], memory.mask_BS)

    def attend_all(
        self, query_BTQ: Tensor, bound: Bound, state: Tree, *, weights: bool = True
    ) -> tuple[Tensor, Tensor | None, Tree]:
        batch, steps = query_BTQ.shape[:2]
        nowhere_BTHS = query_BTQ.new_zeros(batch, steps, 1, bound.mask_BS.shape[1])
        return bound.keys_BSA.expand(-1, steps, -1), nowhere_BTHS, state


@register("attention", "every-step")
class EveryStep(NoAttention):
    """Option 2: the same context at every step."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.context_size = memory_size

    def fixed(self, memory: Memory) -> Tensor:
        return memory.summary_BD
