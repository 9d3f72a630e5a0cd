"""What every search promises: the answer does not depend on the batch, limits and prefixes hold, weights are true."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.search.models import WORDS, Attending, Named, Table, alone, replay, sources
from xattend import registry
from xattend.errors import UserError
from xattend.search import Beam, Constrained, DiverseBeam, Exact, Greedy, MinimumRisk, Sample, Search
from xattend.types import EOS, PAD, UNK, Hypothesis, Memory

SPECIAL = ("best-path", "fusion")  # for CTC alone; a search around another, with a language model: tests/lattices, tests/systems/test_speech.py
KINDS = [kind for kind in registry.names("search") if kind not in SPECIAL]
LISTS = ("beam", "constrained", "diverse-beam", "minimum-risk", "sample")  # those with an n-best, besides the slow one
LENGTHS = [1 + (7 * row) % 13 for row in range(64)]
VOCABULARY = 12


def make(kind: str, **settings: object) -> Search:
    if kind == "exact":
        settings = {"budget": 60, **settings}
    return registry.build("search", kind, **settings)  # type: ignore[no-any-return]


def the_same(first: list[Hypothesis], second: list[Hypothesis]) -> None:
    assert [h.tokens for h in first] == [h.tokens for h in second]
    assert [h.finished for h in first] == [h.finished for h in second]
    for a, b in zip(first, second):
        assert a.score == pytest.approx(b.score, abs=1e-4)
        assert a.logprob == pytest.approx(b.logprob, abs=1e-4)
        assert a.token_logprobs == pytest.approx(b.token_logprobs, abs=1e-4)
        assert a.weights_THS is not None
        assert b.weights_THS is not None
        np.testing.assert_allclose(a.weights_THS, b.weights_THS, atol=1e-4)


def test_all_are_registered() -> None:
    assert KINDS == ["beam", "constrained", "diverse-beam", "exact", "greedy", "minimum-risk", "sample"]


@pytest.mark.parametrize("kind", [*KINDS, "beam bound", "beam coverage", *[f"{kind} no-repeat" for kind in LISTS]])
def test_batch_1_equals_batch_64(kind: str) -> None:
    kind, _, variant = kind.partition(" ")
    settings: dict[str, object] = {"max_ratio": 1.0, "max_extra": 3}
    if kind in LISTS:
        settings["nbest"] = 3
    if variant:
        coverage = {"coverage_penalty": 0.3, "penalty": "gnmt"}
        settings |= {"bound": {"stop": "bound"}, "no-repeat": {"no_repeat": 2}, "coverage": coverage}[variant]
    decoder, memory, search = Attending(VOCABULARY), sources(LENGTHS), make(kind, **settings)
    together = search.search(decoder, memory, attention=True)
    for row in range(0, 64, 5):
        the_same(search.search(decoder, alone(memory, row), attention=True)[0], together[row])
    assert len({tuple(group[0].tokens) for group in together}) > 10  # rows differ, so the comparison means something
    assert any(len(group[0].tokens) != len(together[0][0].tokens) for group in together)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_and_logprobs_equal_a_teacher_forced_replay(kind: str) -> None:
    settings = {"nbest": 5} if kind in (*LISTS, "exact") else {}
    decoder, memory = Attending(VOCABULARY, seed=3), sources([4, 1, 7])
    for row, group in enumerate(make(kind, **settings).search(decoder, memory, attention=True)):
        for hypothesis in group:
            logprobs, looked = replay(decoder, alone(memory, row), hypothesis.tokens)
            steps = len(hypothesis.tokens) + hypothesis.finished
            assert hypothesis.token_logprobs == pytest.approx(logprobs[:steps], abs=1e-4)
            assert hypothesis.logprob == pytest.approx(sum(logprobs[:steps]), abs=1e-3)
            assert hypothesis.weights_THS is not None
            assert hypothesis.weights_THS.shape == (steps, 2, [4, 1, 7][row])
            np.testing.assert_allclose(hypothesis.weights_THS, torch.stack(looked[:steps]).detach(), atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_no_weights_unless_asked_for(kind: str) -> None:
    assert make(kind).search(Attending(VOCABULARY), sources([3]))[0][0].weights_THS is None


@pytest.mark.parametrize("kind", KINDS)
def test_prefix_is_forced_and_counted(kind: str) -> None:
    decoder, memory = Attending(VOCABULARY), sources([3, 5, 2])
    prefix = [[7, 9, 4], [], [UNK]]
    forced = make(kind, allow_unk=False).search(decoder, memory, prefix=prefix)
    free = make(kind, allow_unk=False).search(decoder, memory)
    for row, group in enumerate(forced):
        best = group[0]
        assert best.tokens[: len(prefix[row])] == prefix[row]
        logprobs, _ = replay(decoder, alone(memory, row), best.tokens)
        assert best.token_logprobs == pytest.approx(logprobs[: len(best.token_logprobs)], abs=1e-4)
    assert forced[1][0].tokens == free[1][0].tokens
    assert free[0][0].tokens[:3] != prefix[0]


@pytest.mark.parametrize("kind", KINDS)
def test_prefix_longer_than_the_limit_and_wrong_prefixes(kind: str) -> None:
    decoder, memory = Attending(VOCABULARY), sources([3])
    best = make(kind, max_length=2).search(decoder, memory, prefix=[[4, 5, 6, 7]])[0][0]
    assert best.tokens == [4, 5, 6, 7]
    for wrong, said in [([[4], [5]], "2 prefixes for 1 rows"), ([[EOS]], "padding"), ([[99]], "outside")]:
        with pytest.raises(UserError, match=said):
            make(kind).search(decoder, memory, prefix=wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_a_prefix_the_model_excludes_is_obeyed(kind: str) -> None:
    decoder = Named({(): {WORDS: 1.0}}, 6)
    assert make(kind).search(decoder, sources([2]), prefix=[[5]])[0][0].tokens[0] == 5


@pytest.mark.parametrize("kind", [*LISTS, "greedy"])  # exact finds an end however unlikely
def test_limits_come_from_each_own_source_length(kind: str) -> None:
    decoder = Attending(VOCABULARY)
    with torch.no_grad():
        decoder.output.bias[EOS] = -50.0  # never ends
    size = {"size": 5} if kind == "minimum-risk" else {}  # 10 of 12 words are kept otherwise, the end among them
    found = make(kind, max_ratio=1.5, max_extra=2, max_length=9, **size).search(decoder, sources([1, 2, 3, 40]), attention=True)
    assert [len(group[0].tokens) for group in found] == [4, 5, 7, 9]  # ceil(1.5 n) + 2, at most 9
    assert not any(group[0].finished for group in found)
    for group in found:
        assert len(group[0].token_logprobs) == len(group[0].tokens)
        assert group[0].weights_THS is not None
        assert len(group[0].weights_THS) == len(group[0].tokens)


@pytest.mark.parametrize("kind", KINDS)
def test_an_output_may_end_exactly_at_its_limit(kind: str) -> None:
    decoder = Named({(): {4: 0.97}, (4,): {5: 0.97}, (4, 5): {EOS: 0.97}}, 6)
    best = make(kind, max_length=2).search(decoder, sources([3]))[0][0]
    assert (best.tokens, best.finished) == ([4, 5], True)


@pytest.mark.parametrize("kind", KINDS)
def test_min_length_and_unk(kind: str) -> None:
    decoder = Attending(VOCABULARY)
    with torch.no_grad():
        decoder.output.bias[EOS] = 30.0  # always ends
        decoder.output.bias[UNK] = 20.0
    memory = sources([2, 3])
    assert make(kind).search(decoder, memory)[0][0].tokens == []
    found = make(kind, min_length=3).search(decoder, memory)
    assert [group[0].tokens for group in found] == [[UNK] * 3] * 2
    settings = {"budget": 3000} if kind == "exact" else {}
    for group in make(kind, min_length=3, allow_unk=False, **settings).search(decoder, memory):
        assert len(group[0].tokens) == 3
        assert min(group[0].tokens) >= WORDS


def test_min_length_above_the_limit() -> None:
    with pytest.raises(UserError, match="max_length 2 is less than 3"):
        Greedy(max_length=2, min_length=3)
    found = Greedy(min_length=12, max_ratio=1.0, max_extra=0).search(Attending(VOCABULARY), sources([2]))
    assert len(found[0][0].tokens) == 12


@pytest.mark.parametrize("kind", KINDS)
def test_padding_and_start_are_never_written(kind: str) -> None:
    for group in make(kind).search(Attending(VOCABULARY), sources(LENGTHS[:8])):
        assert all(token == UNK or token >= WORDS for hypothesis in group for token in hypothesis.tokens)
    assert PAD < WORDS


@pytest.mark.parametrize("kind", KINDS)
def test_language_model_without_a_source(kind: str) -> None:
    memory = Memory.empty(3, torch.zeros(0))
    found = make(kind, max_length=6).search(Table(7, sharpness=1.0), memory, attention=True)
    assert len(found) == 3
    assert found[0][0].tokens == found[2][0].tokens
    assert len(found[0][0].tokens) <= 6
    covered = Beam(coverage_penalty=0.5, max_length=6).search(Table(7, sharpness=1.0), memory)
    assert covered[0][0].tokens == Beam(max_length=6).search(Table(7, sharpness=1.0), memory)[0][0].tokens


@pytest.mark.parametrize("kind", KINDS)
def test_broken_scores_are_said(kind: str) -> None:
    decoder = Attending(VOCABULARY)
    with torch.no_grad():
        decoder.output.bias[5] = torch.nan
    with pytest.raises(UserError, match="NaN"):
        make(kind).search(decoder, sources([3]))


def test_settings_are_checked() -> None:
    wrong = {
        "beam": {"size": 0}, "constrained": {"nbest": 0}, "diverse-beam": {"groups": 0}, "minimum-risk": {"temperature": 0.0},
        "sample": {"top_p": 0.0}, "exact": {"budget": 0}, "greedy": {"max_length": 0},
    }  # fmt: skip
    assert set(wrong) == set(KINDS)
    for kind, settings in wrong.items():
        with pytest.raises(UserError):
            registry.build("search", kind, **settings)


def test_searches_are_what_they_say() -> None:
    assert [type(make(kind)) for kind in KINDS] == [Beam, Constrained, DiverseBeam, Exact, Greedy, MinimumRisk, Sample]
