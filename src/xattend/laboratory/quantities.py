"""What hard attention maximises, exactly and as it is approximated: mean over the bench's rows, in nats.

    likelihood   log p(y | a) = log sum_s p(s | a) p(y | s, a)            every path summed
    bound        L_s = sum_s p(s | a) log p(y | s, a)                     every path summed
    gap          likelihood - bound = KL(p(s | a) || p(s | y, a))
    drawn        the bound from drawn paths, and its standard error
    soft         log p(y | E[z]): the same weights used as soft attention
    by_step      sum_t log sum_i a_ti p(y_t | z_i, h_t), with h_t that of soft attention: places summed step by step

and the two steps that lead from the expectation to soft attention (Xu et al. 2015, section 4.2):

    NWGM[p(y_t = k)] = prod_i p_i(k)^a_i / sum_j prod_i p_i(j)^a_i = softmax(E[n])_k      an identity     -> identity
    E[n] = n(E[z]) if the logits n are linear in the context                                              -> linear
    ... and of this decoder, whose readout may not be linear: largest difference of probabilities         -> readout
    E[h_T] is h_T computed from E[z] to first order only                                                  -> states, relative
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from xattend.attention.hard import DRAW, EXPECTED, Drawn, follow
from xattend.laboratory.bench import Bench
from xattend.objectives.base import inputs_and_labels
from xattend.objectives.paths import Exact, all_one, exact, walk
from xattend.tree import Tree
from xattend.types import Memory

DRAWS = 2000  # paths a row, for the bound


@dataclass(frozen=True)
class Quantities:
    """See above; `states` is None for a decoder that keeps no state but a cache."""

    paths: int
    likelihood: float
    bound: float
    drawn: float
    drawn_error: float
    soft: float
    by_step: float
    identity: float
    linear: float
    readout: float
    states: float | None

    @property
    def gap(self) -> float:
        return self.likelihood - self.bound


@torch.no_grad()
def quantities(bench: Bench, draws: int = DRAWS) -> Quantities:
    """All of them. Draws from torch's random state."""
    memory, target = bench.read()
    start = bench.decoder.start(memory)
    whole = exact(bench.decoder, memory, target)
    soft = walk(bench.decoder, all_one(start, EXPECTED), target)
    words_BNT, *_ = walk(bench.decoder, all_one(start.beams(draws), DRAW), target).rows(draws)
    words_BN = words_BNT.sum(dim=2)
    by_step, identity, linear, readout = _along_soft(bench, memory)
    return Quantities(
        paths=whole.log_prior_BN.shape[1], likelihood=float(whole.log_marginal_B.mean()), bound=float(whole.bound_B.mean()),
        drawn=float(words_BN.mean()), drawn_error=math.sqrt(float(words_BN.var(dim=1).sum()) / draws) / len(words_BN),
        soft=float(soft.words_nT.sum(dim=1).mean()), by_step=by_step, identity=identity, linear=linear, readout=readout,
        states=_states(whole, soft.state.moving),
    )  # fmt: skip


def _along_soft(bench: Bench, memory: Memory) -> tuple[float, float, float, float]:
    """Soft attention's own path, and at each of its steps a look at every place alone."""
    inputs_BT, labels_BT, mask_BT = inputs_and_labels(bench.target)
    batch, places = memory.mask_BS.shape
    each_n1 = torch.arange(places).repeat(batch)[:, None]
    readout_DV = torch.randn(memory.states_BSD.shape[2], bench.decoder.output.out_features, dtype=memory.states_BSD.dtype)
    state, words, identity, linear, readout = all_one(bench.decoder.start(memory), EXPECTED), [], [], [], []
    for t, token_B in enumerate(inputs_BT.unbind(dim=1)):
        fan = bench.decoder.step(token_B.repeat_interleave(places), follow(state.beams(places), each_n1))
        step = bench.decoder.step(token_B, state)
        state = step.state
        weights_BL1 = step.looked()[:, 0, :, None]
        logits_BLV = torch.unflatten(fan.logits_BV, 0, (batch, places))
        label_BL1 = labels_BT[:, t, None, None].expand(-1, places, 1)
        own_BL = logits_BLV.log_softmax(dim=-1).gather(2, label_BL1).squeeze(2)
        words.append((weights_BL1[:, :, 0].clamp(min=torch.finfo(own_BL.dtype).tiny).log() + own_BL).logsumexp(dim=1) * mask_BT[:, t])
        mean_BV = geometric_mean(logits_BLV, weights_BL1)
        identity.append((mean_BV - (weights_BL1 * logits_BLV).sum(dim=1).softmax(dim=-1)).abs().max())
        readout.append((mean_BV - step.logits_BV.softmax(dim=-1)).abs().max())
        expected_BD = (weights_BL1 * memory.states_BSD).sum(dim=1)
        linear_BV = geometric_mean(memory.states_BSD @ readout_DV, weights_BL1)
        linear.append((linear_BV - (expected_BD @ readout_DV).softmax(dim=-1)).abs().max())
    largest = [float(torch.stack(each).max()) for each in (identity, linear, readout)]
    return float(torch.stack(words).sum(dim=0).mean()), largest[0], largest[1], largest[2]


def geometric_mean(logits_BLV: Tensor, weights_BL1: Tensor) -> Tensor:
    """The normalised weighted geometric mean of softmax(logits) over places, by its definition: a product of powers.

    >>> geometric_mean(torch.tensor([[[0.0, 0.0], [0.0, 2.0]]]), torch.tensor([[[0.5], [0.5]]]))  # softmax of the mean logits, (0, 1)
    tensor([[0.2689, 0.7311]])
    """
    product_BV = logits_BLV.softmax(dim=-1).pow(weights_BL1).prod(dim=1)
    return product_BV / product_BV.sum(dim=-1, keepdim=True)


def _states(whole: Exact, soft: Tree) -> float | None:
    """|E[h] - h(E[z])| / |E[h]| after the last step."""
    weights_BN = whole.log_prior_BN.exp()
    apart, length, found = 0.0, 0.0, list(zip(_floats(whole.walk.state.moving), _floats(soft), strict=True))
    for every_nD, one_BD in found:
        mean_BD = (weights_BN[:, :, None] * every_nD.reshape(*weights_BN.shape, -1)).sum(dim=1)
        apart += float((mean_BD - one_BD.reshape(len(mean_BD), -1)).square().sum())
        length += float(mean_BD.square().sum())
    return math.sqrt(apart / length) if length else None


def _floats(tree: Tree) -> list[Tensor]:
    """What a decoder remembers, but for where it looked."""
    if isinstance(tree, Tensor):
        return [tree] if tree.is_floating_point() else []
    if isinstance(tree, Drawn) or not isinstance(tree, (dict, tuple)):
        return []
    return [found for part in (tree.values() if isinstance(tree, dict) else tree) for found in _floats(part)]
