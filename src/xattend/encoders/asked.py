"""A picture and a question about it, each read by an encoder of its own: the picture's places become the memory, the question its summary.

    state_i = picture encoder's state of place i                  m = the picture's own summary
    summary = W q + b                   summary = "question"      q = the question encoder's summary
    summary = W relu(V [q ; m] + a) + b    "both"

With "question" the picture can be seen through attention alone: the decoder (`hops`) asks with the question. Without an attention
(`none`, `every-step`) there is only the summary, and it must be "both".

>>> import torch
>>> encoder = Asked(Space(features=(3, 16, 16), beside=Space(vocabulary=9)), picture={"kind": "cnn", "size": 4})
>>> question = Padded(torch.ones(2, 5, dtype=torch.long), torch.ones(2, 5).bool())
>>> memory = encoder(Padded(torch.rand(2, 1, 3, 16, 16), torch.ones(2, 1).bool(), question))
>>> memory.states_BSD.shape, memory.summary_BD.shape, memory.grid
(torch.Size([2, 4, 4]), torch.Size([2, 4]), (2, 2))
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import torch
from torch import nn

from xattend import registry
from xattend.encoders.base import Encoder, read_once
from xattend.errors import UserError
from xattend.registry import Named, register
from xattend.types import Memory, Padded, Space


@register("encoder", "asked")
class Asked(Encoder):
    """One encoder for the picture, one for the question."""

    reads = "asked"

    def __init__(
        self, space: Space, *,
        picture: Annotated[str | dict[str, Any], Named("encoder"), "of the picture: a name, or { kind = name, setting = value }"] = "cnn",
        question: Annotated[str | dict[str, Any], Named("encoder"), "of the question, the same way"] = "rnn",
        summary: Annotated[Literal["question", "both"], "what the decoder asks with: the question, or the question and the whole picture"] = "question",
    ) -> None:  # fmt: skip
        super().__init__()
        if space.beside is None:
            raise UserError("encoder 'asked' reads pictures with questions: set data.source.kind = \"asked\"")
        self.picture: Encoder = registry.build_named("encoder", picture, replace(space, beside=None))
        self.question: Encoder = registry.build_named("encoder", question, space.beside)
        self.size = self.picture.size
        self.both: nn.Module | None = None
        width = self.question.size
        if summary == "both":
            self.both = nn.Sequential(nn.Linear(width + self.size, width), nn.ReLU())
        self.project = nn.Linear(width, self.size)

    def forward(self, source: Padded) -> Memory:
        assert source.beside is not None
        memory = read_once(self.picture, source._replace(beside=None))
        asked_BD = self.question(source.beside).summary_BD
        if self.both is not None:
            asked_BD = self.both(torch.cat([asked_BD, memory.summary_BD], dim=-1))
        return replace(memory, summary_BD=self.project(asked_BD))
