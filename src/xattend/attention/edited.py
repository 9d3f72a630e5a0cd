"""Attention with a hand on it: rows of weights in place of a mechanism's own, positions never looked at, one place instead of a mean.

    a_t = the row given for step t, brought to a sum of one over the positions that are left; else the mechanism's own weights
    c_t = what the mechanism makes of those weights, as if they had been its own; coverage and the like go on from them, too

The lecture's oracle ("Main ghar ja raha hoon": t_3 = [0 0 .5 .5 0]) as a thing to do to any trained model: `edited` gives a decoder
whose attentions are wrapped in this, all layers and hops alike, every head and every beam with the same row. The weights of the
network are shared and nothing of the decoder itself changes. A given row is mixed as it is, also where the mechanism would draw one
place (hard).

masked     positions that are out of a mechanism's sight, as padding is. The encoder has read them all the same: what it put of them
           into its summary or into neighbouring states stays. A window that goes by the length (local-m, local-p) takes that of what is left
context    "own" is the mechanism's; "soft" the mean by its weights; "sampled" one place drawn from them, "argmax" the likeliest
           (Xu et al. 2015): the same weights, used in three ways. Each head of its own

>>> from xattend.attention.additive import Additive
>>> memory = Memory(torch.eye(3)[None], torch.ones(1, 3, dtype=torch.bool), torch.zeros(1, 3))
>>> attention = Edited(Additive(4, 3), Edit(rows={1: [1, 0, 3]}, masked=(0,)))
>>> bound = attention.bind(memory)
>>> attention.attend_all(torch.randn(1, 2, 4), bound, attention.start(bound))[0][0, 1].tolist()  # step 1 looks at position 2
[0.0, 0.0, 1.0]

Shapes: B batch, N hypotheses, T steps or queries, S source positions, H heads, D memory width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Literal, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend import tree
from xattend.attention.base import Attention, Bound
from xattend.attention.hard import EXPECTED, Hard
from xattend.attention.multi_head import MultiHead
from xattend.attention.none import NoAttention
from xattend.errors import UserError
from xattend.tree import Tree
from xattend.types import Memory

Context = Literal["own", "soft", "sampled", "argmax"]
Module = TypeVar("Module", bound=nn.Module)


@dataclass(frozen=True)
class Edit:
    """What is to be changed; checked when it is made, and against the source when that is known."""

    rows: Mapping[int, Sequence[float]] = field(default_factory=dict)
    masked: Sequence[int] = ()
    context: Context = "own"
    seed: int = 0  # of the places that are drawn

    def __post_init__(self) -> None:
        for step, row in self.rows.items():
            if step < 0:
                raise UserError(f"a row of attention for step {step}: steps are counted from 0")
            if not all(math.isfinite(weight) and weight >= 0 for weight in row):
                raise UserError(f"the row of attention for step {step} has a weight that is negative or no number: weights are 0 or more")

    def __bool__(self) -> bool:
        """Whether there is anything to change."""
        return bool(self.rows) or bool(self.masked) or self.context != "own"

    def also(self, other: Edit) -> Edit:
        """This edit and another one after it, whose word counts where both speak."""
        return Edit(
            {**self.rows, **other.rows}, sorted({*self.masked, *other.masked}), self.context if other.context == "own" else other.context, other.seed
        )

    def mask(self, mask_BS: Tensor) -> Tensor:
        """The positions that are left to look at."""
        left_BS = mask_BS.clone()
        for place in self.masked:
            if not (0 <= place < mask_BS.shape[1] and bool(mask_BS[:, place].all())):
                raise UserError(f"position {place} cannot be masked: the source has {int(mask_BS.sum(dim=1).min())} positions, counted from 0")
            left_BS[:, place] = False
        if bool((mask_BS.any(dim=1) & ~left_BS.any(dim=1)).any()):
            raise UserError("every position is masked: leave one to look at")
        return left_BS

    def table(self, left_BS: Tensor, real_BS: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
        """The rows as rows_BTS, and given_BT, which of the T steps have one. The last step never has: it stands for all that follow."""
        steps, (batch, places) = max(self.rows, default=-1) + 2, left_BS.shape
        rows_BTS, given_BT = like.new_zeros(batch, steps, places), left_BS.new_zeros(batch, steps)
        for step, row in self.rows.items():
            if len(row) != places or not bool(real_BS.all()):
                raise UserError(f"the row of attention for step {step} has {len(row)} weights, and the source {int(real_BS.sum(dim=1).min())} positions")
            row_S = torch.tensor(row, dtype=torch.float64, device=left_BS.device)
            row_S = row_S / row_S.max().clamp(min=torch.finfo(torch.float64).tiny)  # so that no sum is infinite
            row_BS = row_S * left_BS
            if bool((row_BS.sum(dim=1) == 0).any()):
                raise UserError(f"the row of attention for step {step} has no weight above 0{' at a position that is not masked' * bool(self.masked)}")
            rows_BTS[:, step], given_BT[:, step] = (row_BS / row_BS.sum(dim=1, keepdim=True)).to(like.dtype), True
        return rows_BTS, given_BT


class _Asked(NamedTuple):
    """What Edited binds: the mechanism's own, and the rows."""

    inner: Bound
    rows_BTS: Tensor
    given_BT: Tensor


class _Counted(NamedTuple):
    """Its state: how many steps each hypothesis has made, and the mechanism's own."""

    steps_B: Tensor
    inner: Tree


class Edited(Attention):
    """A mechanism, with an edit between it and its decoder."""

    def __init__(self, inner: Attention, edit: Edit) -> None:
        super().__init__(inner.query_size, inner.memory_size)
        if isinstance(inner, NoAttention):
            raise UserError("there is nothing to edit: this model's attention looks at no position")
        self.inner, self.edit = inner, edit
        self.heads, self.context_size = inner.heads, inner.context_size
        self.stateful = inner.stateful  # counting steps needs no memory of one's own for each beam
        self.draw = torch.Generator().manual_seed(edit.seed)

    def bind(self, memory: Memory) -> Bound:
        left_BS = self.edit.mask(memory.mask_BS)
        rows_BTS, given_BT = self.edit.table(left_BS, memory.mask_BS, memory.states_BSD)
        nothing_BSD = memory.states_BSD[:, :0]
        return Bound(nothing_BSD, nothing_BSD, left_BS, _Asked(self.inner.bind(replace(memory, mask_BS=left_BS)), rows_BTS, given_BT))

    def start(self, bound: Bound) -> _Counted:
        return _Counted(torch.zeros(len(bound.mask_BS), dtype=torch.long, device=bound.mask_BS.device), self.inner.start(bound.extra.inner))

    def attend(
        self, query_BQ: Tensor, bound: Bound, state: Tree, *, weights: bool = True
    ) -> tuple[Tensor, Tensor | None, Tree]:
        """As `Attention.attend`: several queries to a row of the memory are beams, all at steps of their own."""
        beams = len(query_BQ) // len(bound.mask_BS) if len(query_BQ) else 1
        query_BTQ, steps_BT = query_BQ.view(-1, beams, query_BQ.shape[1]), state.steps_B.view(-1, beams)
        context_BTD, weights_BTHS, inner = self._look(query_BTQ, steps_BT, bound.extra, state.inner, weights)
        after = _Counted(state.steps_B + 1, inner)
        return context_BTD.flatten(0, 1), None if weights_BTHS is None else weights_BTHS.flatten(0, 1), after

    def attend_all(
        self, query_BTQ: Tensor, bound: Bound, state: Tree, *, weights: bool = True
    ) -> tuple[Tensor, Tensor | None, Tree]:
        if self.stateful and query_BTQ.shape[1] != 1:
            return self._one_by_one(query_BTQ, bound, state)
        steps_BT = state.steps_B[:, None] + torch.arange(query_BTQ.shape[1], device=state.steps_B.device)
        context_BTD, weights_BTHS, inner = self._look(query_BTQ, steps_BT, bound.extra, state.inner, weights)
        return context_BTD, weights_BTHS, _Counted(state.steps_B + query_BTQ.shape[1], inner)

    def _look(
        self, query_BTQ: Tensor, steps_BT: Tensor, asked: _Asked, state: Tree, weights: bool
    ) -> tuple[Tensor, Tensor | None, Tree]:
        at_BT = steps_BT.clamp(max=asked.given_BT.shape[1] - 1)
        given_BT = asked.given_BT.gather(1, at_BT)
        changes = self.edit.context != "own" or bool(given_BT.any())
        context_BTD, own_BTHS, after = self.inner.attend_all(query_BTQ, asked.inner, state, weights=weights or changes)
        if not changes:
            return context_BTD, own_BTHS, after
        assert own_BTHS is not None
        self._must_be_a_sum(context_BTD, own_BTHS, asked.inner, state, after)
        rows_BTS = asked.rows_BTS.gather(1, at_BT[:, :, None].expand(-1, -1, asked.rows_BTS.shape[2]))
        used_BTHS = torch.where(given_BT[:, :, None, None], rows_BTS[:, :, None], self._used(own_BTHS))
        mixed_BTD, told = mixed(self.inner, used_BTHS, asked.inner, state, after)
        changed_BT = given_BT if self.edit.context == "own" else torch.ones_like(given_BT)
        if bool(changed_BT.all()):
            return mixed_BTD, used_BTHS, told
        # hypotheses of one batch may stand at different steps; a mechanism with a state is asked one step at a time
        assert not self.stateful or changed_BT.shape[1] == 1
        context_BTD = torch.where(changed_BT[:, :, None], mixed_BTD, context_BTD)
        return context_BTD, used_BTHS, tree.where(changed_BT[:, 0], told, after) if self.stateful else after

    def _must_be_a_sum(self, context_BTD: Tensor, own_BTHS: Tensor, bound: Bound, before: Tree, after: Tree) -> None:
        """A UserError if the mechanism's own weights do not give its own context back: then other weights would not give theirs either."""
        if mixed.dispatch(type(self.inner)) not in (mixed.dispatch(Attention), mixed.dispatch(MultiHead)):
            return  # it says itself what it makes of weights
        again_BTD, _ = mixed(self.inner, own_BTHS, bound, before, after)
        if again_BTD.shape != context_BTD.shape or not torch.allclose(again_BTD, context_BTD, rtol=1e-3, atol=1e-4):
            name = getattr(self.inner, "registered_name", type(self.inner).__name__)
            raise UserError(f"attention '{name}' cannot be edited: its context is not the sum of the states by its weights")

    def _used(self, own_BTHS: Tensor) -> Tensor:
        """The mechanism's weights, or the one place that is taken by them."""
        if self.edit.context in ("own", "soft"):
            return own_BTHS
        places = own_BTHS.shape[-1]
        if self.edit.context == "argmax":
            place_BTH = own_BTHS.argmax(dim=-1)
        else:
            chances_NS = own_BTHS.flatten(0, 2).float().cpu()
            chances_NS = chances_NS + (chances_NS.sum(dim=1, keepdim=True) == 0)  # a row that looks nowhere stays so, below
            place_BTH = torch.multinomial(chances_NS, 1, generator=self.draw).view(own_BTHS.shape[:3]).to(own_BTHS.device)
        return F.one_hot(place_BTH, places).to(own_BTHS.dtype) * (own_BTHS.sum(dim=-1, keepdim=True) > 0)


@singledispatch
def mixed(mechanism: Attention, weights_BTHS: Tensor, bound: Bound, before: Tree, after: Tree) -> tuple[Tensor, Tree]:
    """What a mechanism makes of given weights: context_BTD and its state after them.

    `before` and `after` are its states before and after the same queries with weights of its own. A mechanism that makes its context
    in a way of its own registers here how.
    """
    weights_BTS = weights_BTHS[:, :, 0]
    follows = mechanism.stateful and type(mechanism).advance is not Attention.advance  # others' states do not depend on the weights
    return weights_BTS @ bound.values_BSD, mechanism.advance(before, weights_BTS[:, 0], bound) if follows else after


@mixed.register
def _(mechanism: MultiHead, weights_BTHS: Tensor, bound: Bound, before: Tree, after: Tree) -> tuple[Tensor, Tree]:
    fold, inner = mechanism._fold, mechanism._fold(bound.extra.inner)
    weights_NT1S = weights_BTHS.transpose(1, 2).flatten(0, 1)[:, :, None]
    heads_NTd, state = mixed(mechanism.head, weights_NT1S, inner, fold(before), fold(after))
    heads_BTD = torch.unflatten(heads_NTd, 0, (-1, mechanism.heads)).transpose(1, 2).flatten(2)
    return mechanism.out(heads_BTD), mechanism._unfold(state)


@mixed.register
def _(mechanism: Hard, weights_BTHS: Tensor, bound: Bound, before: Tree, after: Tree) -> tuple[Tensor, Tree]:
    content, weights_BTS = mechanism.content, weights_BTHS[:, :, 0]
    inner = content.advance(before.inner, weights_BTS[:, 0], bound) if content.stateful else after.inner
    last_BS = weights_BTS[:, -1]
    place_B = torch.where(last_BS.amax(dim=1) == 1, last_BS.argmax(dim=1), EXPECTED)
    return weights_BTS @ bound.values_BSD, after._replace(place_B=place_B, inner=inner)


def edited(module: Module, edit: Edit) -> Module:
    """The module (a decoder) with its attentions edited. It shares all weights with the given one, which stays as it is."""
    if not edit:
        return module
    found, count = _rewired(module, edit)
    if not count:
        raise UserError("there is nothing to edit: this model has no attention")
    return found


def _rewired(module: Module, edit: Edit) -> tuple[Module, int]:
    """A copy of the module down to its attentions, and how many there are; what holds none is not copied."""
    children, count = dict(module._modules), 0
    for name, child in module._modules.items():
        if isinstance(child, Attention):  # the outermost: what it is made of is its own affair
            told = Edited(child.inner, child.edit.also(edit)) if isinstance(child, Edited) else Edited(child, edit)
            children[name] = told.train(child.training)
            count += 1
        elif child is not None:
            children[name], inside = _rewired(child, edit)
            count += inside
    if not count:
        return module, 0
    found = copy(module)
    found._modules = children
    return found, count
