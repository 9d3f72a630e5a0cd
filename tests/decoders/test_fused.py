"""The fused decoder against the plain loop: values, gradients, and a float64 gradient check of its own backward."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.contracts import samples
from xattend import registry
from xattend.decoders import RNN, fused
from xattend.types import Memory, Space

CELLS = [name for name in registry.names("cell") if registry.build("cell", name, 3, 4).fused_gates() is not None]
SCORES = [n for n in registry.names("attention") if samples.attention(n, 8, 6).fused_form() is not None]
each_pair = pytest.mark.parametrize(("cell", "score"), [(cell, score) for cell in CELLS for score in SCORES])
both_orders = pytest.mark.parametrize("ahead", [True, False])  # values through the gates' weights before the loop, or contexts in it


def decoder(cell: str, score: str, **given: Any) -> RNN:
    part = RNN(
        Space(vocabulary=samples.VOCABULARY), 6, lambda query: samples.attention(score, query, 6), size=6, embedding=4, cell=cell, **given
    )
    samples.randomised(part)
    return part


def memory(dtype: torch.dtype = torch.float32) -> Memory:
    found = samples.memory((5, 3, 1, 0), dtype=dtype)  # a row of one position, and a row of none
    found.states_BSD.requires_grad_()
    return found


def both_ways(part: RNN, of: Memory, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    state = part.start(of)
    embedded = part.embedding(tokens)
    how = fused.plan(part.stack, part.attention, state.source)
    assert how is not None
    return part._fused(how, embedded, state), part.one_by_one(embedded, state)


def test_there_is_something_to_test() -> None:
    assert {"gru", "lstm"} <= set(CELLS)
    assert {"additive", "concat", "bilinear", "dot", "scaled-dot"} <= set(SCORES)


@both_orders
@each_pair
def test_values_and_gradients_equal_the_plain_loop(cell: str, score: str, ahead: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "fewer_through", lambda _: ahead)
    part, tokens = decoder(cell, score), samples.target(5)
    of = memory()
    weights = [weight for _, weight in part.named_parameters()]
    found = []
    for hidden in both_ways(part, of, tokens):
        loss = (hidden * torch.linspace(-1, 1, hidden.numel()).view_as(hidden)).sum()
        found.append((hidden, torch.autograd.grad(loss, [of.states_BSD, *weights], allow_unused=True, retain_graph=True)))
    (one, one_grads), (other, other_grads) = found
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    for a, b in zip(one_grads, other_grads, strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


@both_orders
@each_pair
def test_its_backward_is_the_derivative_of_its_forward(cell: str, score: str, ahead: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "fewer_through", lambda _: ahead)
    part = decoder(cell, score).double()
    names, weights = zip(*part.named_parameters(), strict=True)
    tokens = samples.target(3, 2)
    template = samples.memory((3, 2), dtype=torch.float64)
    states = template.states_BSD.requires_grad_()

    def run(states_BSD: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        def hidden(module: RNN) -> torch.Tensor:
            of = Memory(states_BSD, template.mask_BS, template.summary_BD)
            state = module.start(of)
            how = fused.plan(module.stack, module.attention, state.source)
            assert how is not None
            return module._fused(how, module.embedding(tokens), state)

        class Call(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.part = part

            def forward(self) -> torch.Tensor:
                return hidden(self.part)

        named = {f"part.{name}": weight for name, weight in zip(names, given, strict=True)}
        result: torch.Tensor = torch.func.functional_call(Call(), named, ())
        return result

    kept = [weight.detach().clone().requires_grad_(not name.startswith("output")) for name, weight in zip(names, weights, strict=True)]
    assert torch.autograd.gradcheck(run, (states, *kept))


def test_parts_without_a_fused_form_take_the_plain_loop() -> None:
    for given, attention in (({"layers": 2}, "additive"), ({"layer_norm": True}, "additive"), ({}, "coverage"), ({"cell": "sigma-lstm"}, "dot")):
        part = RNN(Space(vocabulary=9), 6, lambda query, name=attention: samples.attention(name, query, 6), size=6, embedding=4, **given)  # type: ignore[misc,arg-type]
        assert fused.plan(part.stack, part.attention, part.start(samples.memory()).source) is None
