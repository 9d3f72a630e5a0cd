"""How weights begin (`system.init`), and which dropout lies inside a Transformer's feed-forward layers."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn

from xattend.data.fields.text import Text
from xattend.recipe import parse
from xattend.systems import assemble

RECIPE = """
[data]
task = "copy"
[system]
init = "{init}"
[encoder]
kind = "transformer"
size = 64
heads = 4
layers = 1
dropout = 0.3
{inner}
[attention]
kind = "multi-head"
[decoder]
kind = "transformer"
size = 64
heads = 4
layers = 1
dropout = 0.3
tie = "output"
{inner}
"""


def built(init: str = "own", inner: str = "") -> Any:
    torch.manual_seed(1)
    text = Text(unit="character")
    text.fit(["abcdefghijklmnopqrstuvwxyz"])
    return assemble(parse(RECIPE.format(init=init, inner=inner), "mine.toml").resolve(), text, text)


def test_linear_layers_begin_by_glorots_rule_and_word_vectors_do_not() -> None:
    own, system = built(), built("xavier")
    for part in (part for part in system.modules() if isinstance(part, nn.Linear) and part is not system.decoder.output):
        wide, narrow = part.weight.shape
        bound = math.sqrt(6 / (wide + narrow))
        assert part.weight.abs().max() <= bound
        assert part.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
        assert part.bias is None or not part.bias.any()
    assert system.decoder.output.weight is system.decoder.embedding.weight
    assert torch.equal(system.decoder.embedding.weight, own.decoder.embedding.weight)
    assert not system.decoder.output.bias.any()


@pytest.mark.parametrize(("given", "inside"), [("", 0.3), ("inner_dropout = 0.0", 0.0)])
def test_inside_the_feed_forward_layers(given: str, inside: float) -> None:
    system = built(inner=given)
    for layer in (system.encoder.layers[0], system.decoder.layers[0]):
        assert layer.think.dropout.probability == pytest.approx(inside, abs=0.01)
        assert layer.around_think.dropout.probability == pytest.approx(0.3, abs=0.01)
