"""What every registered encoder of symbols must do."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.contracts import samples
from xattend import registry
from xattend.encoders import Encoder
from xattend.types import EOS, Padded, Space

CASES: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in registry.names("encoder")]
CASES += [
    ("rnn", {"reverse": True}), ("rnn", {"cell": "lstm", "layers": 2, "carry": True}), ("birnn", {"cell": "lstm", "carry": True}),
    ("birnn", {"layers": 2, "cell": "gru-reset-before"}), ("birnn", {"layer_norm": True}), ("birnn", {"skip": True}),
    ("transformer", {"norm": "post"}), ("transformer", {"positions": "learned"}), *[("ladder", {"rung": r}) for r in range(1, 5)],
    ("conv", {"layers": 0}), ("conv", {"width": 5}), ("conv", {"widest": 2}),
]  # fmt: skip
each_encoder = pytest.mark.parametrize(("name", "given"), CASES, ids=[f"{n}-{g}" for n, g in CASES])


def encoder(name: str, given: dict[str, Any]) -> Encoder:
    settings = {**samples.ENCODER_SETTINGS.get(name, {}), "size": 8, **given}
    part = registry.build("encoder", name, Space(vocabulary=samples.VOCABULARY), **settings)
    assert isinstance(part, Encoder)
    return part.eval()


@each_encoder
def test_shapes(name: str, given: dict[str, Any]) -> None:
    part, source = encoder(name, given), samples.source()
    memory = part(source)
    assert memory.states_BSD.shape == (4, 5, part.size)
    assert memory.summary_BD.shape == (4, part.size)
    assert memory.grid == (5,)
    assert torch.equal(memory.mask_BS, source.mask_BS)


@each_encoder
def test_padding_never_changes_a_real_position(name: str, given: dict[str, Any]) -> None:
    part, source = encoder(name, given), samples.source()
    memory = part(source)
    for row, length in enumerate(samples.LENGTHS):
        alone = part(Padded(source.values[row : row + 1, :length], source.mask_BS[row : row + 1, :length]))
        torch.testing.assert_close(memory.states_BSD[row, :length], alone.states_BSD[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(memory.summary_BD[row], alone.summary_BD[0], atol=1e-5, rtol=1e-5)
        if memory.carry is not None:
            for together, single in zip(memory.carry, alone.carry, strict=True):
                for a, b in zip(together, single, strict=True):
                    torch.testing.assert_close(a[row], b[0], atol=1e-5, rtol=1e-5)


@each_encoder
def test_what_stands_in_the_padding_does_not_matter(name: str, given: dict[str, Any]) -> None:
    part, source = encoder(name, given), samples.source()
    rubbish = torch.where(source.mask_BS, source.values, torch.full_like(source.values, 9))
    one, other = part(source), part(Padded(rubbish, source.mask_BS))
    torch.testing.assert_close(one.states_BSD[source.mask_BS], other.states_BSD[source.mask_BS])
    torch.testing.assert_close(one.summary_BD, other.summary_BD)


@each_encoder
def test_gradients_reach_every_weight(name: str, given: dict[str, Any]) -> None:
    part, source = encoder(name, given), samples.source()
    memory = part(source)
    ((memory.states_BSD * source.mask_BS[..., None]) ** 2).sum().add((memory.summary_BD**3).sum()).backward()
    unreached = [key for key, weight in part.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert unreached == []


def test_reversal_keeps_the_end_mark_last_and_turns_the_states_back() -> None:
    part = encoder("rnn", {"reverse": True})
    plain = encoder("rnn", {})
    plain.load_state_dict(part.state_dict())
    source = Padded(torch.tensor([[5, 6, 7, EOS, 0], [8, EOS, 0, 0, 0]]), samples.mask((4, 2), 5))
    turned = Padded(torch.tensor([[7, 6, 5, EOS, 0], [8, EOS, 0, 0, 0]]), source.mask_BS)
    memory, expected = part(source), plain(turned)
    torch.testing.assert_close(memory.summary_BD, expected.summary_BD)
    torch.testing.assert_close(memory.states_BSD[0, :4], expected.states_BSD[0, [2, 1, 0, 3]])
    torch.testing.assert_close(memory.states_BSD[1, :2], expected.states_BSD[1, :2])
