"""A step of the differentiable computer's memory as one autograd function, with a backward of its own.

The plain way is the chains content, usage, allocation and content, links of slots.py, which is the reference in tests. See fused.py.

Shapes: B batch, R read heads, N slots, M width of a slot; numbers of the write head: key, beta, a free gate a read head, allocation gate, write
gate; of a read head: key, beta, three modes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.addressing.fused import CLIP, find, of_sigmoid, of_softmax, uncut, unfind, unwrite

SMALL = 1e-6  # that of allocation.py
KEPT = ("usage", "links", "written")  # what the parts of the chains keep, in the order of `Kept`


class Kept(NamedTuple):
    """The memory and all that is known of it, before or after a step."""

    memory_BNM: Tensor
    usage_BN: Tensor
    links_BNN: Tensor
    written_BN: Tensor
    heads_BHN: Tensor

    @property
    def write_BN(self) -> Tensor:
        return self.heads_BHN[:, 0]

    @property
    def reads_BRN(self) -> Tensor:
        return self.heads_BHN[:, 1:]


class ComputerStep(torch.autograd.Function):
    """numbers_BX, the parts of Kept, least of write and read -> the parts of Kept after the step, vectors_BRM.

    The numbers are those of the write head, of each read head, and what to erase and to add.
    """

    @staticmethod
    def forward(ctx: Any, raw: Tensor, *rest: Any) -> tuple[Tensor, ...]:
        old, (least_write, least_read) = Kept(*rest[:5]), rest[5:]
        rows, width, readers = len(raw), old.memory_BNM.shape[2], old.heads_BHN.shape[1] - 1
        cut, one = raw.clamp(-CLIP, CLIP), raw.new_ones(())
        mine = width + 1 + readers + 2
        told, change = cut[:, :mine], cut[:, -2 * width :].view(rows, 2, width)
        asked = cut[:, mine : -2 * width].reshape(rows, readers, -1)
        slopes = told[:, width:].sigmoid()  # of beta, free gates, gates
        free, gates = slopes[:, 1 : 1 + readers, None], slopes[:, -2:, None]
        # usage
        factors = torch.addcmul(one, free, old.reads_BRN, value=-1)
        stays = factors.prod(dim=1)
        grown = torch.addcmul(old.usage_BN + old.write_BN, old.usage_BN, old.write_BN, value=-1)
        usage = grown * stays
        # allocation
        ordered, order = (usage * (1 - SMALL)).add_(SMALL).sort(dim=-1)
        before = torch.ones_like(ordered)
        torch.cumprod(ordered[:, :-1], dim=-1, out=before[:, 1:])
        empty = torch.empty_like(usage).scatter_(-1, order, (1 - ordered).mul_(before))
        # writing
        lookup = find(told[:, None, :width].tanh(), F.softplus(told[:, None, width : width + 1]).add_(least_write), old.memory_BNM)
        mixed = torch.lerp(lookup.found[:, 0], empty, gates[:, 0])
        write = mixed * gates[:, 1]
        erase, add = change[:, :1].sigmoid(), change[:, 1:].tanh()
        kept = torch.addcmul(one, write[:, :, None], erase, value=-1)
        memory = (old.memory_BNM * kept).addcmul_(write[:, :, None], add)
        # links
        fades = (1 - write[:, :, None]) - write[:, None]
        links = (old.links_BNN * fades).addcmul_(write[:, :, None], old.written_BN[:, None])
        links.diagonal(dim1=1, dim2=2).zero_()
        written = torch.addcmul(old.written_BN + write, old.written_BN, write.sum(dim=-1, keepdim=True), value=-1)
        # reading
        reader = find(asked[..., :width].tanh(), F.softplus(asked[..., width : width + 1]).add_(least_read), memory)
        modes = asked[..., width + 1 :].softmax(dim=-1)
        ways = torch.stack([torch.bmm(old.reads_BRN, links), reader.found, torch.bmm(old.reads_BRN, links.transpose(1, 2))], dim=2)  # B R 3 N
        reads = (modes[..., None] * ways).sum(dim=2)
        vectors = torch.bmm(reads, memory)
        slope = asked[..., width : width + 1].sigmoid()
        heads = torch.cat([write[:, None], reads], dim=1)
        ctx.save_for_backward(*old, raw, memory, links, heads)
        ctx.between = slopes, factors, stays, grown, ordered, order, before, empty, mixed, erase, add, kept, fades, modes, ways, slope, lookup, reader
        return memory, usage, links, written, heads, vectors

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *given, raw, memory, links, heads = ctx.saved_tensors
        old, write, reads = Kept(*given), heads[:, 0], heads[:, 1:]
        slopes, factors, stays, grown, ordered, order, before, empty, mixed, erase, add, kept, fades, modes, ways, slope, lookup, reader = ctx.between
        d_memory, d_usage, d_links, d_written, d_heads, d_vectors = gradients
        readers = reads.shape[1]
        # reading
        d_reads = d_heads[:, 1:] + torch.bmm(d_vectors, memory.transpose(1, 2))
        d_memory = d_memory + torch.bmm(reads.transpose(1, 2), d_vectors)
        d_modes = of_softmax(modes, (ways @ d_reads[..., None]).squeeze(-1))
        d_ways = modes[..., None] * d_reads[:, :, None]
        d_back, d_reader, d_on = d_ways.unbind(dim=2)
        d_key, d_beta = unfind(d_reader, reader, memory, d_memory)
        d_asked = torch.cat([d_key, d_beta.mul_(slope), d_modes], dim=-1)
        d_last = torch.bmm(d_back, links.transpose(1, 2)).add_(torch.bmm(d_on, links))
        # links
        d_links = d_links + torch.bmm(old.reads_BRN.transpose(1, 2), d_back).add_(torch.bmm(d_on.transpose(1, 2), old.reads_BRN))
        d_links.diagonal(dim1=1, dim2=2).zero_()
        faded = d_links * old.links_BNN
        lasted = d_written * old.written_BN
        d_write = (d_heads[:, 0] + d_written).sub_(faded.sum(dim=1)).sub_(faded.sum(dim=2)).sub_(lasted.sum(dim=-1, keepdim=True))
        d_write.add_(torch.bmm(d_links, old.written_BN[:, :, None]).squeeze(-1))
        d_old_written = torch.addcmul(d_written, d_written, write.sum(dim=-1, keepdim=True), value=-1)
        d_old_written.add_(torch.bmm(write[:, None], d_links).squeeze(1))
        d_links.mul_(fades)
        # writing
        d_written_at, d_change, d_memory = unwrite(d_memory, old.memory_BNM, write[:, None], erase, add, kept)
        d_write.add_(d_written_at[:, 0])
        gate_empty, gate_write = slopes[:, -2:-1], slopes[:, -1:]
        d_gate_write = (d_write * mixed).sum(dim=-1, keepdim=True)
        d_mixed = d_write.mul_(gate_write)
        d_gate_empty = (d_mixed * (empty - lookup.found[:, 0])).sum(dim=-1, keepdim=True)
        d_empty = d_mixed * gate_empty
        d_key, d_beta = unfind((d_mixed - d_empty)[:, None], lookup, old.memory_BNM, d_memory)
        # allocation: v_j is in a_j, and as a factor in all that come after it
        d_sorted = d_empty.gather(-1, order)
        shares = (1 - ordered).mul_(before).mul_(d_sorted)
        after = F.pad(shares.flip(-1).cumsum(dim=-1).flip(-1)[:, 1:], (0, 1))  # from the small end: no differences of large sums
        d_ordered = after.div_(ordered).sub_(d_sorted.mul_(before))
        d_usage = d_usage + torch.empty_like(d_usage).scatter_(-1, order, d_ordered.mul_(1 - SMALL))
        # usage
        d_grown, d_stays = d_usage * stays, d_usage * grown
        d_factors = d_stays[:, None] * _others(factors, stays) if readers > 1 else d_stays[:, None]
        d_free = (d_factors * old.reads_BRN).sum(dim=-1).neg_()
        d_last.addcmul_(d_factors, slopes[:, 1 : 1 + readers, None], value=-1)
        d_gates = torch.cat([d_free, d_gate_empty, d_gate_write], dim=-1)
        d_told = torch.cat([d_key[:, 0], d_beta[:, 0].mul_(slopes[:, :1]), of_sigmoid(slopes[:, 1:], d_gates)], dim=-1)
        d_usage = torch.addcmul(d_grown, d_grown, old.write_BN, value=-1)
        d_last_write = d_grown.addcmul_(d_grown, old.usage_BN, value=-1)
        d_heads = torch.cat([d_last_write[:, None], d_last], dim=1)
        return uncut(raw, [d_told, d_asked, d_change]), d_memory, d_usage, d_links, d_old_written, d_heads, None, None


def _others(factors_BRN: Tensor, product_BN: Tensor) -> Tensor:
    """For each head the product of all other heads' factors, also where a factor is 0.

    >>> _others(torch.tensor([[[2.0], [3.0], [0.0]]]), torch.zeros(1, 1)).flatten().tolist()
    [0.0, 0.0, 6.0]
    """
    if bool((factors_BRN > 0).all()):
        return product_BN[:, None] / factors_BRN
    one_B1N = torch.ones_like(factors_BRN[:, :1])
    before_BRN = torch.cat([one_B1N, factors_BRN[:, :-1]], dim=1).cumprod(dim=1)
    after_BRN = torch.cat([one_B1N, factors_BRN[:, 1:].flip(1)], dim=1).cumprod(dim=1).flip(1)
    return before_BRN * after_BRN

