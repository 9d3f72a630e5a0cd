"""The contents of a memory in all steps of a sequence: written, read, and how long each slot is, with the backward of all three.

    M_t = M_{t-1} - M_{t-1} * (e w^T) + a w^T,   r_t = w M_t,   1 / |m| = (m . m + 1e-6)^(-1/2)

The memory lies with its slots last (M x N): there are more slots than channels, and what is the same for all slots or all channels is then
spread over long rows. One write head, as in the fused machines (fused_turing.py, fused_computer.py).

>>> at, told = torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[[0.5], [4.0]]]])
>>> tape = Tape(torch.tensor([[[2.0], [3.0]]]), erase_TBM=told[:, :, 0], add_TBM=told[:, :, 1], reads=1)
>>> tape.write(0, at)  # half of what the first slot holds is erased, and 4 added
>>> tape.read(0, at)
>>> tape.memory_TBMN[1].tolist(), tape.vectors_TBRM[1].tolist()
([[[5.0, 3.0]]], [[[5.0]]])

Shapes: T steps, B batch, M width of a slot, N slots, R read heads.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.addressing.content import SMALL


class Tape:
    """Step t goes from `memory_TBMN[t]` to `[t + 1]`. A backward adds up `d_memory_BMN`."""

    def __init__(self, memory_BNM: Tensor, erase_TBM: Tensor, add_TBM: Tensor, reads: int) -> None:
        steps, (rows, slots, width) = len(erase_TBM), memory_BNM.shape
        new = memory_BNM.new_empty
        self.memory_TBMN, self.erased_TBMN = new(steps + 1, rows, width, slots), new(steps, rows, width, slots)
        self.memory_TBMN[0] = memory_BNM.transpose(1, 2)
        self.vectors_TBRM = memory_BNM.new_zeros(steps + 1, rows, reads, width)
        self.over_TB1N = new(steps + 1, rows, 1, slots)  # one over the length of each slot
        self._squares = new(rows, width, slots)  # one for all steps: it stays in the cache
        self.memory, self.over = self.memory_TBMN.unbind(), self.over_TB1N.unbind()
        self.across = self.memory_TBMN.transpose(2, 3).unbind()
        self._vectors, self._erased = self.vectors_TBRM.unbind(), self.erased_TBMN.unbind()
        self._erase, self._add = erase_TBM[..., None].unbind(), add_TBM[..., None].unbind()
        self._erase_row, self._add_row = erase_TBM[:, :, None].unbind(), add_TBM[:, :, None].unbind()

    def measure(self, t: int) -> None:
        """One over the length of each slot before step t."""
        torch.mul(self.memory[t], self.memory[t], out=self._squares)
        torch.sum(self._squares, dim=1, keepdim=True, out=self.over[t]).add_(SMALL).rsqrt_()

    def write(self, t: int, write_B1N: Tensor) -> None:
        torch.mul(write_B1N, self._erase[t], out=self._erased[t])
        torch.addcmul(self.memory[t], self.memory[t], self._erased[t], value=-1, out=self.memory[t + 1]).addcmul_(write_B1N, self._add[t])

    def read(self, t: int, reads_BRN: Tensor) -> None:
        torch.bmm(reads_BRN, self.across[t + 1], out=self._vectors[t + 1])

    def start(self, d_memory_BMN: Tensor | None, d_erase_TBM: Tensor, d_add_TBM: Tensor) -> None:
        """Before a backward: the gradient of the last memory, and where those of erasing and adding are put."""
        self.d_memory_BMN = torch.zeros_like(self._squares) if d_memory_BMN is None else d_memory_BMN
        self.over_squared = self.over_TB1N.square().unbind()
        self._d_erase, self._d_add = d_erase_TBM[..., None].unbind(), d_add_TBM[..., None].unbind()

    def unread(self, t: int, reads_BRN: Tensor, d_vectors_BRM: Tensor) -> Tensor:
        """d_reads_BRN."""
        self.d_memory_BMN.baddbmm_(d_vectors_BRM.transpose(1, 2), reads_BRN)
        return torch.bmm(d_vectors_BRM, self.memory[t + 1])

    def unwrite(self, t: int, write_B1N: Tensor) -> Tensor:
        """d_write_B1N."""
        d_after, write_BN1 = self.d_memory_BMN, write_B1N.transpose(1, 2)
        d_erased = torch.mul(d_after, self.memory[t], out=self._squares)
        d_write_B1N = torch.bmm(self._add_row[t], d_after).baddbmm_(self._erase_row[t], d_erased, alpha=-1)
        torch.neg(torch.bmm(d_erased, write_BN1), out=self._d_erase[t])
        self._d_add[t].copy_(torch.bmm(d_after, write_BN1))
        d_after.addcmul_(d_after, self._erased[t], value=-1)
        return d_write_B1N
