"""One split of the data, encoded and memory-mapped: row numbers in, batches out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xattend.data.store import RowFile, open_array
from xattend.types import Batch, Padded

if TYPE_CHECKING:
    from xattend.data.fields.base import Field

Collate = Callable[[Sequence[Any]], Padded]
SIDES = ("source", "target")


class Split:
    """Cheap to send to a worker process: it is a folder, a name and how to pad; files are opened where they are read.

    collate   how each side is padded; None for a source side that is not there (a language model)
    media     whether source sides name pictures
    """

    def __init__(self, folder: Path, name: str, size: int, collate: tuple[Collate | None, Collate], media: bool = False) -> None:
        self.folder = folder
        self.name = name
        self.size = size
        self.collate = collate
        self.media = media
        present = [side for side, pad in zip(SIDES, collate) if pad is not None]
        self.ids = {side: RowFile(folder / f"{name}.{side}.ids", np.int32) for side in present}
        self.raw = {side: RowFile(folder / f"{name}.{side}.text", np.uint8) for side in present}
        self._lengths: np.ndarray[Any, np.dtype[np.int32]] | None = None

    def __len__(self) -> int:
        return self.size

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lengths": None}

    @property
    def lengths(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Source and target length of every row, as stored: BOS and EOS included. A side not there is 0 long."""
        if self._lengths is None:
            self._lengths = open_array(self.folder / f"{self.name}.lengths", np.int32, 2)
        return self._lengths

    def told(self, side: str, field: Field) -> np.ndarray[Any, np.dtype[np.int32]]:
        """How long a side's rows are, for a person."""
        if not len(self) or field.told(self.ids[side][0].tolist()) is None:
            return self.lengths[:, SIDES.index(side)]
        return np.array([field.told(ids.tolist()) for ids in self.ids[side]], np.int32)

    def at(self, epoch: int) -> Split:
        """The split as it is in a pass over the data: a side may be made anew in each (data/fields/placed.py, unmerge.py)."""
        found = copy(self)
        source, target = (pad.at(epoch) if pad is not None and hasattr(pad, "at") else pad for pad in self.collate)
        assert target is not None
        found.collate = (source, target)
        return found

    def batch(self, rows: Sequence[int]) -> Batch:
        """These rows, padded, in this order."""
        numbers = [int(row) for row in rows]
        source, target = (
            None if pad is None else pad([self.ids[side][row] for row in numbers]) for side, pad in zip(SIDES, self.collate)
        )
        return Batch(source, target, tuple(numbers))

    def texts(self, row: int) -> tuple[str | None, str]:
        """Both sides as they were read, but for their Unicode form."""
        return self.raw["source"].text(row) if "source" in self.raw else None, self.raw["target"].text(row)
