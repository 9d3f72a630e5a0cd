"""An encoder reads a source and writes a memory. Padding never changes a real position's state."""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor, nn

from xattend.types import Memory, Padded


class Encoder(nn.Module):
    """`size` is the width of the memory's states and of its summary.

    reads   what stands at a position of its source: a symbol, a picture or film's frame, or a feature vector (see types.Space);
            "asked": a picture, in whatever form, with a question beside it
    """

    reads: ClassVar[Literal["symbols", "frames", "vectors", "asked"]] = "symbols"
    size: int
    embedding: nn.Embedding  # encoders of symbols have one; a decoder may share it

    def forward(self, source: Padded) -> Memory:
        raise NotImplementedError


def symbol_embedding(vocabulary: int, size: int) -> nn.Embedding:
    """Symbols as vectors, of length about one."""
    embedding = nn.Embedding(vocabulary, size)
    nn.init.normal_(embedding.weight, std=size**-0.5)
    return embedding


def masked_mean(states_BSD: Tensor, mask_BS: Tensor) -> Tensor:
    """The mean over real positions; zeros where there are none."""
    count_B1 = mask_BS.sum(dim=1, keepdim=True).clamp(min=1).to(states_BSD.dtype)
    return (states_BSD * mask_BS[:, :, None]).sum(dim=1) / count_B1
