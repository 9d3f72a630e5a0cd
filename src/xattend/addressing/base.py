"""Addressing: where a head looks is made by a chain of parts, each of which changes the weights that the part before it made.

    NTM           content, interpolation, shift, sharpen       all heads
    DNC           content, usage, allocation                   the write head
                  content, links                               read heads

A part is told some numbers by the controller (`numbers` a head), sees the memory and where heads were, and may keep a state. All heads of a
group are answered at once, and nothing loops over heads or rows.

>>> import torch
>>> from xattend.addressing.sharpen import Sharpen
>>> part = Sharpen(20, 1, 1)
>>> weights_BHN, _ = part(torch.full((1, 1, 1), 20.0), torch.tensor([[[0.5, 0.3, 0.2]]]), None, {})
>>> weights_BHN.round(decimals=3).tolist()
[[[1.0, 0.0, 0.0]]]

Shapes: B batch, H heads of a group, R read heads, W write heads, N slots, M width of a slot, P numbers of a part.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from torch import Tensor, nn

PartState = dict[str, Tensor]  # what the parts of a chain keep from step to step, by name; each batch-first


class Seen(NamedTuple):
    """What a chain sees: the memory, and the weights of its own group, of the read heads and of the write heads.

    Those are of the step before, but for `writes_BWN` of a read chain that looks after the write: they are of this step.
    """

    memory_BNM: Tensor
    last_BHN: Tensor
    reads_BRN: Tensor
    writes_BWN: Tensor


class Addressing(nn.Module):
    """A subclass says how many `numbers` a head needs, and writes `forward`; what it keeps is made in `start`."""

    needs: ClassVar[tuple[str, ...]] = ()  # parts that must stand before it in its chain
    first_slot: ClassVar[bool] = False  # whether heads begin at the first slot, not nowhere: for parts that move from where a head was
    one_write: ClassVar[bool] = False  # whether there may be one write head only, as in the paper
    group: ClassVar[str] = ""  # "read" or "write" if it is for such heads alone
    numbers: int = 0

    def __init__(self, width: int, heads: int, reads: int) -> None:
        super().__init__()
        self.width, self.heads, self.reads = width, heads, reads

    def start(self, batch: int, slots: int, like: Tensor) -> PartState:
        """What it keeps, before the first step."""
        return {}

    def forward(self, numbers_BHP: Tensor, weights_BHN: Tensor, seen: Seen, state: PartState) -> tuple[Tensor, PartState]:
        """The weights after this part, and the state."""
        raise NotImplementedError
