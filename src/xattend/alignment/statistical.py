"""The bundled statistical aligner: IBM model 1, then the HMM, in both directions.

It learns from sentence pairs alone and needs no model, so its links are a second opinion on where an attention looks, or an
alignment of their own. Words are compared in lower case (Unicode NFC). Nothing is drawn at random: the same rows give the same links.

>>> rows = [(["das", "Haus"], ["the", "house"]), (["das", "Buch"], ["the", "book"]), (["ein", "Buch"], ["a", "book"])]
>>> [sorted(found.forward & found.backward) for found in align(rows)]
[[(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 0), (1, 1)]]

Shapes: T target words, S source words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xattend.alignment import hmm, ibm1
from xattend.alignment.cooccurrence import Cooccurrence
from xattend.alignment.links import Gold, Links

Sentence = Sequence[str]
ITERATIONS = 5  # of each model, in each direction
STEPS = 4 * ITERATIONS  # how often `tick` is called
LONGEST = 1000  # words of a side; a table of every jump between two of them is held


class TwoWay(NamedTuple):
    """What both directions say of a sentence pair.

    forward      each target word has at most one link: the best path where it comes from the source
    backward     each source word has at most one
    weights_TS   of the forward direction, how sure each link is: p(a_t = s | both sentences); what is missing to 1 is NULL's
    """

    forward: Links
    backward: Links
    weights_TS: np.ndarray[Any, np.dtype[np.float32]]

    def as_gold(self) -> Gold:
        """A reference to score others with: what both say is sure, what either says is possible."""
        return Gold(frozenset(self.forward & self.backward), frozenset(self.forward | self.backward))


def align(
    sentences: Sequence[tuple[Sentence, Sentence]], rows: int | None = None, tick: Callable[[int], None] | None = None
) -> list[TwoWay]:
    """Learns from all (source, target) pairs, and aligns the first `rows` of them (default: all)."""
    rows = len(sentences) if rows is None else rows
    folded = _Folded()
    sources = [[folded[word] for word in source] for source, _ in sentences]
    targets = [[folded[word] for word in target] for _, target in sentences]
    forward, weights = _one_way(sources, targets, rows, tick)
    backward, _ = _one_way(targets, sources, rows, tick)
    ways = zip(forward, backward, weights, strict=True)
    return [TwoWay({(source, target) for target, source in there}, set(back), weights_TS) for there, back, weights_TS in ways]


def _one_way(
    sources: list[list[str]], targets: list[list[str]], rows: int, tick: Callable[[int], None] | None
) -> tuple[list[list[tuple[int, int]]], list[np.ndarray[Any, np.dtype[np.float32]]]]:
    """For each row the (target, source) links, and the posteriors."""
    tick = tick or (lambda _: None)
    corpus = Cooccurrence(sources, targets)
    translation_P = ibm1.even(corpus)
    for _ in range(ITERATIONS):
        translation_P, _ = ibm1.step(corpus, translation_P)
        tick(1)
    model = hmm.start(corpus, translation_P)
    for _ in range(ITERATIONS):
        model, _ = hmm.step(corpus, model)
        tick(1)
    links: list[list[tuple[int, int]]] = [[] for _ in range(rows)]
    weights = [np.zeros((len(target), len(source)), dtype=np.float32) for source, target in zip(sources[:rows], targets)]
    for block in corpus.blocks:
        wanted_B = block.rows_B < rows
        if not wanted_B.any():
            continue
        part = block._replace(rows_B=block.rows_B[wanted_B], pairs_BTS=block.pairs_BTS[wanted_B])
        found = zip(part.rows_B.tolist(), hmm.viterbi(model, part).tolist(), hmm.posterior(model, part), strict=True)
        for row, source_T, posterior_TS in found:
            links[row] = [(t, s) for t, s in enumerate(source_T) if s >= 0]
            weights[row] = posterior_TS[:, 1:].astype(np.float32)
    return links, weights


class _Folded(dict[str, str]):
    """Words as they are compared, each made once."""

    def __missing__(self, word: str) -> str:
        self[word] = unicodedata.normalize("NFC", word.lower())
        return self[word]
