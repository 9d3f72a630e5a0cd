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
both_gates = pytest.mark.parametrize("gate", [False, True], ids=["open", "gated"])
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


def in_one_function(part: RNN, of: Memory, tokens: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Outputs, contexts and weights of all steps."""
    state = part.start(of)
    how = fused.plan(part.stack, part.attention, state.source.bound)
    assert how is not None
    return part._fused(how, part.embedding(tokens), state)  # type: ignore[return-value]


def in_the_plain_loop(part: RNN, of: Memory, tokens: torch.Tensor) -> tuple[torch.Tensor, ...]:
    state, found = part.start(of), []
    for embedded in part.embedding(tokens).unbind(dim=1):
        output, context, weights, moving = part._update(embedded, state)
        state = state.then(moving)
        found.append((output, context, weights))
    return tuple(torch.stack(list(each), dim=1) for each in zip(*found, strict=True))  # type: ignore[arg-type]


def test_there_is_something_to_test() -> None:
    assert {"gru", "lstm"} <= set(CELLS)
    assert {"additive", "concat", "bilinear", "dot", "scaled-dot"} <= set(SCORES)


@both_orders
@both_gates
@each_pair
def test_values_and_gradients_equal_the_plain_loop(
    cell: str, score: str, gate: bool, ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "fewer_through", lambda _: ahead)
    part, tokens = decoder(cell, score, gate=gate), samples.target(5)
    of = memory()
    weights = [weight for _, weight in part.named_parameters()]
    found = []
    for ways in (in_one_function(part, of, tokens), in_the_plain_loop(part, of, tokens)):
        loss = sum((way * torch.linspace(-1, 1, way.numel()).view_as(way)).sum() for way in ways)
        assert isinstance(loss, torch.Tensor)
        found.append((ways, torch.autograd.grad(loss, [of.states_BSD, *weights], allow_unused=True, retain_graph=True)))
    (one, one_grads), (other, other_grads) = found
    for a, b in zip([*one, *one_grads], [*other, *other_grads], strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            torch.testing.assert_close(a, b, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("asked", [0, 1, 2], ids=["outputs", "contexts", "weights"])
def test_what_nobody_asks_for_has_no_gradient(asked: int) -> None:
    part, tokens, of = decoder("lstm", "additive", gate=True), samples.target(5), memory()
    given = [of.states_BSD, part.attention.query.weight, part.gate.layer.weight]  # type: ignore[union-attr, list-item]
    one, other = (
        torch.autograd.grad(way(part, of, tokens)[asked].square().sum(), given)  # type: ignore[arg-type]
        for way in (in_one_function, in_the_plain_loop)
    )
    torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-5)


@both_orders
@both_gates
@each_pair
def test_its_backward_is_the_derivative_of_its_forward(
    cell: str, score: str, gate: bool, ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "fewer_through", lambda _: ahead)
    part = decoder(cell, score, gate=gate).double()
    names, weights = zip(*part.named_parameters(), strict=True)
    tokens = samples.target(3, 2)
    template = samples.memory((3, 2), dtype=torch.float64)
    states = template.states_BSD.requires_grad_()

    def run(states_BSD: torch.Tensor, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        class Call(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.part = part

            def forward(self) -> tuple[torch.Tensor, ...]:
                return in_one_function(self.part, Memory(states_BSD, template.mask_BS, template.summary_BD), tokens)

        named = {f"part.{name}": weight for name, weight in zip(names, given, strict=True)}
        result: tuple[torch.Tensor, ...] = torch.func.functional_call(Call(), named, ())
        return result

    unused = ("output", "readout")
    kept = [weight.detach().clone().requires_grad_(not name.startswith(unused)) for name, weight in zip(names, weights, strict=True)]
    assert torch.autograd.gradcheck(run, (states, *kept), fast_mode=True)


def test_parts_without_a_fused_form_take_the_plain_loop() -> None:
    for given, attention in (({"layers": 2}, "additive"), ({"layer_norm": True}, "additive"), ({}, "coverage"), ({"cell": "sigma-lstm"}, "dot")):
        part = RNN(Space(vocabulary=9), 6, lambda query, name=attention: samples.attention(name, query, 6), size=6, embedding=4, **given)  # type: ignore[misc,arg-type]
        assert fused.plan(part.stack, part.attention, part.start(samples.memory()).source.bound) is None
