"""The differentiable computer's memory over a whole sequence, with a backward of its own (see fused.py).

The plain way is the chains content, usage, allocation and content, links, whose files have the formulas. What is done otherwise:

    u + w - u w                        a step of size w from u towards 1
    a_j = (1 - v_j) prod_{i<j} v_i     v: usage in its order. dL/dv_j = sum_{i>j} (dL/da_i) a_i / v_j - (dL/da_j) prod_{i<j} v_i,
                                       the sum as a product with a triangle of ones: no differences of large sums
    1 / |M_i|                          only once for the reads of a step and the write of the next
    prod_r (1 - f_r w_r)               what other heads have as factors is made for all steps at once

Shapes: T steps, B batch, H heads (write head first), R read heads, N slots, M width of a slot; L of 3: back, content, on.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.addressing.allocation import SMALL
from xattend.addressing.fused import Run
from xattend.addressing.lookup import Keys, Lookup
from xattend.addressing.numbers import Numbers
from xattend.addressing.tape import Tape

KEPT = ("usage", "links", "written")  # what the parts of the chains keep, in the order of a run's state


def order(reads: int, width: int) -> Tensor:
    """Keys, add; free gates, gates of allocation and write, erase; beta; ways. Chains have the write head's, each read head's, erase, add.

    >>> order(1, 1).tolist()  # write: key, beta, free, two gates; read: key, beta, three ways
    [0, 5, 11, 2, 3, 4, 10, 1, 6, 7, 8, 9]
    """
    told = torch.arange(width + reads + 3)
    asked = torch.arange(reads * (width + 4)).view(reads, -1) + len(told)
    erase, add = (torch.arange(width) + len(told) + asked.numel() + skip for skip in (0, width))
    parts = told[:width], asked[:, :width], add, told[width + 1 :], erase, told[width : width + 1], asked[:, width], asked[:, width + 1 :]
    return torch.cat([each.flatten() for each in parts])


class ComputerRun(Run):
    """State: memory_BNM, usage_BN, links_BNN, written_BN, heads_BHN."""

    def __init__(
        self, steps: int, memory_BNM: Tensor, usage_BN: Tensor, links_BNN: Tensor, written_BN: Tensor, heads_BHN: Tensor, *,
        least: tuple[float, float],
    ) -> None:  # fmt: skip
        (rows, heads, slots), width, new = heads_BHN.shape, memory_BNM.shape[2], memory_BNM.new_empty
        reads = self.reads = heads - 1
        self.width = width
        self.numbers = Numbers(
            steps, rows, tanh=(heads + 1) * width, sigmoid=reads + 2 + width, least=[least[0]] + [least[1]] * reads, ways=(reads, 3),
            like=memory_BNM,
        )  # fmt: skip
        key_TBHM, add_TBM, free_TBR1, empty_TB11, writes_TB11, erase_TBM = self._squashed(self.numbers.squashed_TBX)
        self.tape, self.keys = Tape(memory_BNM, erase_TBM, add_TBM, reads), Keys(key_TBHM, self.numbers.strength_TBP[..., None])
        self.vectors_TBRM = self.tape.vectors_TBRM
        # kept from step to step, each with room for all steps
        self.usage_TB1N, self.links_TBNN, self.written_TB1N, self.write_TB1N, self.reads_TBRN = (
            torch.cat([first[None], new(steps, *first.shape)])
            for first in (usage_BN[:, None], links_BNN, written_BN[:, None], heads_BHN[:, :1], heads_BHN[:, 1:])
        )
        # kept for the backward
        self.factors_TBRN, self.ways_TLBRN = new(steps, rows, reads, slots), new(steps, 3, rows, reads, slots)
        self.grown_TB1N, self.stays_TB1N, self.ordered_TB1N = (new(steps, rows, 1, slots) for _ in range(3))
        self.empty_TB1N, self.found_TB1N, before_TB1N = *(torch.empty_like(self.grown_TB1N) for _ in range(2)), torch.ones_like(self.grown_TB1N)
        self.lookup = Lookup(self.keys, slice(1), self.tape, self.found_TB1N)
        self.reader = Lookup(self.keys, slice(1, None), self.tape, self.ways_TLBRN[:, 1])
        # views of each step
        self._free, self._empty_gate, self._write_gate = free_TBR1.unbind(), empty_TB11.unbind(), writes_TB11.unbind()
        self._usage, self._links, self._written = self.usage_TB1N.unbind(), self.links_TBNN.unbind(), self.written_TB1N.unbind()
        self._write, self._column = self.write_TB1N.unbind(), self.write_TB1N.transpose(2, 3).unbind()
        self._reads, self._reads_across = self.reads_TBRN.unbind(), self.reads_TBRN.transpose(2, 3).unbind()
        self._links_across, self._diagonal = self.links_TBNN.transpose(2, 3).unbind(), self.links_TBNN.diagonal(dim1=2, dim2=3).unbind()
        self._factors, self._stays, self._grown = self.factors_TBRN.unbind(), self.stays_TB1N.unbind(), self.grown_TB1N.unbind()
        self._ordered, self._all_but_last = self.ordered_TB1N.unbind(), self.ordered_TB1N[..., :-1].unbind()
        self._order = torch.empty_like(self.grown_TB1N, dtype=torch.long).unbind()
        self._before, self._before_next, self._empty = before_TB1N.unbind(), before_TB1N[..., 1:].unbind(), self.empty_TB1N.unbind()
        self._shares, self._mixed = (torch.empty_like(self.grown_TB1N).unbind() for _ in range(2))
        self._sums, self._total = new(steps, rows, slots, slots).unbind(), new(steps, rows, 1, 1).unbind()
        self._choice = self.numbers.ways_TBKS.permute(0, 3, 1, 2)[..., None].unbind()  # L B R 1
        self._ways, self._back, self._on = self.ways_TLBRN.unbind(), self.ways_TLBRN[:, 0].unbind(), self.ways_TLBRN[:, 2].unbind()
        self._one, self._small = memory_BNM.new_ones(()), memory_BNM.new_tensor(SMALL)
        self.tape.measure(0)

    def _squashed(self, numbers_TBX: Tensor) -> tuple[Tensor, ...]:
        """Views of keys, add, free gates, gates of allocation and write, and erase; of their gradients, too."""
        heads, width = self.reads + 1, self.width
        sizes = [heads * width, width, self.reads, 1, 1, width]
        key, add, free, empty, writes, erase = torch.split(numbers_TBX[..., : sum(sizes)], sizes, dim=2)
        return key.view(*key.shape[:2], heads, width), add, free[..., None], empty[..., None], writes[..., None], erase

    def forward(self, t: int) -> None:
        self.numbers.forward(t)
        self.keys.forward(t)
        self._allocate(t)
        # writing
        torch.lerp(self.lookup.forward(t, t), self._empty[t], self._empty_gate[t], out=self._mixed[t])
        write_B1N, column_BN1 = torch.mul(self._mixed[t], self._write_gate[t], out=self._write[t + 1]), self._column[t + 1]
        self.tape.write(t, write_B1N)
        self.tape.measure(t + 1)
        # links
        sums_BNN = torch.add(column_BN1, write_B1N, out=self._sums[t])
        torch.addcmul(self._links[t], self._links[t], sums_BNN, value=-1, out=self._links[t + 1]).addcmul_(column_BN1, self._written[t])
        self._diagonal[t + 1].zero_()
        total_B11 = torch.sum(write_B1N, dim=2, keepdim=True, out=self._total[t])
        torch.add(self._written[t], write_B1N, out=self._written[t + 1]).addcmul_(self._written[t], total_B11, value=-1)
        # reading
        torch.bmm(self._reads[t], self._links[t + 1], out=self._back[t])
        self.reader.forward(t, t + 1)
        torch.bmm(self._reads[t], self._links_across[t + 1], out=self._on[t])
        torch.sum(self._ways[t] * self._choice[t], dim=0, out=self._reads[t + 1])
        self.tape.read(t, self._reads[t + 1])

    def _allocate(self, t: int) -> None:
        """Usage, and the emptiest slot."""
        torch.addcmul(self._one, self._free[t], self._reads[t], value=-1, out=self._factors[t])
        torch.prod(self._factors[t], dim=1, keepdim=True, out=self._stays[t])
        torch.lerp(self._usage[t], self._one, self._write[t], out=self._grown[t])
        torch.mul(self._grown[t], self._stays[t], out=self._usage[t + 1])
        torch.sort(torch.add(self._small, self._usage[t + 1], alpha=1 - SMALL), dim=2, out=(self._ordered[t], self._order[t]))
        torch.cumprod(self._all_but_last[t], dim=2, out=self._before_next[t])
        torch.addcmul(self._before[t], self._before[t], self._ordered[t], value=-1, out=self._shares[t])
        self._empty[t].scatter_(2, self._order[t], self._shares[t])

    def start(self, gradients: tuple[Tensor, ...] = ()) -> None:
        d_memory_BNM, d_usage_BN, d_links_BNN, d_written_BN, d_heads_BHN = gradients or [torch.zeros_like(each) for each in self.state(0)]
        self.d_usage_B1N, self.d_links_BNN, self.d_written_B1N = d_usage_BN[:, None], d_links_BNN, d_written_BN[:, None]
        self.d_write_B1N, self.d_reads_BRN = d_heads_BHN[:, :1].contiguous(), d_heads_BHN[:, 1:].contiguous()
        self.numbers.start()
        d_TBX, (_, sigmoid, softplus) = self.numbers.d_TBX, self.numbers.ends
        d_key_TBHM, d_add_TBM, d_free_TBR1, *d_gates, d_erase_TBM = self._squashed(d_TBX)
        self.tape.start(d_memory_BNM.transpose(1, 2).contiguous(), d_erase_TBM, d_add_TBM)
        self.keys.start(d_key_TBHM, d_TBX[..., sigmoid:softplus, None])
        self.lookup.start()
        self.reader.start()
        self._d_free, (self._d_empty_gate, self._d_write_gate) = d_free_TBR1.unbind(), (each.unbind() for each in d_gates)
        self._apart = (self.empty_TB1N - self.found_TB1N).unbind()
        self._per_ordered = self.ordered_TB1N.reciprocal().unbind()
        self._d_stays = others(self.factors_TBRN, self.stays_TB1N).mul_(self.grown_TB1N).neg_().unbind()
        rows, slots = d_usage_BN.shape
        self._after = d_TBX.new_ones(slots, slots).tril_(-1).expand(rows, slots, slots)  # 1 where a row comes after a column
        d_ways_LBRN = torch.empty_like(self.ways_TLBRN[0])  # one for all steps
        self._d_ways = d_ways_LBRN, *d_ways_LBRN.unbind(), d_ways_LBRN[2].transpose(1, 2)
        self._d_links = self.d_links_BNN, self.d_links_BNN.transpose(1, 2), self.d_links_BNN.diagonal(dim1=1, dim2=2)

    def backward(self, t: int, d_vectors_BRM: Tensor) -> None:
        d_write, d_written, d_usage = self.d_write_B1N, self.d_written_B1N, self.d_usage_B1N
        d_links, d_links_across, diagonal = self._d_links
        d_reads = self.tape.unread(t, self._reads[t + 1], d_vectors_BRM).add_(self.d_reads_BRN)
        # reading
        d_choice_BRL = (self._ways[t] * d_reads).sum(dim=-1).permute(1, 2, 0)
        d_ways, d_back, d_found, d_on, d_on_across = self._d_ways
        torch.mul(self._choice[t], d_reads, out=d_ways)
        self.reader.backward(t, t + 1, d_found)
        torch.bmm(d_back, self._links_across[t + 1], out=self.d_reads_BRN).baddbmm_(d_on, self._links[t + 1])
        # links
        d_links.baddbmm_(self._reads_across[t], d_back).baddbmm_(d_on_across, self._reads[t])
        diagonal.zero_()
        faded_BNN = d_links * self._links[t]
        d_write.add_(d_written).sub_(faded_BNN.sum(dim=1, keepdim=True)).sub_(faded_BNN.sum(dim=2).unsqueeze(1))
        d_write.sub_((d_written * self._written[t]).sum(dim=2, keepdim=True)).baddbmm_(self._written[t], d_links_across)
        d_written.addcmul_(d_written, self._total[t], value=-1).baddbmm_(self._write[t + 1], d_links)
        d_links.addcmul_(d_links, self._sums[t], value=-1)
        # writing
        d_write.add_(self.tape.unwrite(t, self._write[t + 1]))
        torch.sum(d_write * self._mixed[t], dim=2, keepdim=True, out=self._d_write_gate[t])
        d_write.mul_(self._write_gate[t])
        torch.sum(d_write * self._apart[t], dim=2, keepdim=True, out=self._d_empty_gate[t])
        d_empty = d_write * self._empty_gate[t]
        self.lookup.backward(t, t, d_write.sub_(d_empty))
        # allocation
        d_sorted = d_empty.gather(2, self._order[t])
        d_ordered = torch.bmm(self._shares[t] * d_sorted, self._after).mul_(self._per_ordered[t])
        d_ordered.addcmul_(d_sorted, self._before[t], value=-1)
        d_usage.add_(d_sorted.scatter_(2, self._order[t], d_ordered), alpha=1 - SMALL)
        # usage
        d_factors = self._d_stays[t] * d_usage
        torch.sum(d_factors * self._reads[t], dim=2, keepdim=True, out=self._d_free[t])
        self.d_reads_BRN.addcmul_(d_factors, self._free[t])
        d_usage.mul_(self._stays[t])  # now that of u + w - u w
        torch.addcmul(d_usage, d_usage, self._usage[t], value=-1, out=d_write)
        d_usage.addcmul_(d_usage, self._write[t], value=-1)
        self.numbers.backward(t, d_choice_BRL)

    def state(self, t: int) -> tuple[Tensor, ...]:
        heads_BHN = torch.cat([self._write[t], self._reads[t]], dim=1)
        return self.tape.memory_TBMN[t].transpose(1, 2), self._usage[t][:, 0], self._links[t], self._written[t][:, 0], heads_BHN

    def gradients(self) -> tuple[Tensor, ...]:
        d_heads_BHN = torch.cat([self.d_write_B1N, self.d_reads_BRN], dim=1)
        return self.tape.d_memory_BMN.transpose(1, 2), self.d_usage_B1N[:, 0], self.d_links_BNN, self.d_written_B1N[:, 0], d_heads_BHN


def others(factors_TBRN: Tensor, product_TB1N: Tensor) -> Tensor:
    """For each head the product of all other heads' factors, also where a factor is 0.

    >>> others(torch.tensor([[[[2.0], [3.0], [0.0]]]]), torch.zeros(1, 1, 1, 1)).flatten().tolist()
    [0.0, 0.0, 6.0]
    """
    if bool((factors_TBRN > 0).all()):
        return product_TB1N / factors_TBRN
    one_TB1N = torch.ones_like(factors_TBRN[:, :, :1])
    before_TBRN = torch.cat([one_TB1N, factors_TBRN[:, :, :-1]], dim=2).cumprod(dim=2)
    after_TBRN = torch.cat([one_TB1N, factors_TBRN[:, :, 1:].flip(2)], dim=2).cumprod(dim=2).flip(2)
    return before_TBRN * after_TBRN
