"""The Turing machine's memory over a whole sequence, with a backward of its own (see fused.py).

The plain way is the chain content, interpolation, shift, sharpen. One write head, which stands first among the heads.

    m = w_{t-1} + g (c - w_{t-1}),   v_i = sum_p s_p m_{i+p-reach},   w = softmax(gamma log(v + 1e-8))

    dL/dv   = (gamma / (v + 1e-8)) dL/d(gamma log v)
    dL/dm_i = sum_p s_p (dL/dv)_{i-p+reach}          what came from a slot goes back there

Slots are counted round the end: m and dL/dv lie in rows that are a little longer, with their ends repeated.

Shapes: T steps, B batch, H heads, R read heads (H - 1), N slots, M width of a slot, S = 2 reach + 1 shifts, W = N + 2 reach.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.addressing.fused import Run
from xattend.addressing.lookup import Keys, Lookup
from xattend.addressing.numbers import Numbers, of_softmax
from xattend.addressing.sharpen import TINY
from xattend.addressing.tape import Tape


def order(heads: int, width: int, shifts: int) -> Tensor:
    """Keys, add; gates, erase; beta, gamma; shifts, the last first. The chain has a head's numbers together, then erase and add.

    >>> order(2, 1, 3).tolist()  # a head: key, beta, gate, three shifts, gamma
    [0, 7, 15, 2, 9, 14, 1, 8, 6, 13, 5, 4, 3, 12, 11, 10]
    """
    each_HP = torch.arange(heads * (width + shifts + 3)).view(heads, -1)
    erase, add = (torch.arange(width) + each_HP.numel() + skip for skip in (0, width))
    key, beta, gate, shift, gamma = torch.split(each_HP, [width, 1, 1, shifts, 1], dim=1)
    return torch.cat([each.flatten() for each in (key, add, gate, erase, beta, gamma, shift.flip(1))])


class TuringRun(Run):
    """State: memory_BNM, heads_BHN."""

    def __init__(self, steps: int, memory_BNM: Tensor, heads_BHN: Tensor, *, shifts: int, least: float) -> None:
        (rows, heads, slots), width, new = heads_BHN.shape, memory_BNM.shape[2], memory_BNM.new_empty
        self.heads, self.width, self.reach = heads, width, shifts // 2
        self.numbers = Numbers(
            steps, rows, tanh=(heads + 1) * width, sigmoid=heads + width, least=[least] * heads + [1.0] * heads, ways=(heads, shifts),
            like=memory_BNM,
        )  # fmt: skip
        key_TBHM, add_TBM, gate_TBH1, erase_TBM = self._squashed(self.numbers.squashed_TBX)
        beta_TBH1, self.gamma_TBH1 = self.numbers.strength_TBP[..., None].chunk(2, dim=2)
        self.tape, self.keys = Tape(memory_BNM, erase_TBM, add_TBM, heads - 1), Keys(key_TBHM, beta_TBH1)
        self.vectors_TBRM = self.tape.vectors_TBRM
        self.found_TBHN, self.shifted_TBHN, self.logs_TBHN = (new(steps, rows, heads, slots) for _ in range(3))
        self.lookup = Lookup(self.keys, slice(None), self.tape, self.found_TBHN)
        self.weights_TBHN = new(steps + 1, rows, heads, slots)
        self.weights_TBHN[0] = heads_BHN
        self.mixed_TBHW = new(steps, rows, heads, slots + shifts - 1)
        self._weights, self._write = self.weights_TBHN.unbind(), self.weights_TBHN[:, :, :1].unbind()
        self._reads = self.weights_TBHN[:, :, 1:].unbind()
        self._gate, self._gamma = gate_TBH1.unbind(), self.gamma_TBH1.unbind()
        self._shifted, self._logs = self.shifted_TBHN.unbind(), self.logs_TBHN.unbind()
        self._mixed = self._round(self.mixed_TBHW)
        self._ways = [self.numbers.ways_TBKS[..., place, None].unbind() for place in range(shifts)]
        self._tiny = memory_BNM.new_tensor(TINY)

    def _squashed(self, numbers_TBX: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Views of keys, add, gates and erase; of their gradients, too."""
        sizes = [self.heads * self.width, self.width, self.heads, self.width]
        key, add, gate, erase = torch.split(numbers_TBX[..., : sum(sizes)], sizes, dim=2)
        return key.view(*key.shape[:2], self.heads, self.width), add, gate[..., None], erase

    def _round(self, wide_TBHW: Tensor) -> tuple[tuple[Tensor, ...], ...]:
        """Views: the slots; two ends and what they repeat; the slots as each shift sees them."""
        reach, slots = self.reach, wide_TBHW.shape[3] - 2 * self.reach
        parts = [(reach, slots), (0, reach), (slots, reach), (slots + reach, reach), (reach, reach)]
        parts += [(place, slots) for place in range(2 * reach + 1)]
        return tuple(wide_TBHW.narrow(3, start, size).unbind() for start, size in parts)

    def forward(self, t: int) -> None:
        numbers, keys, tape = self.numbers, self.keys, self.tape
        numbers.forward(t)
        keys.forward(t)
        tape.measure(t)
        found_BHN = self.lookup.forward(t, t)
        middle, left, of_left, right, of_right, *seen = self._mixed
        torch.lerp(self._weights[t], found_BHN, self._gate[t], out=middle[t])
        left[t].copy_(of_left[t])
        right[t].copy_(of_right[t])
        shifted_BHN = torch.addcmul(self._tiny, seen[0][t], self._ways[0][t], out=self._shifted[t])
        for place in range(1, len(seen)):
            shifted_BHN.addcmul_(seen[place][t], self._ways[place][t])
        torch.log(shifted_BHN, out=self._logs[t])
        torch.softmax(self._logs[t] * self._gamma[t], dim=-1, out=self._weights[t + 1])
        tape.write(t, self._write[t + 1])
        tape.read(t, self._reads[t + 1])

    def start(self, gradients: tuple[Tensor, ...] = ()) -> None:
        d_memory_BMN = gradients[0].transpose(1, 2).contiguous() if gradients else None
        self.d_heads_BHN = gradients[1] if gradients else torch.zeros_like(self.weights_TBHN[0])
        self._d_weights = self.d_heads_BHN, self.d_heads_BHN[:, :1], self.d_heads_BHN[:, 1:]
        self.numbers.start()
        d_TBX = self.numbers.d_TBX
        d_key_TBHM, d_add_TBM, d_gate_TBH1, d_erase_TBM = self._squashed(d_TBX)
        _, sigmoid, softplus = self.numbers.ends
        d_beta_TBH1, d_gamma_TBH1 = d_TBX[..., sigmoid:softplus, None].chunk(2, dim=2)
        self.tape.start(d_memory_BMN, d_erase_TBM, d_add_TBM)
        self.keys.start(d_key_TBHM, d_beta_TBH1)
        self.lookup.start()
        self._d_gate, self._d_gamma = d_gate_TBH1.unbind(), d_gamma_TBH1.unbind()
        self._steep = (self.gamma_TBH1 / self.shifted_TBHN).unbind()
        self._apart = (self.found_TBHN - self.weights_TBHN[:-1]).unbind()
        windows = self.mixed_TBHW.flatten(1, 2).unfold(2, self.found_TBHN.shape[3], 1)  # T, B x H, S, N
        self._windows = windows.unbind()
        self._d_shifted = [each[0] for each in self._round(torch.empty_like(self.mixed_TBHW[:1]))]  # one for all steps

    def backward(self, t: int, d_vectors_BRM: Tensor) -> None:
        d_weights, d_write, d_reads = self._d_weights
        d_reads.add_(self.tape.unread(t, self._reads[t + 1], d_vectors_BRM))
        d_write.add_(self.tape.unwrite(t, self._write[t + 1]))
        # sharpening
        d_scores = of_softmax(d_weights, self._weights[t + 1])
        torch.sum(d_scores * self._logs[t], dim=-1, keepdim=True, out=self._d_gamma[t])
        d_shifted = d_scores.mul_(self._steep[t])
        # shifting
        d_ways_BHS = torch.bmm(self._windows[t], d_shifted.view(-1, d_shifted.shape[2], 1)).view(*d_shifted.shape[:2], -1)
        middle, left, of_left, right, of_right, *seen = self._d_shifted
        middle.copy_(d_shifted)
        left.copy_(of_left)
        right.copy_(of_right)
        d_mixed = torch.mul(seen[-1], self._ways[0][t])
        for place in range(1, len(seen)):
            d_mixed.addcmul_(seen[-1 - place], self._ways[place][t])
        # interpolation
        torch.sum(d_mixed * self._apart[t], dim=-1, keepdim=True, out=self._d_gate[t])
        d_found = d_mixed * self._gate[t]
        torch.sub(d_mixed, d_found, out=d_weights)
        self.lookup.backward(t, t, d_found)
        self.numbers.backward(t, d_ways_BHS)

    def state(self, t: int) -> tuple[Tensor, ...]:
        return self.tape.memory_TBMN[t].transpose(1, 2), self.weights_TBHN[t]

    def gradients(self) -> tuple[Tensor, ...]:
        return self.tape.d_memory_BMN.transpose(1, 2), self.d_heads_BHN
