"""Content addressing of a group of heads in all steps of a sequence, with its backward; the formula is that of content.py.

    near = k . M_i / |M_i|,   w = softmax_i(c near_i),   c = beta / |k|

    dL/dnear = c dL/ds                   s = c near, what the softmax is taken of
    dL/dk    = sum_i (dL/dnear)_i M_i / |M_i| - k q / |k|^2,                    q = sum_i (dL/dnear)_i near_i
    dL/dM_i  = k (dL/dnear)_i / |M_i| - M_i (dL/dnear)_i near_i / |M_i|^2       summed over heads
    dL/dbeta = q / beta                  beta is above 0, since its number is cut

>>> keys = Keys(torch.tensor([[[[3.0, 0.0]]]]), torch.tensor([[[[9.0]]]]))
>>> tape = Tape(torch.tensor([[[2.0, 0.0], [0.0, 1.0]]]), torch.zeros(1, 1, 2), torch.zeros(1, 1, 2), reads=1)
>>> tape.measure(0)
>>> keys.forward(0)
>>> Lookup(keys, slice(None), tape, torch.empty(1, 1, 1, 2)).forward(0, 0).round(decimals=3).tolist()
[[[1.0, 0.0]]]

Shapes: T steps, B batch, H heads, M width of a slot, N slots.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.addressing.content import SMALL
from xattend.addressing.numbers import of_softmax
from xattend.addressing.tape import Tape


class Keys:
    """The keys of all heads, and c = beta / |k|."""

    def __init__(self, key_TBHM: Tensor, beta_TBH1: Tensor) -> None:
        self.key_TBHM, self.beta_TBH1 = key_TBHM, beta_TBH1
        self.over_TBH1, self.scale_TBH1 = (beta_TBH1.new_empty(beta_TBH1.shape) for _ in range(2))
        self._key, self._beta, self._over, self._scale = (each.unbind() for each in (key_TBHM, beta_TBH1, self.over_TBH1, self.scale_TBH1))

    def forward(self, t: int) -> None:
        key_BHM = self._key[t]
        torch.sum(key_BHM * key_BHM, dim=-1, keepdim=True, out=self._over[t]).add_(SMALL).rsqrt_()
        torch.mul(self._beta[t], self._over[t], out=self._scale[t])

    def start(self, d_key_TBHM: Tensor, d_beta_TBH1: Tensor) -> None:
        """Before a backward: where gradients are put."""
        self.d_key_TBHM, self.d_beta_TBH1 = d_key_TBHM, d_beta_TBH1
        self.pull_TBH1, self.per_beta_TBH1 = self.over_TBH1.square(), self.beta_TBH1.reciprocal()


class Lookup:
    """Some of the heads, `place`, look into the memory; what they find is put into `found_TBHN`."""

    def __init__(self, keys: Keys, place: slice, tape: Tape, found_TBHN: Tensor) -> None:
        self.keys, self.place, self.tape = keys, place, tape
        self.found, self._near = found_TBHN.unbind(), found_TBHN.new_empty(found_TBHN.shape).unbind()
        self._key, self._scale = keys.key_TBHM[:, :, place].unbind(), keys.scale_TBH1[:, :, place].unbind()
        self._key_across = keys.key_TBHM[:, :, place].transpose(2, 3).unbind()

    def forward(self, t: int, moment: int) -> Tensor:
        """found_BHN in step t, in the memory before step `moment`."""
        near_BHN = torch.bmm(self._key[t], self.tape.memory[moment], out=self._near[t]).mul_(self.tape.over[moment])
        return torch.softmax(near_BHN * self._scale[t], dim=-1, out=self.found[t])

    def start(self) -> None:
        """Before a backward, when the keys have started."""
        keys, place = self.keys, self.place
        self._pull, self._per_beta = keys.pull_TBH1[:, :, place].unbind(), keys.per_beta_TBH1[:, :, place].unbind()
        self._d_key, self._d_beta = keys.d_key_TBHM[:, :, place].unbind(), keys.d_beta_TBH1[:, :, place].unbind()

    def backward(self, t: int, moment: int, d_found_BHN: Tensor) -> None:
        """Puts the gradients of keys and of beta where they belong, and adds that of the memory."""
        tape = self.tape
        d_near = of_softmax(d_found_BHN, self.found[t]).mul_(self._scale[t])
        scored = d_near * self._near[t]
        q_BH1 = scored.sum(dim=-1, keepdim=True)
        torch.mul(q_BH1, self._per_beta[t], out=self._d_beta[t])
        d_dots = d_near.mul_(tape.over[moment])
        d_key = torch.bmm(d_dots, tape.across[moment])
        torch.addcmul(d_key, self._key[t], q_BH1.mul_(self._pull[t]), value=-1, out=self._d_key[t])
        pulled_B1N = (scored if scored.shape[1] == 1 else scored.sum(dim=1, keepdim=True)).mul_(tape.over_squared[moment])
        tape.d_memory_BMN.baddbmm_(self._key_across[t], d_dots).addcmul_(tape.memory[moment], pulled_B1N, value=-1)
