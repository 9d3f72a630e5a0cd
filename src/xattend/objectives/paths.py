"""Hard attention's paths: a target read along the places that are drawn or given, and sums over every path there is.

    p(y | a) = sum_s p(s | a) p(y | s, a)      s = s_1 .. s_T, one of L places a step: L^T paths
    L_s      = sum_s p(s | a) log p(y | s, a)  <=  log p(y | a)                         (Xu et al. 2015, equation 10)

p(s | a) is short for prod_t p(s_t | s_<t, y_<t, a): where a step looks depends, through the decoder's state, on all that came
before. So the sum is over whole paths and not step by step, and can be done for a few places and steps alone. The gap between the
two is KL(p(s | a) || p(s | y, a)): what the places would still learn from the words.

Shapes: B rows, N paths a row, T target steps, L places.

>>> every_path(3, 2).tolist()
[[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1], [2, 2]]
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from xattend.attention.hard import drawn, follow
from xattend.decoders.base import Decoder
from xattend.errors import UserError
from xattend.objectives.base import inputs_and_labels
from xattend.types import Memory, Padded, State

PATHS = 4096  # a row has at most so many when all are summed


class Walk(NamedTuple):
    """A target read along one path a row of the decoder's state; n = B x N.

    words_nT     log p(y_t | y_<t, s_<=t, a); 0 at padding
    learnt_nT    the same, but for a share of it that is the mean over all words (label smoothing)
    places_nT    log p(s_t | s_<t, y_<t, a), at padding too; 0 where no single place was looked at
    entropy_nT   of the distribution of s_t
    mask_nT      which steps are real
    state        after the last step
    """

    words_nT: Tensor
    learnt_nT: Tensor
    places_nT: Tensor
    entropy_nT: Tensor
    mask_nT: Tensor
    state: State

    def rows(self, paths: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The first five as [B, N, T]."""
        words, learnt, places, entropy, mask = (torch.unflatten(part, 0, (-1, paths)) for part in self[:5])
        return words, learnt, places, entropy, mask


def walk(decoder: Decoder, state: State, target: Padded, *, smoothing: float = 0.0) -> Walk:
    """Reads the target step by step; `state` may have several paths to a row of it, one after the other."""
    if not drawn(state.moving):
        raise UserError("this decoder draws no places to look at: set attention.kind = \"hard\"")
    inputs_BT, labels_BT, mask_BT = inputs_and_labels(target)
    paths = len(drawn(state.moving)[0].place_B) // len(inputs_BT)
    inputs_nT, labels_nT, mask_nT = (part.repeat_interleave(paths, dim=0) for part in (inputs_BT, labels_BT, mask_BT))
    words, learnt, sums = [], [], [_sums(state)]
    for token_n, label_n in zip(inputs_nT.unbind(dim=1), labels_nT.unbind(dim=1), strict=True):
        step = decoder.step(token_n, state)
        state = step.state
        log_p_nV = step.logits_BV.log_softmax(dim=1)
        words.append(log_p_nV.gather(1, label_n[:, None]).squeeze(1))
        learnt.append((1 - smoothing) * words[-1] + smoothing * log_p_nV.mean(dim=1) if smoothing else words[-1])
        sums.append(_sums(state))
    places_nT, entropy_nT = (torch.stack(part, dim=1).diff(dim=1) for part in zip(*sums, strict=True))
    words_nT, learnt_nT = (torch.stack(part, dim=1).masked_fill(~mask_nT, 0.0) for part in (words, learnt))
    return Walk(words_nT, learnt_nT, places_nT, entropy_nT, mask_nT, state)


def _sums(state: State) -> tuple[Tensor, Tensor]:
    """What has been added up so far, over all of the decoder's attentions."""
    every = drawn(state.moving)
    return torch.stack([one.log_prob_B for one in every]).sum(dim=0), torch.stack([one.entropy_B for one in every]).sum(dim=0)


def all_one(state: State, word: int) -> State:
    """The state, with one of hard attention's words for all of its steps: LIKELIEST, EXPECTED or DRAW."""
    return follow(state, torch.full_like(drawn(state.moving)[0].place_B, word)[:, None]) if drawn(state.moving) else state


def every_path(places: int, steps: int) -> Tensor:
    """All L^T paths: paths_NT."""
    return torch.cartesian_prod(*[torch.arange(places)] * steps).view(-1, steps)


class Exact(NamedTuple):
    """Sums over every path.

    log_marginal_B   log p(y | a)
    bound_B          L_s
    log_prior_BN     log p(s | a) of each path, which also holds the draws after a row's end
    log_words_BN     log p(y | s, a)
    walk             the paths themselves, n = B x N
    """

    log_marginal_B: Tensor
    bound_B: Tensor
    log_prior_BN: Tensor
    log_words_BN: Tensor
    walk: Walk


def exact(decoder: Decoder, memory: Memory, target: Padded, *, most: int = PATHS) -> Exact:
    """Every path of every row, with gradients. Dropout should be off: each path would draw its own."""
    start = decoder.start(memory)
    found = drawn(start.moving)
    if len(found) > 1:
        raise UserError(f"all paths are summed for one hard attention, and this decoder has {len(found)}: set decoder.layers = 1")
    places, steps = memory.mask_BS.shape[1], target.values.shape[1] - 1
    if places**steps > most:
        raise UserError(f"{places} places and {steps} steps have {places**steps:,} paths, more than {most:,}: take fewer places or steps")
    path_NT = every_path(places, steps).to(memory.mask_BS.device)
    state = follow(start.beams(len(path_NT)), path_NT.repeat(len(target.values), 1)) if found else start
    read = walk(decoder, state, target)
    words_BNT, _, places_BNT, _, _ = read.rows(len(path_NT))
    words_BN, prior_BN = words_BNT.sum(dim=2), places_BNT.sum(dim=2)
    return Exact((prior_BN + words_BN).logsumexp(dim=1), (prior_BN.exp() * words_BN).sum(dim=1), prior_BN, words_BN, read)


def log_marginal(decoder: Decoder, memory: Memory, target: Padded, *, most: int = PATHS) -> Tensor:
    """log p(y | a) of each row, every path summed: [B]."""
    return exact(decoder, memory, target, most=most).log_marginal_B
