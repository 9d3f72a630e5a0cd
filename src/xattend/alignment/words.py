"""A text as the words that links count: the places of an alignment are places in this list.

>>> of_text(" ein  hund", words=True), of_text("hund", words=False)
(['ein', 'hund'], ['h', 'u', 'n', 'd'])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xattend.data.fields.text import Text


def of_text(text: str, *, words: bool) -> list[str]:
    """Without a model: what stands between spaces, or characters."""
    return [word for word in text.split(" ") if word] if words else list(text)


def of_field(field: Text, text: str, *, words: bool) -> list[str]:
    """What a model that reads the text with this field attends to: its units, or the words they make up.

    A unit that the model does not know is there as it was written: two unknown words are two words.
    """
    pieces = field.pieces(text)
    if not words:
        return pieces
    word_of = field.words(field.encode(text))
    parts: list[list[str]] = [[] for _ in range(max(word_of, default=-1) + 1)]
    for piece, word in zip(pieces, word_of, strict=True):
        parts[word].append(piece)
    return [field.join(part).strip(" ") for part in parts]
