"""A field: how one side of a row is read into ids, padded into a batch, and written out again.

A side may also name media, such as a picture's file (media.py): then the ids of a row are a key to what was made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from xattend import registry
from xattend.data.split import Collate
from xattend.errors import UserError
from xattend.types import BOS, EOS, PAD, Padded, Space

if TYPE_CHECKING:
    from xattend.data.named import Places
    from xattend.data.readers.base import Row

Progress = Callable[[str, int], None]  # what is being done, and to how many rows so far
Ids = np.ndarray[Any, np.dtype[np.int32]]


class Field:
    """Fitted once on the training rows, saved as JSON with the run."""

    media: ClassVar[bool] = False  # whether a row's text names a file or a drawing instead of being what is read
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

    def names(self, source: Padded) -> list[list[str]] | None:
        """What to call the positions of each row of a source; None if they are places and not words."""
        if self.space.vocabulary is None:
            return None
        rows = zip(source.values.tolist(), source.lengths_B.tolist(), strict=True)
        return [self.symbols(ids[:length]) for ids, length in rows]

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

    def length(self, ids: Sequence[int]) -> int:
        """How long a row is when rows of like length are put together."""
        return len(ids)

    def told(self, ids: Sequence[int]) -> int | None:
        """How long a row is for a person, if `length` says something else: how many sentences a story has."""
        return None

    def problem(self, text: str) -> str | None:
        """Why a text of no split cannot be read; None if it can. Text always can; a file that it names may be damaged."""
        return None

    def extent(self, text: str) -> int:
        """How long a source of no split is, before it is read: those of like extent are answered together. Characters are a good enough measure."""
        return len(text)

    def units(self, ids: Sequence[int]) -> Sequence[int]:
        """Those of a row's ids that stand for units of text, and so may be unknown."""
        return ids

    def blank(self, text: str) -> bool:
        """Whether there is nothing to read in a text."""
        return not text.strip() or not self.encode(text)

    def read(self, texts: Sequence[str], rows: Sequence[Row] = ()) -> Padded:
        """Source texts of no split, a user's own, as a batch. `rows` says where each stands."""
        ids = [self.as_source(self.encode(text)) for text in texts]
        self.must_have_units(ids, rows)
        return self.collate([np.array(found, np.int32) for found in ids])

    @staticmethod
    def must_have_units(ids: Sequence[list[int]], rows: Sequence[Row]) -> None:
        """A UserError at the first row that has none."""
        for number, found in enumerate(ids):
            if not found:
                place = {"file": rows[number].file, "line": rows[number].line} if rows else {}
                raise UserError("the row has nothing but separators", **place)  # type: ignore[arg-type]

    def collator(self) -> Collate:
        """How encoded rows of a split become a batch. It is sent to worker processes, so it holds little."""
        return type(self).collate

    def settle(self, places: Places) -> None:
        """Tells a field of media where they lie."""

    def here(self) -> Field:
        """This field for rows of the user's own: media are looked for in the working folder first."""
        return self

    def taking(self, progress: Progress) -> AbstractContextManager[None]:
        """Within this, `take` is called with every text before any is encoded."""
        return nullcontext()

    def take(self, text: str) -> None:
        """Media are read here, once; one that cannot be is a BadRow."""

    def notes(self) -> list[str]:
        """What is to be said of what was taken."""
        return []

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
