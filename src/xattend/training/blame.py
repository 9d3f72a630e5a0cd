"""Which row of a batch a mistake is in. A system sees ids and no files; who is told that some target has two words wants to know which."""

from __future__ import annotations

import torch

from xattend.data.split import Split
from xattend.errors import UserError
from xattend.systems.base import System
from xattend.types import Batch

SHOWN = 60  # characters of a side


def blamed(error: UserError, system: System, batch: Batch | None, split: Split) -> UserError:
    """The same mistake with the first row that makes it by itself; as it is if none does, or if it has a place already."""
    if batch is None or error.file is not None:
        return error
    for at, row in enumerate(batch.rows):
        try:
            with torch.no_grad():
                system.loss(batch.part(slice(at, at + 1)))
        except UserError as own:
            sides = (text for text in split.texts(int(row)) if text is not None)
            said = " -> ".join(repr(text if len(text) <= SHOWN else text[:SHOWN] + "...") for text in sides)
            return UserError(f"{own.message}. It is row {int(row) + 1} of {split.name}: {said}")
    return error
