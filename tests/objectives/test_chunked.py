"""The chunked output layer against the plain one: values, gradients, any chunk size, and a float64 gradient check."""

from __future__ import annotations

import pytest
import torch

from xattend.objectives import chunked
from xattend.objectives.base import negative_log_likelihood
from xattend.objectives.chunked import chunked_likelihood


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_it_equals_the_plain_output_layer(smoothing: float, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked, "CHUNK", 11 * rows)
    given = [torch.randn(7, 4, requires_grad=True), torch.randn(11, 4, requires_grad=True), torch.randn(11, requires_grad=True)]
    labels = torch.randint(11, (7,))
    plain = negative_log_likelihood(given[0] @ given[1].T + given[2], labels, smoothing)
    found = chunked_likelihood(*given, labels, smoothing)  # type: ignore[arg-type]
    torch.testing.assert_close(found, plain)
    expected = torch.autograd.grad(3 * plain[0], given)
    torch.testing.assert_close(torch.autograd.grad(3 * found[0], given), expected)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_its_gradient_is_right(smoothing: float) -> None:
    shapes = ((5, 3), (6, 3), (6,))
    given = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(lambda *g: chunked_likelihood(*g, torch.tensor([0, 5, 2, 2, 1]), smoothing)[0], given)


def test_nothing_to_score_is_zero() -> None:
    total, _ = chunked_likelihood(torch.zeros(0, 3, requires_grad=True), torch.zeros(6, 3), torch.zeros(6), torch.zeros(0, dtype=torch.long), 0.0)
    assert total.item() == 0.0
