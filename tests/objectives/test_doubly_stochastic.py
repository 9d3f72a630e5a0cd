"""The penalty by hand, over what is real, with its gradient."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.contracts import samples
from tests.contracts.test_decoders import decoder
from tests.objectives.test_formulas import setting
from xattend.decoders import Decoder
from xattend.errors import UserError
from xattend.objectives import CrossEntropy, DoublyStochastic
from xattend.objectives.doubly_stochastic import unevenness
from xattend.types import Memory, Padded


def test_by_hand() -> None:
    # two heads, whose means are (.5, .5), (.75, .25), and a step of padding. Looks of places: 1.25 and .75; the third is padding
    heads = torch.tensor([[[0.8, 0.2, 0.0], [0.2, 0.8, 0.0]], [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], [[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]]])
    found = unevenness(heads[None], torch.tensor([[True, True, False]]), torch.tensor([[True, True, False]]))
    assert found.item() == pytest.approx(0.25**2 + 0.25**2)
    # a caption of two words cannot look at three places once each: the best is 2/3 everywhere
    even = torch.full((1, 2, 1, 3), 1 / 3)
    assert unevenness(even, torch.ones(1, 2).bool(), torch.ones(1, 3).bool()).item() == pytest.approx(3 * (1 / 3) ** 2)


def written_out(part: Decoder, memory: Memory, target: Padded) -> Tensor:
    """The penalty from single steps, row by row."""
    total = torch.zeros(())
    for row in range(len(target.values)):
        alone, length = memory.take(torch.tensor([row])), int(target.lengths_B[row]) - 1
        state, looks_S = part.start(alone), torch.zeros(memory.mask_BS.shape[1])
        for t in range(length):
            step = part.step(target.values[row : row + 1, t], state)
            state = step.state
            looks_S = looks_S + step.looked()[0].mean(dim=0)
        total = total + (1 - looks_S[: int(memory.mask_BS[row].sum())]).square().sum()
    return total


@pytest.mark.parametrize(
    ("name", "given", "attention"),
    [
        ("rnn", {}, "additive"), ("rnn", {"gate": True, "cell": "lstm"}, "additive"), ("rnn", {"layers": 2}, "multi-head"),
        ("rnn", {"attend": "after"}, "dot"), ("rnn", {"attend": "between"}, "coverage"), ("transformer", {}, "multi-head"),
    ],
)  # fmt: skip
def test_it_is_cross_entropy_and_the_penalty_with_its_gradient(name: str, given: dict[str, Any], attention: str) -> None:
    _, memory, target = setting()
    part = decoder(name, given, attention)
    plain = CrossEntropy(label_smoothing=0.1).train()(part, memory, target)
    uneven = written_out(part, memory, target)
    loss = DoublyStochastic(penalty=0.7, label_smoothing=0.1).train()(part, memory, target)
    torch.testing.assert_close(loss.total, plain.total + 0.7 * uneven, atol=1e-4, rtol=1e-5)
    assert loss.parts["uneven"] == pytest.approx(uneven.item(), rel=1e-4)
    assert loss.parts["nll"] == pytest.approx(plain.parts["nll"], rel=1e-5)
    assert (loss.tokens, loss.sentences) == (plain.tokens, plain.sentences)
    weights = [weight for weight in part.parameters() if weight.numel()]
    found = torch.autograd.grad(loss.total, weights, allow_unused=True)
    expected = torch.autograd.grad(plain.total + 0.7 * uneven, weights, allow_unused=True)
    for one, other in zip(found, expected, strict=True):
        if other is not None and one is not None:
            torch.testing.assert_close(one, other, atol=2e-4, rtol=1e-4)


def test_padding_of_steps_and_places_costs_nothing() -> None:
    part, memory, target = setting()
    wider = Padded(torch.nn.functional.pad(target.values, (0, 3)), torch.nn.functional.pad(target.mask_BS, (0, 3)))
    objective = DoublyStochastic().train()
    once = objective(part, memory, target).total
    torch.testing.assert_close(objective(part, memory, wider).total, once)
    torch.testing.assert_close(objective(part, samples.padded_further(memory, 4), target).total, once)


def test_it_needs_something_that_looks() -> None:
    _, memory, target = setting()
    with pytest.raises(UserError, match="looks nowhere"):
        DoublyStochastic().train()(decoder("rnn", {}, "none"), memory, target)
