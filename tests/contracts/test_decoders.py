"""What every registered decoder must do with every registered attention."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.contracts import samples
from xattend import registry
from xattend.decoders import RNN, Decoder, Transformer
from xattend.types import Space

ATTENTIONS = registry.names("attention")
PLAIN: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in registry.names("decoder")]
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("rnn", {"attend": "between"}), ("rnn", {"attend": "between", "cell": "lstm", "layer_norm": True}),
    ("rnn", {"attend": "after"}), ("rnn", {"attend": "after", "input_feeding": True, "readout": "luong"}),
    ("rnn", {"readout": "maxout", "cell": "gru-reset-before", "layers": 2}), ("rnn", {"readout": "state", "cell": "lstm"}),
    ("rnn", {"tie": "output", "layer_norm": True}), ("rnn", {"cell": "lstm", "layers": 2, "residual": True, "attend": "after"}),
    ("rnn", {"cell": "feed-forward", "bridge": "zero"}),  # it has no use for a first state where nothing looks
    ("transformer", {"norm": "post"}), ("transformer", {"positions": "learned", "tie": "output"}),
]  # fmt: skip
INJECTED: list[tuple[str, dict[str, Any]]] = [  # ways in for the whole source besides attention
    ("rnn", {"inject": "every"}), ("rnn", {"inject": "every", "attend": "between"}), ("rnn", {"inject": "first", "cell": "lstm"}),
    ("rnn", {"inject": "first", "attend": "after", "input_feeding": True, "layers": 2}), ("rnn", {"inject": "bias", "cell": "lstm"}),
    ("rnn", {"inject": "merge", "attend": "after"}), ("rnn", {"inject": "merge", "readout": "maxout", "attend": "after", "input_feeding": True}),
    ("rnn", {"inject": "second", "layers": 2, "attend": "after"}), ("rnn", {"inject": "second", "layers": 3, "residual": True, "cell": "lstm"}),
    ("rnn", {"inject": "memory"}), ("rnn", {"inject": "memory", "attend": "after"}), ("rnn", {"bridge": "both", "cell": "lstm", "layers": 2}),
]  # fmt: skip
GATED: list[tuple[str, dict[str, Any]]] = [
    ("rnn", {"gate": True, "cell": "lstm", "bridge": "both"}), ("rnn", {"gate": True, "layers": 2}), ("rnn", {"gate": True, "attend": "between"}),
    ("rnn", {"gate": True, "attend": "after"}), ("rnn", {"gate": True, "attend": "after", "input_feeding": True}),
]  # fmt: skip
CASES = [(d, g, a) for d, g in PLAIN for a in ATTENTIONS]
CASES += [(d, g, a) for d, g in INJECTED for a in ("additive", "none")]
CASES += [(d, g, a) for d, g in GATED for a in ("additive", "multi-head", "uniform")]
CASES += [(d, g, a) for d, g in VARIANTS for a in ("additive", "none", "every-step", "local-m", "coverage", "multi-head")]
each_pair = pytest.mark.parametrize(("name", "given", "attention"), CASES, ids=[f"{d}-{g}-{a}" for d, g, a in CASES])


def decoder(name: str, given: dict[str, Any], attention: str) -> Decoder:
    settings = {**samples.DECODER_SETTINGS.get(name, {}), "size": samples.QUERY, **given}

    def make(query: int) -> Any:
        return samples.attention(attention, query)

    part = registry.build("decoder", name, Space(vocabulary=samples.VOCABULARY), samples.WIDTH, make, **settings)
    assert isinstance(part, Decoder)
    return part.eval()


@each_pair
def test_forward_equals_repeated_step(name: str, given: dict[str, Any], attention: str) -> None:
    part, memory, tokens = decoder(name, given, attention), samples.memory(), samples.target(6)
    logits_BTV = part(memory, tokens)
    state = part.start(memory)
    for t in range(6):
        step = part.step(tokens[:, t], state)
        state = step.state
        torch.testing.assert_close(step.logits_BV, logits_BTV[:, t], atol=1e-5, rtol=1e-5)
        assert step.weights_BHS.shape[0] == 4
        assert step.weights_BHS.shape[2] == 5


@each_pair
def test_weights_of_all_steps_are_those_of_single_steps(name: str, given: dict[str, Any], attention: str) -> None:
    part, memory, tokens = decoder(name, given, attention), samples.memory(), samples.target(4)
    hidden_BTD, weights_BTHS = part.hidden_and_weights(memory, tokens)
    torch.testing.assert_close(hidden_BTD, part.hidden(memory, tokens), atol=1e-5, rtol=1e-5)
    state = part.start(memory)
    for t in range(4):
        step = part.step(tokens[:, t], state)
        state = step.state
        torch.testing.assert_close(weights_BTHS[:, t], step.looked(), atol=1e-5, rtol=1e-5)
    found = registry.find("attention", attention)
    if found.reads_query and isinstance(part, RNN | Transformer):
        assert weights_BTHS.requires_grad


@each_pair
def test_state_can_be_reordered_and_expanded(name: str, given: dict[str, Any], attention: str) -> None:
    part, memory, tokens = decoder(name, given, attention), samples.memory(), samples.target(3)
    state = part.step(tokens[:, 0], part.start(memory)).state
    after = part.step(tokens[:, 1], state)
    beams = part.step(tokens[:, 1].repeat_interleave(2), state.beams(2))
    torch.testing.assert_close(beams.logits_BV, after.logits_BV.repeat_interleave(2, dim=0), atol=1e-5, rtol=1e-5)
    order = torch.tensor([3, 1, 1])
    moved = part.step(tokens[order, 1], state.take(order))
    torch.testing.assert_close(moved.logits_BV, after.logits_BV[order], atol=1e-5, rtol=1e-5)
    # within a sentence only the moving half is copied: swap the two beams of each sentence, and swap back
    swap = torch.tensor([1, 0, 3, 2, 5, 4, 7, 6])
    two_tokens = torch.stack([tokens[:, 1], tokens[:, 2]], dim=1).flatten()
    there = part.step(two_tokens, state.beams(2)).state
    direct = part.step(two_tokens, there).logits_BV
    swapped = part.step(two_tokens[swap], there.reorder(swap)).logits_BV
    torch.testing.assert_close(swapped[swap], direct, atol=1e-5, rtol=1e-5)


@each_pair
def test_no_step_sees_the_future(name: str, given: dict[str, Any], attention: str) -> None:
    part, memory, tokens = decoder(name, given, attention), samples.memory(), samples.target(5)
    changed = tokens.clone()
    changed[:, 3] = (tokens[:, 3] - 4 + 1) % 7 + 4
    before, after = part(memory, tokens), part(memory, changed)
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])


@each_pair
def test_source_padding_changes_nothing(name: str, given: dict[str, Any], attention: str) -> None:
    part, memory, tokens = decoder(name, given, attention), samples.memory(), samples.target(4)
    torch.testing.assert_close(
        part(memory, tokens), part(samples.padded_further(memory, 3), tokens), atol=1e-5, rtol=1e-5
    )


@each_pair
def test_gradients_reach_every_weight(name: str, given: dict[str, Any], attention: str) -> None:
    part, memory, tokens = decoder(name, given, attention), samples.memory(), samples.target(5)
    (part(memory, tokens).log_softmax(dim=-1)[..., 5] ** 2).sum().backward()
    unreached = [key for key, weight in part.named_parameters() if weight.numel() and (weight.grad is None or not weight.grad.any())]
    # the norm before a look at the source has no gradient if the mechanism does not read the query, or uniform weights leave it aside
    # and what rebuilds the picture has one through the loss of the decoder's own (tests/decoders/test_inject.py)
    rebuild = ("rebuild.weight", "rebuild.bias")
    reads = registry.find("attention", attention).reads_query and attention != "uniform"
    excused = ("key.bias", *rebuild) if reads else ("around_source.norm.weight", "around_source.norm.bias", *rebuild)
    assert [key for key in unreached if not key.endswith(excused)] == []
