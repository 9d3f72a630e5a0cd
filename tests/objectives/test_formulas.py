"""Objectives against torch's cross entropy, and what they must become in evaluation."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tests.contracts import samples
from tests.contracts.test_decoders import decoder
from xattend import registry
from xattend.decoders import Decoder
from xattend.objectives import CrossEntropy, Sampled, ScheduledSampling
from xattend.types import BOS, EOS, PAD, Memory, Padded


def setting() -> tuple[Decoder, Memory, Padded]:
    values = torch.tensor([[BOS, 5, 6, EOS], [BOS, 7, EOS, PAD], [BOS, EOS, PAD, PAD], [BOS, 4, 5, EOS]])
    return decoder("rnn", {}, "additive"), samples.memory(), Padded(values, values != PAD)


def expected_sum(logits: torch.Tensor, target: Padded, smoothing: float = 0.0) -> torch.Tensor:
    return F.cross_entropy(
        logits.flatten(0, 1), target.values[:, 1:].flatten(), ignore_index=PAD, reduction="sum", label_smoothing=smoothing
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_is_torchs(smoothing: float) -> None:
    part, memory, target = setting()
    loss = CrossEntropy(label_smoothing=smoothing).train()(part, memory, target)
    logits = part(memory, target.values[:, :-1])
    torch.testing.assert_close(loss.total, expected_sum(logits, target, smoothing))
    assert loss.parts["nll"] == pytest.approx(expected_sum(logits, target).item(), rel=1e-5)
    assert (loss.tokens, loss.sentences) == (9, 4)


@pytest.mark.parametrize("name", registry.names("objective"))
def test_in_evaluation_every_objective_is_the_plain_likelihood(name: str) -> None:
    part, memory, target = setting()
    given: dict[str, Any] = {"words": 2} if name == "sampled" else {}
    loss = registry.build("objective", name, **given).eval()(part, memory, target)
    torch.testing.assert_close(loss.total, expected_sum(part(memory, target.values[:, :-1]), target))


@pytest.mark.parametrize("name", registry.names("objective"))
def test_loss_does_not_depend_on_padding(name: str) -> None:
    part, memory, target = setting()
    wider = Padded(F.pad(target.values, (0, 3)), F.pad(target.mask_BS, (0, 3)))
    objective = registry.build("objective", name).eval()
    torch.testing.assert_close(objective(part, memory, target).total, objective(part, memory, wider).total)


def test_scheduled_sampling_of_nothing_is_teacher_forcing() -> None:
    part, memory, target = setting()
    loss = ScheduledSampling(probability=0.0).train()(part, memory, target)
    torch.testing.assert_close(loss.total, CrossEntropy()(part, memory, target).total)


def test_scheduled_sampling_decides_for_every_token() -> None:
    """With probability p each input but BOS is replaced: count how often, with a decoder that tells what it read."""
    part, memory, _ = setting()
    read: list[torch.Tensor] = []
    original = part.step

    def spy(token_B: torch.Tensor, state: Any) -> Any:
        read.append(token_B)
        step = original(token_B, state)
        own = torch.full_like(step.logits_BV, -1e9)
        own[:, 10] = 0.0  # the model always draws word 10
        return step._replace(logits_BV=own)

    part.step = spy  # type: ignore[method-assign]
    rows, steps = 4, 400
    values = torch.cat([torch.full((rows, 1), BOS), torch.full((rows, steps), 5)], dim=1)
    ScheduledSampling(probability=0.25).train()(part, memory, Padded(values, torch.ones_like(values).bool()))
    seen = torch.stack(read, dim=1)
    assert (seen[:, 0] == BOS).all()
    share = (seen[:, 1:] == 10).float().mean().item()
    assert share == pytest.approx(0.25, abs=3 * math.sqrt(0.25 * 0.75 / (rows * (steps - 1))))
    mixed_rows = (seen[:, 1:] == 10).any(dim=1) & (seen[:, 1:] == 5).any(dim=1)
    assert mixed_rows.all(), "the choice is made per token, not per row"


def test_sampled_loss_with_all_words_is_the_whole_loss() -> None:
    part, memory, target = setting()
    whole = CrossEntropy()(part, memory, target).total
    torch.testing.assert_close(Sampled(words=samples.VOCABULARY).train()(part, memory, target).total, whole)
    sampled = Sampled(words=2).train()(part, memory, target).total
    assert sampled < whole, "fewer words in the denominator"


def test_sampled_loss_touches_only_the_words_drawn() -> None:
    part, memory, target = setting()
    torch.manual_seed(3)
    Sampled(words=1).train()(part, memory, target).total.backward()
    touched = part.output.weight.grad.abs().sum(dim=1).nonzero().flatten().tolist()  # type: ignore[union-attr]
    assert set(touched) >= {EOS, 4, 5, 6, 7}
    assert len(touched) <= 6
