"""IBM model 1 (Brown et al. 1993): every target word comes from some source word or from NULL, wherever it stands.

    p(f, a | e) = prod_j t(f_j | e_{a_j}) / (I + 1)

with f the J target words, e the I source words and e_0 = NULL. Of a target word it is known where it may come from, so
expectation maximisation is two lines:

    p(a_j = i) = t(f_j | e_i) / sum_{i'} t(f_j | e_{i'})        t(f | e) = c(f, e) / sum_f' c(f', e)

with c(f, e) the sum of the first over all places where f and e meet. The log-likelihood is concave in t, so it is the greatest
that is climbed, wherever the climb starts.

>>> corpus = Cooccurrence([["das", "Haus"], ["das", "Buch"], ["ein", "Buch"]], [["the", "house"], ["the", "book"], ["a", "book"]])
>>> table_P = even(corpus)
>>> for _ in range(30):
...     table_P, _ = step(corpus, table_P)
>>> bool(table_P[corpus.pair("das", "the")] > 0.9)
True

Shapes: B sentence pairs of one block, T target words, S source words with NULL in front, P different pairs of words.
"""

from __future__ import annotations

import numpy as np

from xattend.alignment.cooccurrence import Cooccurrence, Floats


def even(corpus: Cooccurrence) -> Floats:
    """The start: every target word equally likely from every source word."""
    return np.full(len(corpus.source_P), 1.0 / max(corpus.targets, 1))


def step(corpus: Cooccurrence, translation_P: Floats) -> tuple[Floats, float]:
    """One iteration: the new table, and the log-likelihood under the old one."""
    expected_N = np.empty(len(corpus.pairs_N))
    log_likelihood = 0.0
    for block in corpus.blocks:
        scores_BTS = translation_P[block.pairs_BTS]
        sums_BT = scores_BTS.sum(axis=2)
        log_likelihood += float(np.log(sums_BT / scores_BTS.shape[2]).sum())
        expected_N[block.places] = (scores_BTS / sums_BT[:, :, None]).ravel()
    return corpus.translation(expected_N), log_likelihood
