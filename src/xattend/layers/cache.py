"""Keys and values of the positions a Transformer decoder has read, kept so that a beam never moves them.

The K hypotheses of a sentence write one slot each at every step, into one buffer a sentence. Which slots a hypothesis
descends from is a row of yes and no; when hypotheses change places, only those rows do. A query then looks at all slots
of its sentence through that mask: a little more arithmetic, and no copying of all that was read before.

    slots     0 1 2 | 3 4 5 | 6 7 8        three steps of three beams
    beam 0    x . . | . x . | x . .        began as 0, went on as 4, is 6 now
    beam 1    x . . | . x . | . x .

All layers read the same positions, so one cache serves them all: `grow` once a step, then `put` for each layer.

Shapes: B sentences, K beams, N = B x K rows, M slots, H heads, d width of a head, 2 = keys and values.

>>> new = torch.ones(2, 1, 1, 2, 4)
>>> cache = Cache(1, new.device).repeat(2).grow()
>>> keys, values = cache.put(0, new)
>>> cache = cache.take(torch.tensor([1, 1])).grow()
>>> cache.put(0, new)[0].shape, cache.visible_BKM.int().tolist()
(torch.Size([1, 1, 4, 4]), [[[0, 1, 1, 0], [0, 1, 0, 1]]])
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.layers.dot_attention import bias_of
from xattend.tree import Node

ROOM = 16  # steps there is room for at first; it doubles when full


class _Buffers:
    """One [2, B, H, M, d] a layer. Written in place by whoever goes on first; `used` tells the others that they must copy."""

    def __init__(self, layers: list[Tensor], room: int, used: int) -> None:
        self.layers, self.room, self.used = layers, room, used


class Cache(Node):
    """Like every state it is not changed by a step: `grow` gives another one, and `put` fills the place that this made.

    length   positions read
    width    beams to a sentence
    """

    def __init__(
        self, rows: int, device: torch.device, *, width: int = 1, length: int = 0, slots: int = 0,
        buffers: _Buffers | None = None, visible_NM: Tensor | None = None,
    ) -> None:  # fmt: skip
        self.rows, self.device, self.width, self.length, self.slots = rows, device, width, length, slots
        self._buffers = buffers or _Buffers([], 0, slots)
        self._visible_NM = visible_NM
        self._bias_B1KM: Tensor | None = None

    @property
    def visible_BKM(self) -> Tensor | None:
        """Which slots each hypothesis descends from; None if each sees all of its sentence's."""
        return None if self._visible_NM is None else self._visible_NM.view(-1, self.width, self._visible_NM.shape[1])

    def bias_like(self, query: Tensor) -> Tensor | None:
        """The same to be added to scores, made once for all layers."""
        visible_BKM = self.visible_BKM
        if visible_BKM is not None and self._bias_B1KM is None:
            self._bias_B1KM = bias_of(visible_BKM.unsqueeze(1), query)
        return self._bias_B1KM

    def grow(self) -> Cache:
        """A place for one more position of every row, in every layer."""
        visible_NM = self._visible_NM
        if self.width > 1:
            own_NK = torch.eye(self.width, dtype=torch.bool, device=self.device).repeat(self.rows // self.width, 1)
            visible_NM = own_NK if visible_NM is None else torch.cat([visible_NM, own_NK], dim=1)
        return Cache(
            self.rows, self.device, width=self.width, length=self.length + 1, slots=self.slots + self.width,
            buffers=self._with_room(), visible_NM=visible_NM,
        )  # fmt: skip

    def _with_room(self) -> _Buffers:
        old, end = self._buffers, self.slots + self.width
        if torch.is_grad_enabled():  # what a gradient needs must not be written over: `put` makes new tensors
            return _Buffers(self._filled(), self.slots, end)
        if old.used == self.slots and end <= old.room:
            old.used = end
            return old
        room = max(ROOM * self.width, 2 * end)
        layers = []
        for filled in self._filled():
            layers.append(filled.new_empty(*filled.shape[:3], room, filled.shape[4]))
            layers[-1][:, :, :, : self.slots] = filled
        return _Buffers(layers, room, end)

    def put(self, layer: int, new_2BHKd: Tensor) -> tuple[Tensor, Tensor]:
        """One layer's keys and values of the new position go in; its keys_BHMd and values_BHMd of all positions come out."""
        layers, begin = self._buffers.layers, self.slots - self.width
        if torch.is_grad_enabled():
            grown = torch.cat([layers[layer], new_2BHKd], dim=3) if begin else new_2BHKd
            layers[layer : layer + 1] = [grown]
            return grown[0], grown[1]
        if layer == len(layers):
            two, batch, heads, _, width = new_2BHKd.shape
            layers.append(new_2BHKd.new_empty(two, batch, heads, self._buffers.room, width))
        layers[layer][:, :, :, begin : self.slots] = new_2BHKd
        filled = layers[layer][:, :, :, : self.slots]
        return filled[0], filled[1]

    def _filled(self) -> list[Tensor]:
        return [layer[:, :, :, : self.slots] for layer in self._buffers.layers]

    def take(self, rows_N: Tensor) -> Cache:
        """Rows within their sentences, whole sentences, or any rows: from free to dear."""
        if len(rows_N) % self.width == 0:
            sentence_BK = (rows_N // self.width).view(-1, self.width)
            if self.width == 1 or bool((sentence_BK == sentence_BK[:, :1]).all()):
                visible_NM = None if self._visible_NM is None else self._visible_NM[rows_N]
                return self._sentences(sentence_BK[:, 0], visible_NM)
        return self._apart(rows_N)

    def _sentences(self, sentence_B: Tensor, visible_NM: Tensor | None) -> Cache:
        buffers, rows = self._buffers, len(sentence_B) * self.width
        if not (rows == self.rows and torch.equal(sentence_B, torch.arange(len(sentence_B), device=sentence_B.device))):
            buffers = _Buffers([filled[:, sentence_B] for filled in self._filled()], self.slots, self.slots)
        return Cache(
            rows, self.device, width=self.width, length=self.length, slots=self.slots, buffers=buffers, visible_NM=visible_NM
        )

    def _apart(self, rows_N: Tensor) -> Cache:
        """Every row a sentence of its own, with a copy of what it descends from."""
        if self._visible_NM is None:
            alone = Cache(self.rows // self.width, self.device, length=self.length, slots=self.slots, buffers=self._buffers)
            return alone._sentences(rows_N // self.width, None)
        slot_NT = self._visible_NM[rows_N].nonzero()[:, 1].view(len(rows_N), -1)
        sentence_N1, slots = (rows_N // self.width)[:, None], slot_NT.shape[1]
        layers = [filled.transpose(2, 3)[:, sentence_N1, slot_NT].transpose(2, 3) for filled in self._filled()]
        return Cache(len(rows_N), self.device, length=self.length, slots=slots, buffers=_Buffers(layers, slots, slots))

    def repeat(self, times: int) -> Cache:
        """Each row becomes `times` beams of one sentence, which share what was read so far."""
        if self.width > 1:
            return self._apart(torch.arange(self.rows, device=self.device)).repeat(times)
        visible_NM = None
        if times > 1 and self.slots:
            visible_NM = torch.ones(self.rows * times, self.slots, dtype=torch.bool, device=self.device)
        return Cache(
            self.rows * times, self.device, width=times, length=self.length, slots=self.slots,
            buffers=self._buffers, visible_NM=visible_NM,
        )  # fmt: skip
