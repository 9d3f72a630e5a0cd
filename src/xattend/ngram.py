"""An n-gram language model with interpolated, modified Kneser-Ney smoothing (Kneser and Ney 1995; Chen and Goodman 1998):
what a neural model's perplexity is compared with.

    p(w | h) = (c(h w) - D(c(h w))) / c(h .) + g(h) p(w | h')        h' is h without its first token
    g(h)     = (D1 N1(h .) + D2 N2(h .) + D3 N3+(h .)) / c(h .)      Nk(h .): how many different tokens followed h k times
    Dk       = k - (k + 1) Y n(k+1) / nk,  Y = n1 / (n1 + 2 n2)      nk: how many n-grams of this length have count k; D3 from 3 on

c is how often an n-gram was seen, at the full order and for n-grams that begin with <s>; at lower orders it is how many
different tokens stood before it. Below the single tokens lies an even share for each token that can be written, so that one
never seen has a probability, too: all of the vocabulary but <pad> and <s>.

Rows are ids with <s> in front and </s> at the end, as the data keeps target sides, and <unk> for what the vocabulary lacks.
Every token but <s> is predicted: the same tokens whose log-probabilities `xattend evaluate` adds up.

>>> a, b = 4, 5
>>> model = KneserNey([[BOS, a, b, EOS], [BOS, a, a, EOS]], vocabulary=6, order=2)
>>> model.distribution([BOS, a]).round(4).tolist()  # <pad>, <unk>, <s>, </s>, a, b; p(b | a) = 0.5 / 3 + 0.5 x 0.225
[0.0, 0.0625, 0.0, 0.3292, 0.3292, 0.2792]
>>> nll, tokens = model.nll([[BOS, a, b, EOS]])
>>> round(nll, 4), tokens  # -log(0.6625 x 0.2792 x 0.6625)
(2.0994, 3)

Shape suffixes: P positions of all rows one after the other, G different n-grams of one length, C their contexts, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xattend.types import BOS, EOS, PAD

Ints = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Row = Sequence[int] | np.ndarray[Any, np.dtype[Any]]
FALLBACK = (0.5, 1.0, 1.5)  # where there are too few rare n-grams to estimate discounts from


@dataclass(frozen=True)
class Order:
    """N-grams of one length from 2 on. An n-gram's number is its place among the keys; a context's number is that of the
    (n-1)-gram it is.

    keys_G    context x vocabulary + last token, sorted
    seen_G    (c(h w) - D) / c(h .)
    spare_C   g(h): what the shorter n-grams share out; 1 where nothing followed, and at the end for contexts not seen
    """

    keys_G: Ints
    seen_G: Floats
    spare_C: Floats


class KneserNey:
    """Fitted when it is made.

    vocabulary   size of the target vocabulary, the four special tokens included
    order        length of the longest n-gram; 5 looks at four tokens before
    discounts    D1, D2, D3 of each length, the shortest first
    notes        what could not be estimated, for a person to read
    """

    def __init__(self, rows: Iterable[Row], *, vocabulary: int, order: int = 5) -> None:
        if order < 1:
            raise ValueError(f"an order of {order}: the shortest n-gram is one token")
        self.vocabulary = vocabulary
        self.order = order
        self.discounts: list[tuple[float, float, float]] = []
        self.notes: list[str] = []
        tokens_P, place_P = self._flat(rows)
        if not len(tokens_P):
            raise ValueError("no rows to learn from")
        keys, raw, suffixes = self._count(tokens_P, place_P)
        counts = [raw[-1]]
        for shorter, suffix_G in zip(raw[-2::-1], suffixes[::-1], strict=True):
            before_G = np.bincount(suffix_G, minlength=len(shorter))  # different tokens that stood before
            counts.insert(0, np.where(before_G == 0, shorter, before_G))  # nothing stands before <s>: its n-grams keep their counts
        self._unigrams_V = self._single(counts[0])
        self._orders = [self._order(key_G, count_G, len(below)) for key_G, count_G, below in zip(keys, counts[1:], counts, strict=False)]

    def _flat(self, rows: Iterable[Row]) -> tuple[Ints, Ints]:
        """All tokens one after the other, and the place of each in its row."""
        found = [np.asarray(row, dtype=np.int64) for row in rows]
        for number, row in enumerate(found, 1):
            if len(row) < 2 or row[0] != BOS or row[-1] != EOS:
                raise ValueError(f"row {number} does not begin with <s> and end with </s>")
            if row.min() < 0 or row.max() >= self.vocabulary or (row[1:] == BOS).any() or (row == PAD).any():
                raise ValueError(f"row {number} holds ids that no row of a vocabulary of {self.vocabulary} has inside")
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate(found), np.concatenate([np.arange(len(row)) for row in found])

    def _count(self, tokens_P: Ints, place_P: Ints) -> tuple[list[Ints], list[Ints], list[Ints]]:
        """Of every length: how often each n-gram was seen; and from 2 on its key, and the number of what is left without its
        first token."""
        raw, keys, suffixes = [np.bincount(tokens_P, minlength=self.vocabulary)], [], []
        gram_P = tokens_P  # the number of the n-gram that ends here
        for length in range(2, self.order + 1):
            ends = np.flatnonzero(place_P >= length - 1)
            key_E = gram_P[ends - 1] * self.vocabulary + tokens_P[ends]
            key_G, first_G, gram_E, count_G = np.unique(key_E, return_index=True, return_inverse=True, return_counts=True)
            suffixes.append(gram_P[ends[first_G]])
            keys.append(key_G)
            raw.append(count_G)
            gram_P = np.full(len(tokens_P), -1)
            gram_P[ends] = gram_E
        return keys, raw, suffixes

    def _discount(self, count_G: Ints) -> Floats:
        """D of each count; nothing is taken from 0."""
        n = [int((count_G == k).sum()) for k in range(5)]
        found = FALLBACK
        if n[1] and n[2] and n[3]:
            y = n[1] / (n[1] + 2 * n[2])
            found = (1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3])
        if found is FALLBACK or not all(0 < d <= k for k, d in enumerate(found, 1)):
            found = FALLBACK
            self.notes.append(f"length {len(self.discounts) + 1}: too few rare n-grams to estimate discounts, {FALLBACK} are used")
        self.discounts.append(found)
        return np.array([0.0, *found])[np.minimum(count_G, 3)]

    def _single(self, count_V: Ints) -> Floats:
        count_V = count_V.copy()
        count_V[BOS] = 0  # it is given, never predicted
        taken_V = self._discount(count_V)
        even_V = np.full(self.vocabulary, 1 / (self.vocabulary - 2))
        even_V[[PAD, BOS]] = 0.0
        total = count_V.sum()
        p_V: Floats = (count_V - taken_V) / total + taken_V.sum() / total * even_V
        return p_V

    def _order(self, key_G: Ints, count_G: Ints, contexts: int) -> Order:
        context_G, taken_G = key_G // self.vocabulary, self._discount(count_G)
        total_C = np.bincount(context_G, count_G, contexts)
        spare_C = np.ones(contexts + 1)  # the last is for number -1: a context that was not seen
        np.divide(np.bincount(context_G, taken_G, contexts), total_C, out=spare_C[:-1], where=total_C > 0)
        return Order(key_G, (count_G - taken_G) / total_C[context_G], spare_C)

    def distribution(self, before: Row) -> Floats:
        """The probability of every token after these, which begin with <s>: p_V, 0 for <pad> and <s>."""
        before = list(before)[-(self.order - 1) :] if self.order > 1 else []
        p_V = self._unigrams_V.copy()
        for length in range(1, len(before) + 1):  # of the context
            context = self._number(before[-length:])
            if context is None:
                break  # a longer context was not seen either
            found = self._orders[length - 1]
            p_V *= found.spare_C[context]
            first, last = np.searchsorted(found.keys_G, [context * self.vocabulary, (context + 1) * self.vocabulary])
            p_V[found.keys_G[first:last] % self.vocabulary] += found.seen_G[first:last]
        return p_V

    def _number(self, gram: Sequence[int]) -> int | None:
        """The number of an n-gram, None if it was not seen."""
        number = int(gram[0])
        for order, token in zip(self._orders, gram[1:], strict=False):
            key = number * self.vocabulary + int(token)
            number = int(np.searchsorted(order.keys_G, key))
            if number == len(order.keys_G) or order.keys_G[number] != key:
                return None
        return number

    def logprobs(self, rows: Iterable[Row]) -> list[Floats]:
        """Log-probability of each token of each row, </s> last; <s> has none."""
        tokens_P, place_P = self._flat(rows)
        p_P = self._unigrams_V[tokens_P]
        gram_P = tokens_P  # the number of the n-gram that ends here; -1 where it was not seen, or would begin before <s>
        for length, order in enumerate(self._orders, 2):
            context_P = np.where(place_P >= length - 1, np.roll(gram_P, 1), -1)
            key_P = context_P * self.vocabulary + tokens_P
            found_P = np.minimum(np.searchsorted(order.keys_G, key_P), len(order.keys_G) - 1)
            known_P = (context_P >= 0) & (order.keys_G[found_P] == key_P) if len(order.keys_G) else np.zeros(len(tokens_P), bool)
            p_P = order.spare_C[context_P] * p_P
            p_P[known_P] += order.seen_G[found_P[known_P]]
            gram_P = np.where(known_P, found_P, -1)
        starts = np.flatnonzero(place_P == 0)
        p_P[starts] = 1.0
        return [row[1:] for row in np.split(np.log(p_P), starts[1:])] if len(starts) else []

    def nll(self, rows: Iterable[Row]) -> tuple[float, int]:
        """The negative log-likelihood of all rows, and of how many tokens: `metrics.likelihood.perplexity(*model.nll(rows))`."""
        found = self.logprobs(rows)
        return -float(sum(row.sum() for row in found)), sum(len(row) for row in found)
