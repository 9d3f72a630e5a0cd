"""R-Drop against the plain formula by autograd and torch's kl_div, and where it must refuse."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tests.contracts import samples
from tests.contracts.test_decoders import decoder
from xattend.errors import UserError
from xattend.layers.precision import products_in
from xattend.objectives import CrossEntropy, RDrop, r_drop
from xattend.objectives.r_drop import agreeing_likelihood
from xattend.types import BOS, EOS, PAD, Batch, Padded


def plain(hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, labels_N: Tensor, smoothing: float, weight: float) -> Tensor:
    logits_NV = hidden_ND @ weight_VD.T + bias_V
    one, two = logits_NV.log_softmax(dim=1).chunk(2)
    told = F.cross_entropy(logits_NV, labels_N.repeat(2), reduction="sum", label_smoothing=smoothing) / 2
    apart = F.kl_div(two, one, log_target=True, reduction="sum") + F.kl_div(one, two, log_target=True, reduction="sum")
    return told + weight / 4 * apart


def given(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    return [torch.randn(*shape, dtype=dtype, requires_grad=True) for shape in ((10, 4), (11, 4), (11,))]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_it_equals_the_plain_formula(smoothing: float, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(r_drop, "CHUNK", 22 * rows)
    tensors, labels_N = given(), torch.randint(11, (5,))
    expected = plain(*tensors, labels_N, smoothing, 3.0)  # type: ignore[arg-type]
    total, nll, apart = agreeing_likelihood(*tensors, labels_N, smoothing, 3.0)  # type: ignore[arg-type]
    torch.testing.assert_close(total, expected)
    torch.testing.assert_close(torch.autograd.grad(2 * total, tensors), torch.autograd.grad(2 * expected, tensors))
    torch.testing.assert_close(nll, plain(*tensors, labels_N, 0.0, 0.0))  # type: ignore[arg-type]
    assert apart > 0


def test_its_gradient_is_right() -> None:
    assert torch.autograd.gradcheck(lambda *g: agreeing_likelihood(*g, torch.tensor([0, 5, 2, 2, 1]), 0.1, 5.0)[0], given())


def test_in_bfloat16_its_gradient_points_the_same_way() -> None:
    tensors, labels_N = given(torch.float32), torch.randint(11, (5,))
    exact = torch.autograd.grad(agreeing_likelihood(*tensors, labels_N, 0.1, 5.0)[0], tensors)  # type: ignore[arg-type]
    with products_in("bfloat16"):
        total = agreeing_likelihood(*tensors, labels_N, 0.1, 5.0)[0]  # type: ignore[arg-type]
    for rounded, of in zip(torch.autograd.grad(total, tensors), exact, strict=True):
        assert rounded.dtype == torch.float32
        assert F.cosine_similarity(rounded.flatten(), of.flatten(), dim=0) > 0.98


def rows() -> tuple[Batch, Any, Any]:
    values = torch.tensor([[BOS, 5, 6, EOS], [BOS, 7, EOS, PAD], [BOS, EOS, PAD, PAD], [BOS, 4, 5, EOS]])
    return Batch(None, Padded(values, values != PAD), (0, 1, 2, 3)), decoder("rnn", {}, "additive"), samples.memory()


def test_without_dropout_two_readings_agree_and_it_is_cross_entropy() -> None:
    batch, part, memory = rows()
    again, objective = batch.again(2), RDrop(label_smoothing=0.1).train()
    assert again.rows == (0, 1, 2, 3, 0, 1, 2, 3)
    assert again.target is not None
    assert batch.target is not None
    loss = objective(part, memory.take(torch.tensor([0, 1, 2, 3] * 2)), again.target)
    once = CrossEntropy(label_smoothing=0.1).train()(part, memory, batch.target)
    torch.testing.assert_close(loss.total, once.total)
    assert loss.parts["divergence"] == pytest.approx(0.0, abs=1e-5)
    assert loss.parts["nll"] == pytest.approx(once.parts["nll"], rel=1e-5)
    assert (loss.tokens, loss.sentences) == (once.tokens, once.sentences)


def test_rows_are_read_again_in_training_alone() -> None:
    batch, _, _ = rows()
    assert len(RDrop().train().rows(batch)) == 8
    assert RDrop().eval().rows(batch) is batch
    assert CrossEntropy().train().rows(batch) is batch


def test_rows_that_were_read_once_are_refused() -> None:
    batch, part, memory = rows()
    with pytest.raises(UserError, match="every row twice"):
        RDrop().train()(part, memory, batch.target)
