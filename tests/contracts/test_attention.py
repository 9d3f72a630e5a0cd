"""What every registered attention must do. A new mechanism is tested by existing."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.contracts import samples
from xattend import registry, tree
from xattend.attention import Attention

CASES: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in registry.names("attention")]
CASES += [("multi-head", {"score": score, "heads": 2}) for score in samples.scores()]
CASES += [("oracle", {"pattern": pattern}) for pattern in ("diagonal", "reversed", "uniform")]
CASES += [("hard", {"score": s}) for s in samples.scores() if registry.find("attention", s).attend_all is Attention.attend_all]
# the likeliest place has no gradient
FLAT: list[tuple[str, dict[str, Any]]] = [("hard", {"at_test": "argmax", "score": s}) for s in ("additive", "coverage", "local-m", "local-p")]


def each(cases: list[tuple[str, dict[str, Any]]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("name", "given"), cases, ids=["-".join([name, *map(str, given.values())]) for name, given in cases])


each_mechanism, each_with_gradient = each(CASES + FLAT), each(CASES)


def run(part: Attention, query_BTQ: torch.Tensor, memory: Any) -> tuple[torch.Tensor, torch.Tensor]:
    bound = part.bind(memory)
    context_BTD, weights_BTHS, _ = part.attend_all(query_BTQ, bound, part.start(bound))
    assert weights_BTHS is not None
    return context_BTD, weights_BTHS


@each_mechanism
def test_shapes(name: str, given: dict[str, Any]) -> None:
    part, memory = samples.attention(name, **given), samples.memory()
    bound = part.bind(memory)
    context_BD, weights_BHS, _ = part.attend(torch.randn(4, samples.QUERY), bound, part.start(bound))
    assert context_BD.shape == (4, part.context_size)
    assert weights_BHS.shape == (4, part.heads, 5)


@each_mechanism
def test_weights_are_on_real_positions_and_sum_to_one(name: str, given: dict[str, Any]) -> None:
    part, memory = samples.attention(name, **given), samples.memory()
    _, weights_BTHS = run(part, torch.randn(4, 3, samples.QUERY), memory)
    assert (weights_BTHS >= 0).all()
    assert (weights_BTHS.masked_select(~memory.mask_BS[:, None, None]) == 0).all(), "weight on padding"
    inner = getattr(part, "head", part)
    if part.sums_to_one and inner.sums_to_one:
        torch.testing.assert_close(weights_BTHS.sum(dim=-1), torch.ones(4, 3, part.heads))


@each_mechanism
def test_padding_changes_nothing(name: str, given: dict[str, Any]) -> None:
    part, memory, query = samples.attention(name, **given), samples.memory(), torch.randn(4, 3, samples.QUERY)
    context, weights = run(part, query, memory)
    context_padded, weights_padded = run(part, query, samples.padded_further(memory, 4))
    torch.testing.assert_close(context, context_padded)
    torch.testing.assert_close(weights, weights_padded[..., :5])


@each_mechanism
def test_a_row_does_not_see_its_neighbours(name: str, given: dict[str, Any]) -> None:
    """In double precision: products of another number of rows are added up in another order on some processors, which a window's exponentials make larger."""
    part, memory = samples.attention(name, **given).double(), samples.memory(dtype=torch.float64)
    query = torch.randn(4, 3, samples.QUERY, dtype=torch.float64)
    context, _ = run(part, query, memory)
    alone, _ = run(part, query[1:2], memory.take(torch.tensor([1])))
    torch.testing.assert_close(context[1:2], alone)


@each_mechanism
def test_nothing_to_look_at_gives_zeros(name: str, given: dict[str, Any]) -> None:
    part = samples.attention(name, **given)
    memory = samples.memory((5, 0, 2))
    query = torch.randn(3, 3, samples.QUERY, requires_grad=True)
    context, weights = run(part, query, memory)
    assert torch.isfinite(context).all()
    assert (weights[1] == 0).all()
    if part.reads_query:
        context.sum().backward()
        assert query.grad is None or torch.isfinite(query.grad).all()


@each_mechanism
def test_many_queries_equal_one_by_one(name: str, given: dict[str, Any]) -> None:
    part, memory, query = samples.attention(name, **given), samples.memory(), torch.randn(4, 4, samples.QUERY)
    bound = part.bind(memory)
    together, weights_together, _ = part.attend_all(query, bound, part.start(bound))
    without_weights, _, _ = part.attend_all(query, bound, part.start(bound), weights=False)
    state = part.start(bound)
    for t in range(4):
        context, weights, state = part.attend(query[:, t], bound, state)
        torch.testing.assert_close(context, together[:, t])
        torch.testing.assert_close(context, without_weights[:, t], atol=1e-5, rtol=1e-5)
        assert weights_together is not None
        torch.testing.assert_close(weights, weights_together[:, t])


@each_mechanism
def test_state_can_be_reordered(name: str, given: dict[str, Any]) -> None:
    part, memory, query = samples.attention(name, **given), samples.memory(), torch.randn(4, 2, samples.QUERY)
    order = torch.tensor([2, 0, 0, 3])
    bound = part.bind(memory)
    _, _, state = part.attend(query[:, 0], bound, part.start(bound))
    context, weights, _ = part.attend(query[:, 1], bound, state)
    moved, moved_weights, _ = part.attend(query[order, 1], tree.take(bound, order), tree.take(state, order))
    torch.testing.assert_close(context[order], moved)
    torch.testing.assert_close(weights[order], moved_weights)


@each_mechanism
def test_nothing_is_kept_on_self(name: str, given: dict[str, Any]) -> None:
    part, query = samples.attention(name, **given), torch.randn(4, 3, samples.QUERY)
    one, other = samples.memory(), samples.memory()
    first, _ = run(part, query, one)
    run(part, torch.randn(4, 3, samples.QUERY), other)
    again, _ = run(part, query, one)
    torch.testing.assert_close(first, again)


@each_with_gradient
def test_gradients_reach_every_weight(name: str, given: dict[str, Any]) -> None:
    part = samples.attention(name, **given)
    context, _ = run(part, torch.randn(4, 3, samples.QUERY), samples.memory())
    if any(True for _ in part.parameters()):
        (context**2).sum().backward()
    unreached = [key for key, weight in part.named_parameters() if weight.grad is None or not weight.grad.any()]
    # a softmax does not change when all scores of a row move together, so such a bias has no gradient by design;
    # location-only attention reads no keys, so neither do its heads; uniform weights depend on nothing at all
    by_design = {"location": ("key.bias", "key.weight"), "uniform": ("key.bias", "key.weight", "query.bias", "query.weight")}
    excused = by_design.get(str(given.get("score")), ("key.bias",))
    assert [key for key in unreached if not key.endswith(excused)] == []


@each_with_gradient
def test_gradients_are_right(name: str, given: dict[str, Any]) -> None:
    part = samples.attention(name, **given).double()
    memory = samples.memory((3, 2), dtype=torch.float64)
    query = torch.randn(2, 2, samples.QUERY, dtype=torch.float64, requires_grad=True)
    if part.reads_query:
        assert torch.autograd.gradcheck(lambda q: run(part, q, memory)[0], (query,))
