"""What every registered part must do when products are made in bfloat16: the same, nearly, with gradients in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tests.contracts import samples
from tests.contracts.test_cells import both_norms, cell, each_cell
from tests.contracts.test_decoders import decoder, each_pair
from tests.contracts.test_encoders import each_encoder, encoder
from xattend.layers.precision import products_in

NEAR = 0.97  # cosine of the gradients of small random parts; of recipes it is above .98 (tests/layers/test_precision.py)


def assert_near(part: nn.Module, make: Callable[[], Tensor]) -> None:
    """What is made, and the gradients of the part's weights, in both precisions."""
    found = {}
    for precision in ("float32", "bfloat16"):
        torch.manual_seed(5)
        part.zero_grad()
        with products_in(precision):
            made = make()
            total = (made.float() * torch.linspace(-1, 1, made.numel()).view(made.shape)).sum()
        if total.requires_grad:
            total.backward()  # type: ignore[no-untyped-call]
        gradients = [weight.grad for weight in part.parameters() if weight.grad is not None]
        assert all(gradient.dtype == torch.float32 for gradient in gradients)
        found[precision] = made.detach().float(), torch.cat([gradient.flatten() for gradient in gradients]) if gradients else torch.ones(1)
    (exact, along), (near, beside) = found.values()
    assert torch.isfinite(near).all()
    torch.testing.assert_close(near, exact, atol=0.05 * max(1.0, float(exact.abs().max())), rtol=0.05)
    assert along.norm() == 0 or torch.cosine_similarity(along, beside, dim=0) > NEAR


@each_cell
@both_norms
def test_cells(name: str, layer_norm: bool) -> None:
    part, inputs_BTD = cell(name, layer_norm), torch.randn(4, 5, 3)
    assert_near(part, lambda: part.unroll(inputs_BTD, part.start(4))[0])


@each_encoder
def test_encoders(name: str, given: dict[str, Any]) -> None:
    part, source = encoder(name, given), samples.source_for(name)
    assert_near(part, lambda: part(source).states_BSD)


@each_pair
def test_decoders(name: str, given: dict[str, Any], attention: str) -> None:
    torch.manual_seed(1)
    part, memory, tokens = decoder(name, given, attention), samples.memory(), samples.target(6)
    assert_near(part, lambda: part.hidden(memory, tokens))
