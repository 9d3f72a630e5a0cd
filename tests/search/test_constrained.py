"""Required phrases: against enumeration of every output that holds them, and kept by beams of any size."""

from __future__ import annotations

import random

import pytest
import torch

from tests.search.models import Attending, Named, Table, alone, every_output, replay, sources
from xattend.errors import UserError
from xattend.search import Beam, Constrained, Greedy
from xattend.search.constrained import Phrases
from xattend.search.repeats import holds
from xattend.types import EOS, UNK

Must = list[tuple[int, ...]]
VOCABULARY, LIMIT = 6, 4


@pytest.mark.parametrize("must", [[(4,)], [(4, 5)], [(5, 5)], [(4,), (5, 1)], [(4, 5), (5, 4)], [(4, 5, 4)], [(4, 1), (4, 5)]])
@pytest.mark.parametrize(("penalty", "alpha"), [("none", 1.0), ("average", 1.0)])
def test_a_beam_wide_enough_finds_the_best_that_holds_them(must: Must, penalty: str, alpha: float) -> None:
    for seed in range(3):
        table = Table(VOCABULARY, seed)
        fitting = [y for y in every_output(VOCABULARY, LIMIT) if all(holds(tuple(y), phrase) for phrase in must)]
        scored = [(table.logprob(y) / ((len(y) + 1) ** alpha if penalty == "average" else 1), y) for y in fitting]
        best = sorted(scored, reverse=True)[:4]
        search = Constrained(size=200, nbest=4, penalty=penalty, length_penalty=alpha, max_length=LIMIT)
        found = search.requiring([must, []]).search(table, sources([9, 2]))
        assert [h.tokens for h in found[0]] == [tokens for _, tokens in best]
        assert [h.score for h in found[0]] == pytest.approx([score for score, _ in best], abs=1e-4)
        free = Beam(size=200, nbest=4, penalty=penalty, length_penalty=alpha, max_length=LIMIT).search(table, sources([9, 2]))
        assert [h.tokens for h in found[1]] == [h.tokens for h in free[1]]  # a row that asks for nothing


def test_beams_of_any_size_hold_them() -> None:
    draw, memory = random.Random(1), sources([3, 5, 2, 7, 1])
    for trial in range(12):
        decoder, size = Attending(12, seed=trial % 5), draw.choice([1, 2, 3, 5])
        must = [[tuple(draw.choices([UNK, *range(4, 12)], k=draw.randint(1, 4))) for _ in range(draw.randint(0, 3))] for _ in range(5)]
        found = Constrained(size=size, nbest=size, max_length=25).requiring(must).search(decoder, memory)
        free = Beam(size=size, nbest=size, max_length=25).search(decoder, memory)
        for group, phrases, other in zip(found, must, free, strict=True):
            assert all(holds(tuple(h.tokens), phrase) for h in group for phrase in phrases)
            if not phrases:
                assert [h.tokens for h in group] == [h.tokens for h in other]


def test_a_repeated_beginning_is_no_way_round() -> None:
    # "4" begins both phrases and is likeliest everywhere: writing it again and again must not pass for progress
    decoder = Named({(4,) * n: {4: 0.99} for n in range(30)}, 8)
    best = Constrained(size=1, max_length=20).requiring([[(4, 5), (4, 6)]]).search(decoder, sources([2]))[0][0]
    assert holds(tuple(best.tokens), (4, 5))
    assert holds(tuple(best.tokens), (4, 6))


@pytest.mark.parametrize("size", [1, 4])
def test_batch_1_equals_batch_n(size: int) -> None:
    decoder, lengths = Attending(12, seed=3), [1 + (7 * row) % 13 for row in range(24)]
    memory, draw = sources(lengths), random.Random(2)
    must = [[tuple(draw.choices(range(4, 12), k=draw.randint(1, 3))) for _ in range(row % 4)] for row in range(24)]
    search = Constrained(size=size, nbest=size, max_ratio=1.0, max_extra=14)
    together = search.requiring(must).search(decoder, memory)
    for row in range(0, 24, 3):
        single = search.requiring([must[row]]).search(decoder, alone(memory, row))[0]
        assert [h.tokens for h in single] == [h.tokens for h in together[row]]
        logprobs, _ = replay(decoder, alone(memory, row), single[0].tokens)
        assert single[0].token_logprobs == pytest.approx(logprobs[: len(single[0].token_logprobs)], abs=1e-4)


def test_a_prefix_counts() -> None:
    decoder, memory = Attending(12), sources([3])
    search = Constrained(size=3, max_length=10).requiring([[(7, 9)]])
    best = search.search(decoder, memory, prefix=[[7, 9, 4]])[0][0]
    assert best.tokens == Beam(size=3, max_length=10).search(decoder, memory, prefix=[[7, 9, 4]])[0][0].tokens
    split = search.search(decoder, memory, prefix=[[7]])[0][0]  # begun in the prefix, ended after it or written anew
    assert split.tokens[0] == 7
    assert holds(tuple(split.tokens), (7, 9))


def test_what_has_no_room_is_unfinished() -> None:
    table = Table(8, sharpness=0.5)
    best = Constrained(size=4, max_length=2).requiring([[(4, 5, 6)]]).search(table, sources([3]))[0][0]
    assert (best.tokens, best.finished) == ([4, 5], False)  # as much of it as fits
    blocked = Constrained(size=4, max_length=6, no_repeat=1).requiring([[(4, 4)]]).search(table, sources([3]))[0][0]
    assert not blocked.finished
    both = Constrained(size=4, max_length=6).forbidding([(5,)]).requiring([[(4,)]]).search(table, sources([3]))[0][0]
    assert both.finished
    assert 4 in both.tokens
    assert 5 not in both.tokens


def test_the_table_is_that_of_string_matching() -> None:
    phrase = (4, 4, 5, 4)
    phrases, draw = Phrases([[phrase], [(5,)]], torch.device("cpu")), random.Random(3)
    for _ in range(20):
        written, state = [], torch.zeros(2, 1, 1, dtype=torch.long)
        for _ in range(12):
            written.append(draw.choice([4, 4, 5, 6]))
            state = phrases.after(state, torch.tensor([[written[-1]], [written[-1]]]))
            whole = holds(tuple(written), phrase)
            ends = max(n for n in range(5) if tuple(written[len(written) - n :]) == phrase[:n])
            assert int(state[0]) == (4 if whole else ends)
            assert int(state[1]) == (5 in written)


def test_what_does_not_fit_is_said() -> None:
    memory, search = sources([2]), Constrained()
    for must, said in [([[]] * 2, "phrases for 2 rows"), ([[()]], "at least one"), ([[(EOS,)]], "end tokens"), ([[(99,)]], "outside")]:
        with pytest.raises(UserError, match=said):
            search.requiring(must).search(Table(8), memory)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="holds one that must not"):
        search.forbidding([(5, 6)]).requiring([[(4, 5, 6)]]).search(Table(8), memory)
    with pytest.raises(UserError, match="constrained"):
        Greedy().requiring([[(4,)]])
