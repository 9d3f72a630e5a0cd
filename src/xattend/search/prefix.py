"""A search whose outputs begin as they are told: any other search, with its prefix set beforehand.

Search takes a prefix with every call; systems that ask for predictions give none, or a language model the text that it goes on from. This
takes its place.

>>> from xattend.search import Greedy
>>> Beginning(Greedy(max_length=5), [4, 5]).limits.max_length
5
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xattend.search.base import Search, Steps
from xattend.search.repeats import Phrase
from xattend.types import Hypothesis, Memory


class Beginning(Search):
    """`inner`, every output of which begins with these tokens."""

    def __init__(self, inner: Search, tokens: Sequence[int]) -> None:
        self.inner, self.tokens, self.limits = inner, list(tokens), inner.limits

    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        return self.inner.search(decoder, memory, prefix=[self.tokens] * len(memory.mask_BS), attention=attention)

    def forbidding(self, phrases: Sequence[Phrase]) -> Self:
        return type(self)(self.inner.forbidding(phrases), self.tokens)

    def requiring(self, phrases_B: Sequence[Sequence[Phrase]]) -> Search:
        return Beginning(self.inner.requiring(phrases_B), self.tokens)
