"""What every registered encoder must do, whether it reads symbols, pictures or feature vectors."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.contracts import samples
from xattend import registry
from xattend.encoders import Encoder
from xattend.types import EOS, Batch, Padded

CASES: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in registry.names("encoder")]
CASES += [
    ("rnn", {"reverse": True}), ("rnn", {"cell": "lstm", "layers": 2, "carry": True}), ("birnn", {"cell": "lstm", "carry": True}),
    ("birnn", {"layers": 2, "cell": "gru-reset-before"}), ("birnn", {"layer_norm": True}), ("birnn", {"skip": True}),
    ("transformer", {"norm": "post"}), ("transformer", {"positions": "learned"}), *[("ladder", {"rung": r}) for r in range(1, 5)],
    ("conv", {"layers": 0}), ("conv", {"width": 5}), ("conv", {"widest": 2}),
    ("cnn", {"norm": "none", "depth": 2}), ("cnn", {"positions": "learned"}), ("cnn", {"positions": "sinusoidal"}),
    ("cnn", {"rows": "pool"}), ("tail", {"positions": "learned"}), ("asked", {"summary": "both"}), ("asked", {"question": "birnn"}),
    ("frames", {"pool": "none", "positions": "none"}), ("frames", {"recurrent": True}), ("clip", {"recurrent": True}),
    ("frames+clip", {"recurrent": True, "pool": "none"}), ("sentences", {"words": "bag", "time": 0}), ("facts", {"words": "gru", "fusion": False}),
    ("facts", {"words": "position", "fusion": False}), ("hierarchical", {"cell": "lstm", "turn": 6}),
    ("listen", {"layers": 2, "halve": 0, "cell": "gru"}), ("listen", {"layers": 0, "halve": 1}), ("listen", {"front": [3], "halve": 0}),
    ("dense", {"filters": 2, "filter": 4, "stride": 2}), ("glimpses", {"glimpse": "whole"}),
]  # fmt: skip
FILMS = ("frames", "clip", "frames+clip")
each_encoder = pytest.mark.parametrize(("name", "given"), CASES, ids=[f"{n}-{g}" for n, g in CASES])


def encoder(name: str, given: dict[str, Any]) -> Encoder:
    size = {"size": 8} if "size" in registry.settings(registry.find("encoder", name)) else {}
    settings = {**samples.ENCODER_SETTINGS.get(name, {}), **size, **given}
    part = registry.build("encoder", name, samples.space_for(name), **settings)
    assert isinstance(part, Encoder)
    return part.eval()


def with_rubbish(source: Padded) -> Padded:
    rubbish = source.values.clone()
    rubbish[~source.mask_BS] = 9
    return Padded(rubbish, source.mask_BS, None if source.beside is None else with_rubbish(source.beside))


@each_encoder
def test_shapes(name: str, given: dict[str, Any]) -> None:
    part, source = encoder(name, given), samples.source_for(name)
    memory = part(source)
    assert memory.states_BSD.shape == (4, math.prod(memory.grid), part.size)
    assert memory.summary_BD.shape == (4, part.size)
    assert memory.mask_BS.shape == memory.states_BSD.shape[:2]
    if part.reads == "symbols":
        assert memory.grid == (5,)
        assert torch.equal(memory.mask_BS, source.mask_BS)
    elif name in FILMS:
        assert memory.grid == (5,)  # one state a frame
        assert torch.equal(memory.mask_BS, source.mask_BS)
    elif name == "dense":
        assert memory.grid == (5,)
    elif name == "glimpses":
        assert memory.grid == (5, 3)  # three looks a frame
        assert part(Padded(source.values[:, :1], source.mask_BS[:, :1])).grid == (3,)
    elif part.reads == "frames":
        rows = 1 if given.get("rows") == "pool" else 2
        assert memory.grid == (5, rows, 4)  # frames of 8 x 8, strides of 2 and of 2 x 1
        assert part(Padded(source.values[:, :1], source.mask_BS[:, :1])).grid == (rows, 4)  # a picture
        assert memory.mask_BS.sum(dim=1).tolist() == [4 * rows * length for length in samples.LENGTHS]


@each_encoder
def test_padding_never_changes_a_real_position(name: str, given: dict[str, Any]) -> None:
    part, source = encoder(name, given), samples.source_for(name)
    memory = part(source)
    for row in range(len(source.values)):
        alone = part(Batch(source, None, tuple(range(len(source.values)))).part(slice(row, row + 1)).source)
        torch.testing.assert_close(memory.states_BSD[row][memory.mask_BS[row]], alone.states_BSD[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(memory.summary_BD[row], alone.summary_BD[0], atol=1e-5, rtol=1e-5)
        if memory.carry is not None:
            for together, single in zip(memory.carry, alone.carry, strict=True):
                for a, b in zip(together, single, strict=True):
                    torch.testing.assert_close(a[row], b[0], atol=1e-5, rtol=1e-5)


@each_encoder
def test_what_stands_in_the_padding_does_not_matter(name: str, given: dict[str, Any]) -> None:
    part, source = encoder(name, given), samples.source_for(name)
    one, other = part(source), part(with_rubbish(source))
    torch.testing.assert_close(one.states_BSD[one.mask_BS], other.states_BSD[one.mask_BS])
    torch.testing.assert_close(one.summary_BD, other.summary_BD)


@each_encoder
def test_gradients_reach_every_weight(name: str, given: dict[str, Any]) -> None:
    part, source = encoder(name, given), samples.source_for(name)
    memory = part(source)
    ((memory.states_BSD * memory.mask_BS[..., None]) ** 2).sum().add((memory.summary_BD**3).sum()).backward()
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
