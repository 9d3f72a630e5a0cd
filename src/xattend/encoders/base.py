"""An encoder reads a source and writes a memory. Padding never changes a real position's state."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from xattend.types import Memory, Padded


class Encoder(nn.Module):
    """`size` is the width of the memory's states and of its summary.

    reads   what stands at a position of its source: a symbol, a picture or film's frame, or a feature vector (see types.Space);
            "asked": a picture, in whatever form, with a question beside it; "story": sentences of symbols, with or without a question
    """

    reads: ClassVar[Literal["symbols", "frames", "vectors", "asked", "story"]] = "symbols"
    size: int
    embedding: nn.Embedding  # encoders of symbols have one; a decoder may share it

    def forward(self, source: Padded) -> Memory:
        raise NotImplementedError


def read_once(encoder: Encoder, source: Padded) -> Memory:
    """The memory of every row, though rows that are the same are read once: five captions of a photo, ten questions about one.

    What stands beside a source makes rows different; an encoder that reads both calls this for the half that is the same.
    """
    if source.first_B is None or source.beside is not None:
        memory: Memory = encoder(source)
        return memory
    once_U, row_B = torch.unique(source.first_B, return_inverse=True)
    if len(once_U) == len(row_B):
        whole: Memory = encoder(source)
        return whole
    read: Memory = encoder(Padded(source.values[once_U], source.mask_BS[once_U]))
    return replace(read.take(row_B), source_B=row_B)


def symbol_embedding(vocabulary: int, size: int) -> nn.Embedding:
    """Symbols as vectors, of length about one."""
    embedding = nn.Embedding(vocabulary, size)
    nn.init.normal_(embedding.weight, std=size**-0.5)
    return embedding


def masked_mean(states_BSD: Tensor, mask_BS: Tensor) -> Tensor:
    """The mean over real positions; zeros where there are none."""
    count_B1 = mask_BS.sum(dim=1, keepdim=True).clamp(min=1).to(states_BSD.dtype)
    return (states_BSD * mask_BS[:, :, None]).sum(dim=1) / count_B1
