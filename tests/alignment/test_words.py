"""The words that links count are the words that attention is put together into."""

from __future__ import annotations

import pytest

from xattend.alignment.words import of_field, of_text
from xattend.data.fields.text import Text

TEXTS = ["low lower lowest", "new newer newest"]


@pytest.mark.parametrize("unit", ["word", "bpe", "character", "byte"])
@pytest.mark.parametrize("text", ["new low", " new  low", "neu, ße lowest", "x"])
def test_as_many_as_the_field_has(unit: str, text: str) -> None:
    field = Text(unit=unit, size=None if unit in ("byte", "character") else 14, lower=True)
    field.fit(TEXTS)
    ids = field.encode(text)
    assert len(of_field(field, text, words=False)) == len(ids)
    words = of_field(field, text, words=True)
    assert len(words) == max(field.words(ids)) + 1
    if unit in ("word", "bpe"):
        assert words == text.split()  # whatever the subwords, and also where they are unknown


def test_without_a_model() -> None:
    assert of_text(" ein  Hund\u2009. ", words=True) == ["ein", "Hund\u2009."]
    assert of_text("a b", words=False) == ["a", " ", "b"]
    assert of_text("  ", words=True) == []
