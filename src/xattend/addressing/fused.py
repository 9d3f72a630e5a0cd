"""A step of the Turing machine's memory as one autograd function: addressing of all heads, the write and the reads, with a backward of its own.

The plain way is the chain content, interpolation, shift, sharpen of slots.py, which is the reference in tests. One write head, which stands
first among the heads. What a step needs most time for is starting kernels and noting them for the gradient; here nothing is noted.

>>> TuringStep.apply(torch.zeros(2, 3 * 9 + 6), torch.rand(2, 5, 3), torch.rand(2, 3, 5).softmax(dim=-1), 0.0)[2].shape
torch.Size([2, 2, 3])

Shapes: B batch, H heads, R read heads (H - 1), N slots, M width of a slot, S shifts, P = M + 1 + 1 + S + 1 numbers of a head,
X all numbers of the controller: H x P and 2 x M.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

SMALL, TINY = 1e-6, 1e-8  # those of content.py and sharpen.py
CLIP = 20.0  # the controller's numbers are cut to [-CLIP, CLIP]


class TuringStep(torch.autograd.Function):
    """numbers_BX, memory_BNM, last_BHN, least -> memory after the step, weights_BHN, vectors_BRM.

    The numbers are those of each head, the write head first, and what to erase and to add.
    """

    @staticmethod
    def forward(ctx: Any, raw: Tensor, memory: Tensor, last: Tensor, least: float) -> tuple[Tensor, Tensor, Tensor]:
        rows, width = len(memory), memory.shape[2]
        cut = raw.clamp(-CLIP, CLIP)
        numbers, change = cut[:, : -2 * width].reshape(rows, last.shape[1], -1), cut[:, -2 * width :].view(rows, 2, width)
        reach = (numbers.shape[2] - width - 3) // 2
        key = numbers[..., :width].tanh()
        slopes = numbers[..., width:].sigmoid()  # of beta, the gate, (shifts), gamma: the gate itself, else the slope of softplus
        gate = slopes[..., 1:2]
        beta = F.softplus(numbers[..., width : width + 1]).add_(least)
        gamma = F.softplus(numbers[..., -1:]).add_(1)
        shifts = numbers[..., width + 2 : -1].softmax(dim=-1)
        content = find(key, beta, memory)
        found = content.found
        mixed = torch.lerp(last, found, gate)
        around = torch.cat([mixed[..., -reach:], mixed, mixed[..., :reach]], dim=-1)
        slots = mixed.shape[2]
        shifted = around[..., :slots] * shifts[..., -1:]
        for place in range(1, 2 * reach + 1):
            shifted.addcmul_(around[..., place : place + slots], shifts[..., 2 * reach - place, None])
        shifted.add_(TINY)
        logs = shifted.log()
        weights = (gamma * logs).softmax(dim=-1)
        write = weights[:, :1].transpose(1, 2)  # B N 1
        erase, add = change[:, :1].sigmoid(), change[:, 1:].tanh()
        kept = torch.addcmul(write.new_ones(()), write, erase, value=-1)
        after = (memory * kept).addcmul_(write, add)
        vectors = torch.bmm(weights[:, 1:], after)
        ctx.save_for_backward(raw, memory, last, weights, after)
        ctx.between = slopes, gamma, shifts, around, shifted, logs, erase, add, kept, content  # neither given nor returned: they need no more care
        return after, weights, vectors

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        raw, memory, last, weights, after = ctx.saved_tensors
        slopes, gamma, shifts, around, shifted, logs, erase, add, kept, content = ctx.between
        d_after, d_weights, d_vectors = gradients
        reach, slots = shifts.shape[2] // 2, memory.shape[1]
        # reading and writing
        d_after = d_after + torch.bmm(weights[:, 1:].transpose(1, 2), d_vectors)
        d_read = torch.bmm(d_vectors, after.transpose(1, 2))
        d_write, d_change, d_memory = unwrite(d_after, memory, weights[:, :1], erase, add, kept)
        # sharpening
        d_weights = torch.cat([d_write, d_read], dim=1).add_(d_weights)
        d_scores = of_softmax(weights, d_weights)
        d_gamma = (d_scores * logs).sum(dim=-1, keepdim=True)
        d_shifted = d_scores.mul_(gamma).div_(shifted)
        # shifting: what came from slot i - j goes back there
        d_shifts = torch.bmm(around.unfold(-1, slots, 1).flatten(0, 1), d_shifted.flatten(0, 1)[..., None]).view(shifts.shape).flip(-1)
        wide = torch.cat([d_shifted[..., -reach:], d_shifted, d_shifted[..., :reach]], dim=-1)
        d_mixed = wide[..., :slots] * shifts[..., :1]
        for place in range(1, 2 * reach + 1):
            d_mixed.addcmul_(wide[..., place : place + slots], shifts[..., place, None])
        # interpolation
        d_gate = (d_mixed * (content.found - last)).sum(dim=-1, keepdim=True)
        d_found = d_mixed * slopes[..., 1:2]
        d_last = d_mixed.sub_(d_found)
        # content
        d_key, d_beta = unfind(d_found, content, memory, d_memory)
        d_shift = of_softmax(shifts, d_shifts)
        d_numbers = torch.cat(
            [
                d_key, d_beta.mul_(slopes[..., :1]), of_sigmoid(slopes[..., 1:2], d_gate), d_shift,
                d_gamma.mul_(slopes[..., -1:]),
            ], dim=-1
        )  # fmt: skip
        return uncut(raw, [d_numbers, d_change]), d_memory, d_last, None


class Found(NamedTuple):
    """Content addressing, and what its backward needs: the norms are one over them."""

    found: Tensor
    key: Tensor
    beta: Tensor
    key_norm: Tensor
    norm: Tensor
    cosine: Tensor


def find(key_BHM: Tensor, beta_BH1: Tensor, memory_BNM: Tensor) -> Found:
    """softmax(beta cos(key, slot)) of all heads."""
    key_norm_BH1 = (key_BHM * key_BHM).sum(dim=-1, keepdim=True).add_(SMALL).rsqrt_()
    norm_B1N = (memory_BNM * memory_BNM).sum(dim=-1).add_(SMALL).rsqrt_()[:, None]
    cosine_BHN = torch.bmm(key_BHM, memory_BNM.transpose(1, 2)).mul_(key_norm_BH1).mul_(norm_B1N)
    return Found((beta_BH1 * cosine_BHN).softmax(dim=-1), key_BHM, beta_BH1, key_norm_BH1, norm_B1N, cosine_BHN)


def unfind(d_found: Tensor, was: Found, memory_BNM: Tensor, d_memory: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the key before its tanh, and of beta; that of the memory is added to `d_memory`."""
    d_scores = of_softmax(was.found, d_found)
    scored = d_scores * was.cosine
    d_beta = scored.sum(dim=-1, keepdim=True)
    scored.mul_(was.beta)  # dL/dcosine x cosine: what the norms get
    d_dots = d_scores.mul_(was.beta).mul_(was.key_norm).mul_(was.norm)
    d_key = torch.bmm(d_dots, memory_BNM).addcmul_(was.key, scored.sum(dim=-1, keepdim=True).mul_(was.key_norm).mul_(was.key_norm), value=-1)
    d_memory.add_(torch.bmm(d_dots.transpose(1, 2), was.key))
    d_memory.addcmul_(memory_BNM, scored.sum(dim=1, keepdim=True).mul_(was.norm).mul_(was.norm).transpose(1, 2), value=-1)
    return of_tanh(was.key, d_key), d_beta


def unwrite(d_after: Tensor, memory: Tensor, write_B1N: Tensor, erase: Tensor, add: Tensor, kept: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the write weights, of erase and add before their squashing, and of the memory before the write; d_after is used up."""
    erased = d_after * memory
    d_write = torch.bmm(add, d_after.transpose(1, 2)).sub_(torch.bmm(erase, erased.transpose(1, 2)))
    d_erase, d_add = of_sigmoid(erase, torch.bmm(write_B1N, erased).neg_()), of_tanh(add, torch.bmm(write_B1N, d_after))
    return d_write, torch.cat([d_erase, d_add], dim=1), d_after.mul_(kept)


def of_softmax(found: Tensor, d_found: Tensor) -> Tensor:
    """The gradient of what a softmax was taken of."""
    weighted = found * d_found
    return weighted.addcmul_(found, weighted.sum(dim=-1, keepdim=True), value=-1)


def of_tanh(squashed: Tensor, d_squashed: Tensor) -> Tensor:
    """The gradient of what a tanh was taken of, in place."""
    return d_squashed.addcmul_(squashed * squashed, d_squashed, value=-1)


def of_sigmoid(squashed: Tensor, d_squashed: Tensor) -> Tensor:
    """The gradient of what a sigmoid was taken of, in place."""
    return d_squashed.mul_(squashed).addcmul_(d_squashed, squashed, value=-1)


def uncut(raw_BX: Tensor, parts: list[Tensor]) -> Tensor:
    """The gradient of the controller's numbers from those of their parts; numbers that were cut have none."""
    return torch.cat([part.flatten(1) for part in parts], dim=1).masked_fill_(raw_BX.abs() > CLIP, 0.0)

