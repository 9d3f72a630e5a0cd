"""The HMM alignment model (Vogel, Ney & Tillmann 1996), with NULL as in Och & Ney 2003: words that stand together stay together.

    p(f, a | e) = prod_j p(a_j | a_{j-1}) t(f_j | e_{a_j})
    p(i | i') = (1 - p_0) s(i - i') / sum_{l=1..I} s(l - i')        p(NULL | i') = p_0

A target word from NULL remembers the last source position i', and the next jump is from there; the first jump is from the place
before the first word. So all that the future depends on is the last position l (0 = none yet), and the chain is over I + 1 of them:

    m_j(l) = p_0 t(f_j | NULL) m_{j-1}(l) + (1 - p_0) t(f_j | e_l) sum_{l'} m_{j-1}(l') p(l | l')       m_0 = (1, 0, ..., 0)

The expected counts of forward-backward give t as in model 1. For the widths Vogel takes relative frequencies, s(d) = c(d) / sum c;
but jumps over an end of the sentence are never on offer, so that is no maximum and the likelihood may fall. Here

    s(d) <- c(d) / sum_{contexts where d is on offer} (n / sum_{d' on offer} s(d'))

with n the jumps made in a context (a position and a length): a step which never lowers it (Hunter 2004: MM for Luce's choice model).

>>> from xattend.alignment import ibm1
>>> corpus = Cooccurrence([["a", "b", "a"], ["a", "c"], ["b"]], [["A", "B", "A"], ["A", "C"], ["B"]])
>>> model = start(corpus, ibm1.step(corpus, ibm1.even(corpus))[0])
>>> for _ in range(5):
...     model, _ = step(corpus, model)
>>> viterbi(model, corpus.blocks[-1]).tolist()  # which A comes from which a, model 1 cannot know
[[0, 1, 2]]

Shapes: B sentence pairs of one block, T target words, S source words with NULL in front, I source words, L last positions
(0 = none yet, so L = S = I + 1), P different pairs of words, D jump widths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xattend.alignment.cooccurrence import Block, Cooccurrence, Floats, Ints

P_NULL = 0.2  # fixed, as in Och & Ney's experiments
MM_STEPS = 3  # on the widths, an iteration; each costs a few microseconds a sentence length


@dataclass(frozen=True)
class Hmm:
    """translation_P   t(f|e) of each pair of words that meet
    jump_D          s(d), width d at index d + longest - 1
    longest         source words of the longest sentence
    """

    translation_P: Floats
    jump_D: Floats
    longest: int

    def moves(self, length: int) -> Floats:
        """p(i | l) without the factor for NULL: moves_LI of sentences with so many source words."""
        width_LI = self.jump_D[_offsets(length, self.longest)]
        sum_L1 = width_LI.sum(axis=1, keepdims=True)
        # from a position that nothing ever jumped away from, all are alike
        return np.where(sum_L1 > 0, width_LI / np.where(sum_L1 > 0, sum_L1, 1.0), 1.0 / length)


def _offsets(length: int, longest: int) -> Ints:
    """Where in jump_D the width of each jump lies: from position l - 1 to i."""
    return np.arange(length)[None, :] - np.arange(-1, length)[:, None] + longest - 1


def start(corpus: Cooccurrence, translation_P: Floats) -> Hmm:
    """A table from model 1, and every jump equally likely."""
    widths = max(2 * corpus.longest, 1)  # from -(longest - 1) to +longest
    return Hmm(translation_P, np.full(widths, 1.0 / widths), corpus.longest)


def forward_backward(emission_BTS: Floats, moves_LI: Floats) -> tuple[Floats, Floats, Floats]:
    """What is known of the alignment when the whole sentence pair is.

    Gives log p(f | e) of each sentence pair, p(a_j = i | f, e) as posterior_BTS, and the expected jumps_LI, summed over the block.
    """
    B, T, S = emission_BTS.shape
    stay_BT1 = P_NULL * emission_BTS[:, :, :1]
    go_BTI = (1 - P_NULL) * emission_BTS[:, :, 1:]
    before_TBL, scale_TB1 = np.zeros((T + 1, B, S)), np.empty((T, B, 1))
    arrived_TBI = np.empty((T, B, S - 1))
    before_TBL[0, :, 0] = 1.0
    for t in range(T):
        arrived_TBI[t] = (before_TBL[t] @ moves_LI) * go_BTI[:, t]
        now_BL = before_TBL[t] * stay_BT1[:, t]
        now_BL[:, 1:] += arrived_TBI[t]
        scale_TB1[t] = now_BL.sum(axis=1, keepdims=True)
        before_TBL[t + 1] = now_BL / scale_TB1[t]
    posterior_BTS = np.empty_like(emission_BTS)
    jumps_LI = np.zeros_like(moves_LI)
    after_BL = np.ones((B, S))  # what is still to come, seen from each last position
    for t in reversed(range(T)):
        stay_B1 = stay_BT1[:, t] / scale_TB1[t]
        posterior_BTS[:, t, 0] = (before_TBL[t] * stay_B1 * after_BL).sum(axis=1)
        posterior_BTS[:, t, 1:] = arrived_TBI[t] / scale_TB1[t] * after_BL[:, 1:]
        go_BI = go_BTI[:, t] / scale_TB1[t] * after_BL[:, 1:]
        jumps_LI += before_TBL[t].T @ go_BI
        after_BL = go_BI @ moves_LI.T + stay_B1 * after_BL
    return np.log(scale_TB1[:, :, 0]).sum(axis=0), posterior_BTS, jumps_LI * moves_LI


def step(corpus: Cooccurrence, model: Hmm) -> tuple[Hmm, float]:
    """One iteration: the new model, and the log-likelihood under the old one."""
    expected_N = np.empty(len(corpus.pairs_N))
    jumps: dict[int, Floats] = {}  # by the number of source words
    log_likelihood = 0.0
    for block in corpus.blocks:
        length = block.pairs_BTS.shape[2] - 1
        log_B, posterior_BTS, jumps_LI = forward_backward(model.translation_P[block.pairs_BTS], model.moves(length))
        log_likelihood += float(log_B.sum())
        expected_N[block.places] = posterior_BTS.ravel()
        jumps[length] = jumps.get(length, 0.0) + jumps_LI
    return Hmm(corpus.translation(expected_N), _widths(model, jumps), model.longest), log_likelihood


def _widths(model: Hmm, jumps: dict[int, Floats]) -> Floats:
    """s(d) from the expected jumps."""
    jump_D, size = model.jump_D, len(model.jump_D)
    made_D = np.zeros(size)
    for length, jumps_LI in jumps.items():
        made_D += np.bincount(_offsets(length, model.longest).ravel(), weights=jumps_LI.ravel(), minlength=size)
    for _ in range(MM_STEPS):
        offered_D = np.zeros(size)
        for length, jumps_LI in jumps.items():
            offsets_LI = _offsets(length, model.longest)
            sum_L = jump_D[offsets_LI].sum(axis=1)
            weight_L = np.where(sum_L > 0, jumps_LI.sum(axis=1) / np.where(sum_L > 0, sum_L, 1.0), 0.0)
            offered_D += np.bincount(offsets_LI.ravel(), weights=np.repeat(weight_L, length), minlength=size)
        jump_D = np.where(offered_D > 0, made_D / np.where(offered_D > 0, offered_D, 1.0), 0.0)
        jump_D = jump_D / max(jump_D.sum(), np.finfo(np.float64).tiny)
    return jump_D


def posterior(model: Hmm, block: Block) -> Floats:
    """p(a_j = i | f, e) of a block: posterior_BTS, column 0 is NULL."""
    moves_LI = model.moves(block.pairs_BTS.shape[2] - 1)
    return forward_backward(model.translation_P[block.pairs_BTS], moves_LI)[1]


def viterbi(model: Hmm, block: Block) -> Ints:
    """The best alignment: for each target word the source position from 0, or -1 for NULL, as source_BT."""
    B, T, S = block.pairs_BTS.shape
    with np.errstate(divide="ignore"):  # log 0 is -inf, which is what it should be
        emission_BTS = np.log(model.translation_P[block.pairs_BTS])
        moves_LI = np.log((1 - P_NULL) * model.moves(S - 1))
    score_BL = np.full((B, S), -np.inf)
    score_BL[:, 0] = 0.0
    origin_TBI, went_TBL = np.empty((T, B, S - 1), dtype=np.int64), np.zeros((T, B, S), dtype=bool)
    for t in range(T):
        routes_BLI = score_BL[:, :, None] + moves_LI
        origin_TBI[t] = routes_BLI.argmax(axis=1)
        go_BI = np.take_along_axis(routes_BLI, origin_TBI[t][:, None, :], axis=1)[:, 0] + emission_BTS[:, t, 1:]
        stay_BL = score_BL + np.log(P_NULL) + emission_BTS[:, t, :1]
        went_TBL[t, :, 1:] = go_BI > stay_BL[:, 1:]
        stay_BL[:, 1:] = np.maximum(stay_BL[:, 1:], go_BI)
        score_BL = stay_BL
    source_BT = np.full((B, T), -1, dtype=np.int64)
    last_B, row_B = score_BL.argmax(axis=1), np.arange(B)
    for t in reversed(range(T)):
        went_B = went_TBL[t, row_B, last_B]
        source_BT[went_B, t] = last_B[went_B] - 1
        last_B = np.where(went_B, origin_TBI[t, row_B, np.maximum(last_B - 1, 0)], last_B)
    return source_BT
