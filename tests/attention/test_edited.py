"""Rows of weights in place of a mechanism's own: over every registered attention, in every decoder, and with beams."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.contracts import samples
from tests.contracts.test_attention import CASES, FLAT, each
from tests.systems import small
from xattend import registry
from xattend.attention import Additive, Attention, Bound, Hard, MultiHead, NoAttention
from xattend.attention.edited import Edit, Edited, edited
from xattend.decoders.base import Decoder
from xattend.errors import UserError
from xattend.search import Beam, Greedy
from xattend.types import Memory, Space

LOOKING = [(name, given) for name, given in CASES + FLAT if not issubclass(registry.find("attention", name), NoAttention)]
each_that_looks = each(LOOKING)
LENGTHS = (5, 5, 5)
ROW = [0.0, 2.0, 0.0, 6.0, 0.0]


def value_of(part: Attention, memory: Memory, place: int) -> torch.Tensor:
    """What a look at one place alone brings back, by the formulas."""
    state_BD = memory.states_BSD[:, place]
    return part.out(part.value(state_BD)) if isinstance(part, MultiHead) else state_BD


@each_that_looks
@pytest.mark.parametrize("at_once", [True, False], ids=["at-once", "step-by-step"])
def test_a_row_at_one_place_gives_that_place(name: str, given: dict[str, Any], at_once: bool) -> None:
    part, memory, query = samples.attention(name, **given), samples.memory(LENGTHS), torch.randn(3, 4, samples.QUERY)
    changed = Edited(part, Edit(rows={2: [0, 0, 0, 7, 0]}))
    bound = changed.bind(memory)
    if at_once:
        context, weights, _ = changed.attend_all(query, bound, changed.start(bound))
    else:
        state, steps = changed.start(bound), []
        for t in range(4):
            *step, state = changed.attend(query[:, t], bound, state)
            steps.append(step)
        context, weights = (torch.stack(parts, dim=1) for parts in zip(*steps))
    torch.testing.assert_close(context[:, 2], value_of(part, memory, 3))
    assert (weights[:, 2, :, 3] == 1).all()
    assert (weights[:, 2].sum(dim=-1) == 1).all()


@each_that_looks
def test_other_steps_are_the_mechanisms_own(name: str, given: dict[str, Any]) -> None:
    part, memory, query = samples.attention(name, **given), samples.memory(LENGTHS), torch.randn(3, 4, samples.QUERY)
    changed = Edited(part, Edit(rows={2: ROW}))
    bound, own = changed.bind(memory), part.bind(memory)
    state, plain = changed.start(bound), part.start(own)
    for t in range(2):
        context, weights, state = changed.attend(query[:, t], bound, state)
        expected, expected_weights, plain = part.attend(query[:, t], own, plain)
        assert torch.equal(context, expected)
        assert torch.equal(weights, expected_weights)


@pytest.mark.parametrize("name", ["coverage", "alignment-rnn"])
@pytest.mark.parametrize("heads", [False, True])
def test_what_is_remembered_is_the_row(name: str, heads: bool) -> None:
    part = samples.attention("multi-head", score=name, heads=2) if heads else samples.attention(name)
    memory, query = samples.memory(LENGTHS), torch.randn(3, samples.QUERY)
    changed = Edited(part, Edit(rows={0: ROW}))
    bound = changed.bind(memory)
    _, _, state = changed.attend(query, bound, changed.start(bound))
    own = bound.extra.inner  # the mechanism's
    if isinstance(part, MultiHead):
        head, inner, before, after = part.head, part._fold(own.extra.inner), part._fold(part.start(own)), part._fold(state.inner)
    else:
        head, inner, before, after = part, own, part.start(own), state.inner
    row = torch.tensor(ROW).div(8).expand(len(before), -1)
    torch.testing.assert_close(after, head.advance(before, row, inner))


@each_that_looks
def test_masked_places_get_no_weight(name: str, given: dict[str, Any]) -> None:
    part, memory, query = samples.attention(name, **given), samples.memory(LENGTHS), torch.randn(3, 4, samples.QUERY)
    changed = Edited(part, Edit(rows={1: ROW}, masked=(0, 3)))
    bound = changed.bind(memory)
    context, weights, _ = changed.attend_all(query, bound, changed.start(bound))
    assert (weights[..., [0, 3]] == 0).all()
    torch.testing.assert_close(context[:, 1], value_of(part, memory, 1))  # of the row, what is left


@pytest.mark.parametrize("name", ["additive", "hard", "multi-head", "coverage"])
def test_three_ways_with_the_same_weights(name: str) -> None:
    part = samples.attention(name, **({"at_test": "argmax"} if name == "hard" else {}))
    memory, query = samples.memory(LENGTHS), torch.randn(3, 1, samples.QUERY)
    bound = part.bind(memory)
    _, own, _ = part.attend_all(query, bound, part.start(bound))
    found = {}
    for context in ("soft", "sampled", "argmax"):
        changed = Edited(part, Edit(context=context))
        bound = changed.bind(memory)
        found[context] = changed.attend_all(query, bound, changed.start(bound))
    torch.testing.assert_close(found["soft"][1], own)
    assert torch.equal(found["argmax"][1].argmax(dim=-1), own.argmax(dim=-1))
    for context in ("sampled", "argmax"):
        assert set(found[context][1].unique().tolist()) == {0.0, 1.0}
        assert (found[context][1].sum(dim=-1) == 1).all()
    if part.heads == 1:
        for context, weights in (("soft", own), ("argmax", found["argmax"][1]), ("sampled", found["sampled"][1])):
            torch.testing.assert_close(found[context][0], weights[:, :, 0] @ memory.states_BSD)


def test_draws_follow_the_weights() -> None:
    rows = 4000
    memory = Memory(
        torch.eye(3).expand(rows, 3, 3), torch.ones(rows, 3, dtype=torch.bool), torch.zeros(rows, 3), given_BTS=torch.tensor([[[0.1, 0.6, 0.3]]]).expand(rows, 1, 3)
    )
    changed = Edited(samples.attention("oracle", width=3), Edit(context="sampled"))
    bound = changed.bind(memory)
    drawn, _, _ = changed.attend(torch.zeros(rows, samples.QUERY), bound, changed.start(bound))
    assert drawn.mean(dim=0).tolist() == pytest.approx([0.1, 0.6, 0.3], abs=0.03)


@pytest.mark.parametrize("rows", [{0: [1, -1, 0]}, {0: [float("nan"), 1, 0]}, {0: [float("inf"), 1, 0]}, {-1: [1, 0, 0]}])
def test_rows_that_are_no_weights(rows: dict[int, list[float]]) -> None:
    with pytest.raises(UserError, match="step"):
        Edit(rows=rows)


@pytest.mark.parametrize(("edit", "said"), [
    (Edit(rows={0: [0, 0, 0, 0, 0]}), "no weight above 0"), (Edit(rows={0: [1, 0, 0, 0, 0]}, masked=(0,)), "not masked"),
    (Edit(rows={0: [1, 0, 0, 0]}), "4 weights, and the source 5 positions"), (Edit(masked=(5,)), "position 5 cannot be masked"),
    (Edit(masked=(-1,)), "position -1"), (Edit(masked=(0, 1, 2, 3, 4)), "every position is masked"),
])  # fmt: skip
def test_edits_that_do_not_fit_the_source(edit: Edit, said: str) -> None:
    with pytest.raises(UserError, match=said):
        Edited(samples.attention("additive"), edit).bind(samples.memory(LENGTHS))


def test_what_looks_nowhere_cannot_be_edited() -> None:
    with pytest.raises(UserError, match="nothing to edit"):
        Edited(samples.attention("none"), Edit(rows={0: ROW}))


class Twice(Additive):
    """A mechanism that makes more of its weights than a sum."""

    def attend_all(self, query_BTQ: torch.Tensor, bound: Bound, state: Any, *, weights: bool = True) -> Any:
        context_BTD, *rest = super().attend_all(query_BTQ, bound, state, weights=weights)
        return (2 * context_BTD, *rest)


def test_what_makes_its_context_in_a_way_of_its_own_is_refused() -> None:
    changed = Edited(Twice(samples.QUERY, samples.WIDTH), Edit(rows={0: ROW}))
    bound = changed.bind(samples.memory(LENGTHS))
    with pytest.raises(UserError, match="not the sum"):
        changed.attend(torch.randn(3, samples.QUERY), bound, changed.start(bound))


DECODERS: list[tuple[str, dict[str, Any]]] = [
    ("rnn", {}), ("rnn", {"attend": "after"}), ("rnn", {"attend": "between"}), ("rnn", {"attend": "after", "input_feeding": True}), ("rnn", {"gate": True}),
    ("transformer", {"layers": 2, "inner": 16, "heads": 2}), ("hops", {"hops": 2}),
]  # fmt: skip


def decoder(name: str, given: dict[str, Any], attention: str) -> Decoder:
    built = registry.build("decoder", name, Space(vocabulary=samples.VOCABULARY), samples.WIDTH, lambda size: samples.attention(attention, size), size=8, **given)
    found: Decoder = samples.randomised(built).eval()
    return found


@pytest.mark.parametrize("attention", ["additive", "multi-head", "coverage", "hard", "local-m"])
@pytest.mark.parametrize(("name", "given"), DECODERS, ids=["-".join([name, *map(str, given)]) for name, given in DECODERS])
def test_in_a_decoder(name: str, given: dict[str, Any], attention: str) -> None:
    plain, memory, tokens = decoder(name, given, attention), samples.memory((5,)), samples.target(4, 1)
    before = {key: value.clone() for key, value in plain.state_dict().items()}
    changed = edited(plain, Edit(rows={1: ROW, 2: [0, 0, 0, 0, 1]}))
    state, own, seen, logits, others = changed.start(memory), plain.start(memory), [], [], []
    for token in tokens.unbind(dim=1):
        step, other = changed.step(token, state), plain.step(token, own)
        state, own = step.state, other.state
        seen.append(step.looked())
        logits.append(step.logits_BV)
        others.append(other.logits_BV)
    assert torch.equal(logits[0], others[0]), "before the first row nothing is changed, bit for bit"
    assert not torch.allclose(logits[1], others[1])
    torch.testing.assert_close(seen[1], torch.tensor(ROW).div(8).expand_as(seen[1]))
    assert (seen[2][..., 4] == 1).all()
    torch.testing.assert_close(changed(memory, tokens), torch.stack(logits, dim=1), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(changed.hidden_and_weights(memory, tokens)[1], torch.stack(seen, dim=1), atol=1e-5, rtol=1e-5)
    assert torch.equal(plain(memory, tokens), decoder_again(plain)(memory, tokens))
    assert all(torch.equal(value, before[key]) for key, value in plain.state_dict().items())
    assert not any(isinstance(part, Edited) for part in plain.modules())


def decoder_again(plain: Decoder) -> Decoder:
    """No edit is the decoder itself."""
    assert edited(plain, Edit()) is plain
    return plain


@pytest.mark.parametrize("attention", ["additive", "multi-head", "coverage"])
@pytest.mark.parametrize("name", ["rnn", "transformer"])
def test_every_beam_has_the_row(name: str, attention: str) -> None:
    plain = decoder(name, {"layers": 2, "inner": 16, "heads": 2} if name == "transformer" else {}, attention)
    changed, memory = edited(plain, Edit(rows={1: ROW}, masked=(4,))), samples.memory((5,))
    for hypothesis in Beam(size=4, nbest=4, max_length=6, min_length=3).search(changed, memory, attention=True)[0]:
        assert hypothesis.weights_THS is not None
        assert hypothesis.weights_THS[1].tolist() == [[0.0, 0.25, 0.0, 0.75, 0.0]] * hypothesis.weights_THS.shape[1]
        assert (hypothesis.weights_THS[..., 4] == 0).all()
    for search in (Beam(size=1, length_penalty=0.0, max_length=6), Greedy(max_length=6)):
        alone = search.search(changed, memory)[0][0]
        far = edited(plain, Edit(rows={50: ROW}))  # a step that is never reached
        assert search.search(far, memory)[0][0] == search.search(plain, memory)[0][0]
        assert alone.tokens == Greedy(max_length=6).search(changed, memory)[0][0].tokens


def test_edits_add_up() -> None:
    system = small.system(attention={"kind": "additive"})
    twice = edited(edited(system.get_submodule("decoder"), Edit(rows={0: [1, 0]}, masked=(3,))), Edit(rows={1: [0, 1]}, context="argmax"))
    found = [part for part in twice.modules() if isinstance(part, Edited)]
    assert len(found) == 1
    assert found[0].edit == Edit({0: [1, 0], 1: [0, 1]}, [3], "argmax")
    assert not isinstance(found[0].inner, (Edited, Hard))
