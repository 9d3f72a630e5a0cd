"""Every system learns a small task in seconds: parts that pass their contracts must also work together."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.systems import small
from xattend import registry
from xattend.recipe import Recipe
from xattend.search.greedy import Greedy
from xattend.systems import assemble

SETTINGS: dict[str, dict[str, Any]] = {
    "oracle": {"pattern": "diagonal"}, "local-m": {"window": 2}, "local-p": {"window": 3}, "location": {"positions": 10},
}  # fmt: skip


@pytest.mark.parametrize("name", registry.names("attention"))
def test_every_attention_learns_to_copy(name: str) -> None:
    fixed = name in ("none", "every-step")
    model = small.system(attention={"kind": name, **SETTINGS.get(name, {})})
    share = small.learn(model, 400 if fixed else 200, longest=3 if fixed else 5)
    assert share > (0.7 if fixed else 0.9), share


@pytest.mark.parametrize(
    "sections",
    [
        {"decoder": {"attend": "after", "readout": "luong"}},
        {"decoder": {"attend": "after", "readout": "luong", "input_feeding": True}, "attention": {"kind": "bilinear"}},
        {"encoder": {"kind": "rnn", "cell": "lstm", "size": 64, "layers": 2, "carry": True, "reverse": True, "embedding": 16},
         "decoder": {"kind": "rnn", "cell": "lstm", "size": 64, "layers": 2, "bridge": "copy", "embedding": 16}},
        {"decoder": {"readout": "maxout", "cell": "gru-reset-before"}},
        {"objective": {"kind": "scheduled-sampling", "probability": 0.2}},
        {"objective": {"kind": "sampled", "words": 4}},
        {"objective": {"label_smoothing": 0.1}, "decoder": {"tie": "output"}},
    ],
    ids=["luong", "input-feeding", "deep-lstm", "bahdanau", "scheduled-sampling", "sampled-words", "smoothed-tied"],
)  # fmt: skip
def test_every_shape_of_rnn_learns_to_reverse(sections: dict[str, Any]) -> None:
    assert small.learn(small.system(**sections), 250, turn=True) > 0.85


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_transformer_learns_to_reverse(norm: str) -> None:
    shape = {"kind": "transformer", "size": 32, "layers": 1, "heads": 2, "inner": 64, "dropout": 0.0, "norm": norm}
    model = small.system(encoder=shape, decoder=shape, attention={"kind": "multi-head", "heads": 2})
    assert small.learn(model, 300, turn=True, lr=0.005) > 0.85


@pytest.mark.parametrize("rung", range(5))
def test_every_rung_of_the_ladder_learns_to_copy(rung: int) -> None:
    encoder = {"kind": "ladder", "rung": rung, "size": 32, "heads": 2, "positions": "sinusoidal"}
    assert small.learn(small.system(encoder=encoder), 150) > 0.85


def test_attention_on_a_copy_is_a_diagonal() -> None:
    model = small.system()
    small.learn(model, 250)
    rows = small.batch(20, torch.Generator().manual_seed(5))
    on = [small.weights_on_diagonal(torch.from_numpy(p.attention)) for p in model.predict(rows, Greedy(), attention=True)]
    assert sum(on) / len(on) > 0.7


@pytest.mark.parametrize("decoder", [{"kind": "rnn", "cell": cell, "size": 32, "embedding": 8} for cell in ("tanh-rnn", "gru", "lstm")]
                         + [{"kind": "transformer", "size": 32, "heads": 2, "layers": 1, "inner": 64, "dropout": 0.0}])  # fmt: skip
def test_a_language_model_learns_an_alphabet(decoder: dict[str, Any]) -> None:
    """Rows are runs of the alphabet from a random letter: after the first letter all is certain."""
    recipe = Recipe({"data": {"task": "copy"}, "system": {"kind": "language-model"}, "decoder": decoder}, "t.toml")
    model = assemble(recipe.resolve(), None, small.field())
    generator = torch.Generator().manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(150):
        starts = torch.randint(8, (32,), generator=generator).tolist()
        rows = small.padded([[2, *[(s + i) % 8 + 4 for i in range(5)], 3] for s in starts])
        loss = model.loss(small.Batch(None, rows, tuple(range(32))))
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        optimiser.step()
    per_row = loss.parts["nll"] / loss.sentences
    assert per_row == pytest.approx(torch.tensor(8.0).log().item(), abs=0.25)  # one of eight first letters: log 8 nats
    prompt = small.Batch(None, small.padded([[2, 4, 5, 3]]), (0,))
    assert model.eval().predict(prompt, Greedy())[0].text == "abcde"

