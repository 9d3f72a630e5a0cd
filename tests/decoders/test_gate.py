"""The gate on the context, and the two layers of the initial state: Show, Attend and Tell's own parts."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.contracts import samples
from xattend.attention import Oracle
from xattend.decoders import RNN
from xattend.errors import UserError
from xattend.types import Memory, Space


def decoder(**given: Any) -> RNN:
    part = RNN(Space(vocabulary=samples.VOCABULARY), 6, lambda query: samples.attention("additive", query, 6), size=5, embedding=4, **given)
    return samples.randomised(part).eval()  # type: ignore[no-any-return]


@pytest.mark.parametrize("attend", ["before", "between", "after"])
def test_an_open_gate_changes_nothing_and_a_closed_one_hides_the_source(attend: str) -> None:
    part, memory, tokens = decoder(attend=attend, gate=True), samples.memory(), samples.target(4)
    assert part.gate is not None
    torch.nn.init.zeros_(part.gate.layer.weight)
    free = decoder(attend=attend)
    free.load_state_dict({key: value for key, value in part.state_dict().items() if not key.startswith("gate")})
    torch.nn.init.constant_(part.gate.layer.bias, 50.0)
    torch.testing.assert_close(part(memory, tokens), free(memory, tokens))
    torch.nn.init.constant_(part.gate.layer.bias, -50.0)
    other = Memory(torch.randn_like(memory.states_BSD), memory.mask_BS, memory.summary_BD)
    torch.testing.assert_close(part(memory, tokens), part(other, tokens))
    assert not torch.allclose(free(memory, tokens), free(other, tokens))


def test_the_gate_by_hand() -> None:
    """One unit, one place with value 2, h_0 = tanh(1): beta = sigmoid(3 tanh(1) - 1), h_1 = tanh(5 x 2 beta) of the context alone."""
    part = RNN(
        Space(vocabulary=5), 1, lambda query: samples.attention("additive", query, 1), size=1, embedding=1, cell="tanh-rnn",
        readout="state", gate=True,
    )  # fmt: skip
    weights = {name: torch.zeros_like(value) for name, value in part.state_dict().items()}
    weights |= {
        "bridge.weight": torch.ones(1, 1), "gate.layer.weight": torch.full((1, 1), 3.0), "gate.layer.bias": torch.full((1,), -1.0),
        "stack.cells.0.input.weight": torch.tensor([[0.0, 5.0]]),
    }  # fmt: skip
    part.load_state_dict(weights)
    memory = Memory(torch.full((1, 1, 1), 2.0), torch.ones(1, 1, dtype=torch.bool), torch.ones(1, 1))
    beta = 1 / (1 + math.exp(1 - 3 * math.tanh(1.0)))
    first = math.tanh(10 * beta)
    second = math.tanh(10 / (1 + math.exp(1 - 3 * first)))
    assert part.hidden(memory, torch.tensor([[2, 4]]))[0, :, 0].tolist() == pytest.approx([first, second], abs=1e-6)


def test_weights_are_those_before_the_gate() -> None:
    part = decoder(gate=True)
    _, weights_BTHS = part.hidden_and_weights(samples.memory(), samples.target(4))
    torch.testing.assert_close(weights_BTHS.sum(dim=-1), torch.ones(4, 4, 1))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_both_parts_of_the_state_start_from_layers_of_their_own(cell: str) -> None:
    part, memory = decoder(cell=cell, layers=2, bridge="both"), samples.memory()
    assert part.bridge is not None
    parts = 2 if cell == "lstm" else 1
    assert part.bridge.out_features == 2 * parts * 5
    found = [value for layer in part.start(memory).moving["cells"] for value in layer]
    assert len(found) == 2 * parts
    for number, value in enumerate(found):
        rows = slice(5 * number, 5 * number + 5)
        torch.testing.assert_close(value, torch.tanh(memory.summary_BD @ part.bridge.weight[rows].T + part.bridge.bias[rows]))


def test_the_output_alone_starts_from_a_layer_by_default() -> None:
    part, memory = decoder(cell="lstm"), samples.memory()
    ((h, c),) = part.start(memory).moving["cells"]
    assert part.bridge is not None
    torch.testing.assert_close(h, torch.tanh(part.bridge(memory.summary_BD)))
    assert not c.any()


def test_given_weights_are_refused_by_the_gate_as_they_ask_no_state() -> None:
    with pytest.raises(UserError, match="looks at the source"):
        RNN(Space(vocabulary=5), 6, lambda query: Oracle(query, 6), gate=True)
