"""An attention model whose encoder is trained by CTC beside the decoder's own objective (Kim et al. 2017).

    L = (1 - weight) L_main + weight L_ctc,   L_ctc = -log p(y | encoder's states)

CTC knows only ways that go forward, so the encoder learns early to hear in order, and the attention finds its diagonal sooner. Beside the output
layer of CTC nothing is added, and decoding does not use it. A picture is read column by column from the left, the largest value of each state in a column. Rows with more labels than positions have no L_ctc: they are counted as `impossible`.
In evaluation it is the main objective's negative log-likelihood alone.

    [objective]
    kind = "with-ctc"
    weight = 0.2
    main = { kind = "scheduled-sampling", probability = 0.1 }

>>> WithCTC(weight=0.3).weight
0.3
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor, nn

from xattend import registry
from xattend.decoders.base import Decoder
from xattend.errors import UserError
from xattend.lattices.loss import ctc_loss
from xattend.objectives.base import Objective
from xattend.registry import Named, register
from xattend.types import Loss, Memory, Padded


@register("objective", "with-ctc")
class WithCTC(Objective):
    """Another objective, and CTC on the memory."""

    def __init__(
        self, *,
        weight: Annotated[float, Field(ge=0, le=1), "share of CTC"] = 0.2,
        main: Annotated[str | dict[str, Any], Named("objective"), "the decoder's objective"] = "cross-entropy",
    ) -> None:  # fmt: skip
        super().__init__()
        self.weight = weight
        self.main: Objective = registry.build_named("objective", main)
        self.output: nn.Linear | None = None

    def wire(self, memory_size: int, vocabulary: int = 0) -> None:
        self.main.wire(memory_size, vocabulary)
        self.output = nn.Linear(memory_size, vocabulary)

    def forward(self, decoder: Decoder, memory: Memory, target: Padded) -> Loss:
        loss: Loss = self.main(decoder, memory, target)
        if not self.training or self.weight == 0:
            return loss
        if self.output is None:
            raise UserError("objective \"with-ctc\" was given no widths: its system must call objective.wire(memory size, vocabulary)")
        states_BSD, mask_BS = in_line(memory)
        heard, impossible = ctc_loss(self.output(states_BSD).float().log_softmax(dim=-1), mask_BS, target)
        parts = {**loss.parts, "ctc": float(heard.detach()), **({"impossible": float(impossible)} if impossible else {})}
        return replace(loss, total=(1 - self.weight) * loss.total + self.weight * heard, parts=parts)


def in_line(memory: Memory) -> tuple[Tensor, Tensor]:
    """States in the order that they are read in, and which are real: [B, S, D] and [B, S], or of a picture [B, columns, D] and [B, columns]."""
    if len(memory.grid) != 2:
        return memory.states_BSD, memory.mask_BS
    real_BRC = memory.mask_BS.view(-1, *memory.grid)
    states_BRCD = memory.states_BSD.view(*real_BRC.shape, -1).masked_fill(~real_BRC[..., None], torch.finfo(memory.states_BSD.dtype).min)
    seen_BC = real_BRC.any(dim=1)
    real_BC = seen_BC.int().flip(1).cummax(dim=1).values.flip(1).bool()  # CTC reads from the left: columns left out before the last are read as nothing
    return states_BRCD.amax(dim=1).masked_fill(~seen_BC[:, :, None], 0.0), real_BC
