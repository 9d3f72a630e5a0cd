"""IBM model 1 and the HMM: numbers worked by hand, brute force over all alignments, and likelihoods that never fall."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from xattend.alignment import cooccurrence, hmm, ibm1
from xattend.alignment.cooccurrence import Cooccurrence

SOURCES = [["das", "Haus"], ["das", "Buch"], ["ein", "Buch"]]
TARGETS = [["the", "house"], ["the", "book"], ["a", "book"]]


def test_model_1_by_hand() -> None:
    corpus = Cooccurrence(SOURCES, TARGETS)
    first_P, before = ibm1.step(corpus, ibm1.even(corpus))
    assert before == pytest.approx(6 * math.log(1 / 4))  # 6 target words, each 1/4 from NULL and both source words
    # every word of a target is a third of each of NULL and two source words; das meets the, house, the, book: 4/3 in all
    by_hand = {
        ("das", "the"): 1 / 2, ("das", "house"): 1 / 4, ("das", "book"): 1 / 4, ("Haus", "the"): 1 / 2, ("Haus", "house"): 1 / 2,
        ("Buch", "the"): 1 / 4, ("Buch", "book"): 1 / 2, ("Buch", "a"): 1 / 4, ("ein", "a"): 1 / 2, ("ein", "book"): 1 / 2,
        (None, "the"): 1 / 3, (None, "house"): 1 / 6, (None, "book"): 1 / 3, (None, "a"): 1 / 6,
    }  # fmt: skip
    assert {pair: first_P[corpus.pair(*pair)] for pair in by_hand} == pytest.approx(by_hand)
    assert len(first_P) == len(by_hand)
    second_P, _ = ibm1.step(corpus, first_P)
    # the first 'the' comes from das by (1/2) / (1/3 + 1/2 + 1/2) = 3/8, the second by (1/2) / (1/3 + 1/2 + 1/4) = 6/13, ...
    the, house, book = 3 / 8 + 6 / 13, 3 / 11, 3 / 13
    assert second_P[corpus.pair("das", "the")] == pytest.approx(the / (the + house + book))


def made_up(rows: int, seed: int) -> Cooccurrence:
    """Sentences of 1 to 6 words which have something to do with each other."""
    draw = random.Random(seed)
    sources = [draw.choices("abcdefgh", k=draw.randint(1, 6)) for _ in range(rows)]
    targets = [[word.upper() for word in source if draw.random() < 0.8] + draw.choices("XY", k=1) for source in sources]
    return Cooccurrence(sources, targets)


@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_never_falls(seed: int) -> None:
    corpus = made_up(30, seed)
    table_P, said = ibm1.even(corpus), []
    for _ in range(10):
        table_P, log_likelihood = ibm1.step(corpus, table_P)
        said.append(log_likelihood)
    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(said))
    model, said = hmm.start(corpus, table_P), []
    for _ in range(40):
        model, log_likelihood = hmm.step(corpus, model)
        said.append(log_likelihood)
    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(said))
    assert said[-1] > said[0] + 1
    sums = np.bincount(corpus.source_P, weights=model.translation_P)
    assert np.allclose(sums[np.unique(corpus.source_P)], 1.0)


def brute_force(emission_TS: np.ndarray, jump_D: np.ndarray, longest: int) -> dict[tuple[int, ...], float]:
    """The probability of every alignment (-1 is NULL), straight from the definition."""
    T, sources = emission_TS.shape[0], emission_TS.shape[1] - 1
    found = {}
    for path in itertools.product(range(-1, sources), repeat=T):
        p, last = 1.0, -1
        for t, place in enumerate(path):
            if place < 0:
                p *= hmm.P_NULL * emission_TS[t, 0]
                continue
            widths = [jump_D[other - last + longest - 1] for other in range(sources)]
            p *= (1 - hmm.P_NULL) * widths[place] / sum(widths) * emission_TS[t, place + 1]
            last = place
        found[path] = p
    return found


def test_forward_backward_and_viterbi_against_all_alignments() -> None:
    corpus = Cooccurrence([["a", "b", "c"], ["c", "a", "a"], ["b"] * 5], [["x", "y", "x", "z"], ["z", "z", "y", "x"], ["x"]])
    draw = np.random.default_rng(1)
    model = hmm.Hmm(draw.random(len(corpus.source_P)), draw.random(10), corpus.longest)
    assert corpus.longest == 5
    block = next(block for block in corpus.blocks if block.pairs_BTS.shape == (2, 4, 4))
    emission_BTS, moves_LI = model.translation_P[block.pairs_BTS], model.moves(3)
    assert moves_LI.sum(axis=1) == pytest.approx(1.0)
    log_B, posterior_BTS, jumps_LI = hmm.forward_backward(emission_BTS, moves_LI)
    wanted_BTS, wanted_LI = np.zeros_like(posterior_BTS), np.zeros_like(jumps_LI)
    for row in range(2):
        paths = brute_force(emission_BTS[row], model.jump_D, model.longest)
        whole = sum(paths.values())
        assert log_B[row] == pytest.approx(math.log(whole))
        for path, p in paths.items():
            last = -1
            for t, place in enumerate(path):
                wanted_BTS[row, t, place + 1] += p / whole
                if place >= 0:
                    wanted_LI[last + 1, place] += p / whole
                    last = place
        best = max(paths, key=paths.__getitem__)
        assert tuple(hmm.viterbi(model, block)[row].tolist()) == best
    assert posterior_BTS == pytest.approx(wanted_BTS)
    assert jumps_LI == pytest.approx(wanted_LI)
    assert hmm.posterior(model, block) == pytest.approx(wanted_BTS)


def test_widths_by_hand() -> None:
    # one length, one position to jump from: then widths are relative frequencies, as in Vogel
    corpus = Cooccurrence([["a", "b"]], [["x"]])
    model = hmm.start(corpus, np.ones(len(corpus.source_P)))
    assert model.moves(2).tolist() == [[0.5, 0.5]] * 3
    table, _ = hmm.step(corpus, hmm.Hmm(np.array([1.0, 3.0, 1.0]), model.jump_D, 2))  # NULL, a, b in this order
    assert table.jump_D == pytest.approx([0.0, 0.0, 0.75, 0.25])  # widths -1, 0, 1, 2
    assert table.moves(2).tolist() == [[0.75, 0.25], [0.0, 1.0], [0.5, 0.5]]  # from b nothing was ever on offer but 0 and -1


def test_blocks_are_cut_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = made_up(60, 3)
    monkeypatch.setattr(cooccurrence, "PLACES", 20)
    cut = made_up(60, 3)
    assert len(cut.blocks) > len(whole.blocks)
    for corpus in (whole, cut):
        rows = sorted(row for block in corpus.blocks for row in block.rows_B.tolist())
        assert rows == list(range(60))
    once, again = (hmm.step(corpus, hmm.start(corpus, ibm1.step(corpus, ibm1.even(corpus))[0])) for corpus in (whole, cut))
    assert once[1] == pytest.approx(again[1])
    assert once[0].translation_P == pytest.approx(again[0].translation_P)
    assert once[0].jump_D == pytest.approx(again[0].jump_D)


def test_empty_sentences_have_nothing_to_count() -> None:
    corpus = Cooccurrence([["a"], [], ["b"], []], [["x"], ["y"], [], []])
    assert [block.rows_B.tolist() for block in corpus.blocks] == [[0]]
    with pytest.raises(KeyError):
        corpus.pair("b", "y")
    nothing = Cooccurrence([[]], [[]])
    model, log_likelihood = hmm.step(nothing, hmm.start(nothing, ibm1.step(nothing, ibm1.even(nothing))[0]))
    assert (nothing.blocks, log_likelihood, len(model.translation_P)) == ([], 0.0, 0)
