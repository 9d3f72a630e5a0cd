"""A system: the only thing that training, evaluation, viewer, server and export know of a model."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from xattend.search.base import Search
from xattend.types import Batch, Loss, Prediction


class System(nn.Module):
    """What can be trained on batches and asked for predictions. See docs/architecture.md."""

    uses: ClassVar[tuple[str, ...]] = ()  # the recipe sections, besides those of every system, that this one is made of
    needs_source: ClassVar[bool] = True  # False: rows have one side only
    writes: ClassVar[bool] = True  # False: what it predicts is no text to be compared with the target's
    terms: ClassVar[tuple[str, ...]] = ()  # what `score`'s numbers of a row are, if they are no tokens: terms of a bound
    glimpses: bool = False  # whether it looks through windows into a picture (Trace.boxes_TK4), instead of at positions of a memory
    looks: bool = False  # whether it looks at something that no [attention] is about: slots of a memory

    def loss(self, batch: Batch) -> Loss:
        """What is minimised, as a sum over the batch."""
        raise NotImplementedError

    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        """One prediction a row, in the order of the batch."""
        raise NotImplementedError

    def score(self, batch: Batch) -> list[list[float]]:
        """Log-probability of each token of each given target, EOS included; or the `terms` of each row."""
        raise NotImplementedError

    def align(self, batch: Batch) -> list[Tensor]:
        """Where each token of each given target looked, EOS included: one weights_THS a row."""
        raise NotImplementedError
