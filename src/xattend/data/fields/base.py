"""A field: how one side of a row is read into ids, padded into a batch, and written out again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from xattend import registry
from xattend.errors import UserError
from xattend.types import BOS, EOS, PAD, Padded, Space

Ids = np.ndarray[Any, np.dtype[np.int32]]


class Field:
    """Fitted once on the training rows, saved as JSON with the run."""

    registered_name: str
    eos: bool  # whether the source side ends with EOS, as the target side always does
    max_length: int | None  # longer training rows are left out
    share: str | None  # the other side whose vocabulary this one uses

    @property
    def space(self) -> Space:
        """What the values look like: encoders and decoders are sized by it."""
        raise NotImplementedError

    def normalise(self, text: str) -> str:
        """The text the field really reads: decode(encode(text)) gives this back."""
        raise NotImplementedError

    def raw(self, text: str) -> str:
        """The text as kept for scoring: as read, but for the Unicode form."""
        raise NotImplementedError

    def fit(self, texts: Iterable[str]) -> None:
        """Learns the vocabulary. A one-shot iterator may be held in memory; anything else is streamed."""
        raise NotImplementedError

    def encode(self, text: str) -> list[int]:
        """Ids without BOS and EOS."""
        raise NotImplementedError

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of many texts, for fields that are faster so."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids; BOS, EOS and PAD are left out."""
        raise NotImplementedError

    def symbols(self, ids: Sequence[int]) -> list[str]:
        """What to call each id on an axis or in a list."""
        raise NotImplementedError

    def words(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of the word it belongs to."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Settings and vocabulary; the same for the same data, always."""
        raise NotImplementedError

    def restore(self, data: dict[str, Any]) -> None:
        """Takes over the vocabulary that `to_json` wrote."""
        raise NotImplementedError

    def as_source(self, ids: Sequence[int]) -> list[int]:
        return [*ids, EOS] if self.eos else list(ids)

    def as_target(self, ids: Sequence[int]) -> list[int]:
        return [BOS, *ids, EOS]

    @staticmethod
    def collate(rows: Sequence[Ids]) -> Padded:
        """Rows of ids side by side, padded to the longest. Static, so that a worker process needs no vocabulary."""
        lengths_B = np.array([len(row) for row in rows], dtype=np.int64)
        mask_BS = np.arange(lengths_B.max(initial=0)) < lengths_B[:, None]
        values_BS = np.full(mask_BS.shape, PAD, dtype=np.int64)
        if len(rows):
            values_BS[mask_BS] = np.concatenate(rows)
        return Padded(torch.from_numpy(values_BS), torch.from_numpy(mask_BS))


def from_json(data: dict[str, Any]) -> Field:
    """The field that `to_json` described: its kind from the registry, its settings checked like a recipe's."""
    try:
        field: Field = registry.build("field", data["kind"], **data["settings"])
        field.restore(data)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"a damaged field description ({type(error).__name__}: {error})") from None
    return field
