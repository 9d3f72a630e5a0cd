"""What is maximised. An objective turns a decoder, a memory and a target into a loss, summed over the batch.

In evaluation (`.eval()`) every objective is the plain negative log-likelihood under teacher forcing, so that figures of
models trained in different ways can be compared.

Shapes: B batch, T target steps, N real target tokens of the batch, D width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from xattend.decoders.base import Decoder
from xattend.types import Batch, Loss, Memory, Padded


class Objective(nn.Module):
    """Subclasses write `forward`. In training, the decoder's own loss is added here, whatever the objective."""

    readings: ClassVar[int] = 1  # how often each row is read in training; memory and target are then those of all readings, one after the other

    def __call__(self, decoder: Decoder, memory: Memory, target: Padded) -> Loss:
        loss: Loss = super().__call__(decoder, memory, target)
        return with_extra(loss, decoder, memory, target, self.readings) if self.training else loss

    def wire(self, memory_size: int, vocabulary: int = 0) -> None:
        """Called once by the system that uses it, with the width of the memory and the size of the target's vocabulary: an objective with
        weights of its own makes them here."""

    def rows(self, batch: Batch) -> Batch:
        """What a system reads for it: each row as often as `readings` says, in training."""
        return batch.again(self.readings) if self.training and self.readings > 1 else batch

    def forward(self, decoder: Decoder, memory: Memory, target: Padded) -> Loss:
        raise NotImplementedError


def with_extra(loss: Loss, decoder: Decoder, memory: Memory, target: Padded, readings: int = 1) -> Loss:
    """The loss and what the decoder itself asks for at real steps (`Decoder.extra_loss`): once, also where an objective asks another, and the mean
    of several readings."""
    inputs_BT, _, mask_BT = inputs_and_labels(target)
    extra_BT = None if "extra" in loss.parts else decoder.extra_loss(memory, inputs_BT)
    if extra_BT is None:
        return loss
    extra = extra_BT[mask_BT].sum() / readings
    return replace(loss, total=loss.total + extra, parts={**loss.parts, "extra": float(extra.detach())})


def inputs_and_labels(target: Padded) -> tuple[Tensor, Tensor, Tensor]:
    """What the decoder reads (BOS first), what it should write (EOS last), and which of that is real."""
    return target.values[:, :-1], target.values[:, 1:], target.mask_BS[:, 1:]


class _Real(torch.autograd.Function):
    """Each row is picked once, so its gradient is put in place: torch, which cannot know that, adds up."""

    @staticmethod
    def forward(ctx: Any, values_BTD: Tensor, mask_BT: Tensor) -> Tensor:
        ctx.save_for_backward(mask_BT)
        return values_BTD[mask_BT]

    @staticmethod
    def backward(ctx: Any, gradient_ND: Tensor) -> tuple[Tensor, None]:
        (mask_BT,) = ctx.saved_tensors
        whole_BTD = gradient_ND.new_zeros(*mask_BT.shape, gradient_ND.shape[1])
        whole_BTD[mask_BT] = gradient_ND
        return whole_BTD, None


def real(values_BTD: Tensor, mask_BT: Tensor) -> Tensor:
    """The vectors of real positions, one after the other: values_ND."""
    picked_ND: Tensor = _Real.apply(values_BTD, mask_BT)  # type: ignore[no-untyped-call]
    return picked_ND


def as_loss(total: Tensor, nll: Tensor, target: Padded, **parts: Tensor) -> Loss:
    """The sums with their counts, and other sums for the log; EOS counts as a token, BOS does not."""
    tokens = int(target.mask_BS[:, 1:].sum())
    return Loss(total, tokens, len(target.values), {name: float(part.detach()) for name, part in {"nll": nll, **parts}.items()})


def negative_log_likelihood(logits_NV: Tensor, labels_N: Tensor, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """(total, nll), both summed. With smoothing the target is 1 - s on the label and s spread over all V words evenly:

    total = (1 - s) nll + s mean_v(-log p_v)

    >>> import torch
    >>> total, nll = negative_log_likelihood(torch.tensor([[0.0, 0.0]]), torch.tensor([1]), 0.1)
    >>> round(float(total), 4), round(float(nll), 4)
    (0.6931, 0.6931)
    """
    normaliser_N = logits_NV.logsumexp(dim=-1)
    nll = (normaliser_N - logits_NV.gather(1, labels_N[:, None]).squeeze(1)).sum()
    if smoothing == 0.0:
        return nll, nll
    spread = (normaliser_N - logits_NV.mean(dim=-1)).sum()
    return (1 - smoothing) * nll + smoothing * spread, nll
