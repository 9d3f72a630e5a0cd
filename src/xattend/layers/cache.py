"""Keys and values of the positions a Transformer decoder has read, kept so that a beam never moves them.

The K hypotheses of a sentence write one slot each at every step, into one buffer a sentence. Which slots a hypothesis
descends from is a row of yes and no; when hypotheses change places, only those rows do. A query then looks at all slots
of its sentence through that mask: a little more arithmetic, and no copying of all that was read before.

    slots     0 1 2 | 3 4 5 | 6 7 8        three steps of three beams
    beam 0    x . . | . x . | x . .        began as 0, went on as 4, is 6 now
    beam 1    x . . | . x . | . x .

Shapes: B sentences, K beams, N = B x K rows, M slots, D width.

>>> cache = Cache(rows=1).repeat(2).append(torch.ones(2, 4), torch.ones(2, 4)).take(torch.tensor([1, 1]))
>>> cache.append(torch.ones(2, 4), torch.ones(2, 4)).visible_BKM.int().tolist()
[[[0, 1, 1, 0], [0, 1, 0, 1]]]
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.tree import Node

ROOM = 16  # steps there is room for at first; it doubles when full


class _Buffer:
    """Grows in place, for whoever appends first; `used` tells the others that they must copy."""

    def __init__(self, keys_BMD: Tensor, values_BMD: Tensor, used: int) -> None:
        self.keys_BMD, self.values_BMD, self.used = keys_BMD, values_BMD, used


class Cache(Node):
    """Of one layer. Like every state it is not changed by a step: `append` gives another one.

    length   positions read
    width    beams to a sentence
    """

    def __init__(
        self, rows: int, *, width: int = 1, length: int = 0, slots: int = 0, buffer: _Buffer | None = None, visible_NM: Tensor | None = None
    ) -> None:
        self.rows, self.width, self.length, self.slots = rows, width, length, slots
        self._buffer, self._visible_NM = buffer, visible_NM

    @property
    def keys_BMD(self) -> Tensor:
        assert self._buffer is not None
        return self._buffer.keys_BMD[:, : self.slots]

    @property
    def values_BMD(self) -> Tensor:
        assert self._buffer is not None
        return self._buffer.values_BMD[:, : self.slots]

    @property
    def visible_BKM(self) -> Tensor | None:
        """Which slots each hypothesis descends from; None if each sees all of its sentence's."""
        return None if self._visible_NM is None else torch.unflatten(self._visible_NM, 0, (-1, self.width))

    def append(self, key_ND: Tensor, value_ND: Tensor) -> Cache:
        """One more position for every row."""
        key_BKD, value_BKD = (torch.unflatten(new, 0, (-1, self.width)) for new in (key_ND, value_ND))
        visible_NM = None
        if self.width > 1:
            own_NK = torch.eye(self.width, dtype=torch.bool, device=key_ND.device).repeat(len(key_BKD), 1)
            visible_NM = own_NK if self._visible_NM is None else torch.cat([self._visible_NM, own_NK], dim=1)
        return Cache(
            len(key_ND), width=self.width, length=self.length + 1, slots=self.slots + self.width,
            buffer=self._grown(key_BKD, value_BKD), visible_NM=visible_NM,
        )  # fmt: skip

    def _grown(self, key_BKD: Tensor, value_BKD: Tensor) -> _Buffer:
        buffer, end = self._buffer, self.slots + self.width
        if torch.is_grad_enabled():  # what a gradient needs must not be written over
            if buffer is None:
                return _Buffer(key_BKD, value_BKD, end)
            return _Buffer(torch.cat([self.keys_BMD, key_BKD], dim=1), torch.cat([self.values_BMD, value_BKD], dim=1), end)
        if buffer is None or buffer.used != self.slots or end > buffer.keys_BMD.shape[1]:
            room = max(ROOM * self.width, 2 * end)
            shape = (len(key_BKD), room, key_BKD.shape[2])
            buffer = _Buffer(key_BKD.new_empty(shape), value_BKD.new_empty(shape), self.slots)
            if self.slots:
                buffer.keys_BMD[:, : self.slots], buffer.values_BMD[:, : self.slots] = self.keys_BMD, self.values_BMD
        buffer.keys_BMD[:, self.slots : end], buffer.values_BMD[:, self.slots : end] = key_BKD, value_BKD
        buffer.used = end
        return buffer

    def take(self, rows_N: Tensor) -> Cache:
        """Rows within their sentences, whole sentences, or any rows: from free to dear."""
        sentence_N = rows_N // self.width
        if len(rows_N) % self.width == 0:
            sentence_BK = sentence_N.view(-1, self.width)
            if bool((sentence_BK == sentence_BK[:, :1]).all()):
                visible_NM = None if self._visible_NM is None else self._visible_NM[rows_N]
                return self._sentences(sentence_BK[:, 0], visible_NM)
        return self._apart(rows_N)

    def _sentences(self, sentence_B: Tensor, visible_NM: Tensor | None) -> Cache:
        buffer, rows = self._buffer, len(sentence_B) * self.width
        unmoved = rows == self.rows and torch.equal(sentence_B, torch.arange(len(sentence_B), device=sentence_B.device))
        if buffer is not None and not unmoved:
            buffer = _Buffer(self.keys_BMD[sentence_B], self.values_BMD[sentence_B], self.slots)
        return Cache(rows, width=self.width, length=self.length, slots=self.slots, buffer=buffer, visible_NM=visible_NM)

    def _apart(self, rows_N: Tensor) -> Cache:
        """Every row a sentence of its own, with a copy of what it descends from."""
        if self._buffer is None or self._visible_NM is None:
            return Cache(self.rows, length=self.length, slots=self.slots, buffer=self._buffer)._sentences(rows_N // self.width, None)
        slot_N1 = self._visible_NM[rows_N].nonzero()[:, 1].view(len(rows_N), -1)
        sentence_N1 = (rows_N // self.width)[:, None]
        buffer = _Buffer(self.keys_BMD[sentence_N1, slot_N1], self.values_BMD[sentence_N1, slot_N1], slot_N1.shape[1])
        return Cache(len(rows_N), length=self.length, slots=slot_N1.shape[1], buffer=buffer)

    def repeat(self, times: int) -> Cache:
        """Each row becomes `times` beams of one sentence, which share what was read so far."""
        if self.width > 1:
            return self._apart(torch.arange(self.rows)).repeat(times)
        visible_NM = None
        if times > 1 and self._buffer is not None:
            visible_NM = torch.ones(self.rows * times, self.slots, dtype=torch.bool, device=self._buffer.keys_BMD.device)
        return Cache(
            self.rows * times, width=times, length=self.length, slots=self.slots, buffer=self._buffer, visible_NM=visible_NM
        )
