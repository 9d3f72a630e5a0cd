"""Made-up words, and how texts that are all different are dealt out to splits: what words and handwriting are made of."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random

from xattend.data.tasks.base import split_of
from xattend.errors import UserError

VOWELS, CLUSTERS = "aeiou", ["br", "ch", "dr", "fl", "gr", "kl", "pr", "sh", "sk", "st", "th", "tr"]
CODAS = ["l", "m", "n", "nd", "ng", "r", "rk", "s", "st", "t", "x", "y"]
TRIES = 100_000  # texts in a row that were no use
KNOWN = string.ascii_lowercase + string.digits


def letters(alphabet: str, shortest: int, longest: int) -> str:
    """An alphabet in order, each letter once; settings that no text can have are refused.

    >>> letters("cabba", 1, 3)
    'abc'
    """
    if shortest > longest:
        raise UserError(f"shortest = {shortest} is more than longest = {longest}")
    if not alphabet or not set(alphabet) <= set(KNOWN):
        raise UserError(f"alphabet = '{alphabet}': choose from {KNOWN}")
    return "".join(sorted(set(alphabet)))


def dealt(sizes: Mapping[str, int], draw: Callable[[], str], things: str) -> Iterator[tuple[str, str]]:
    """Texts, each with its split, until every split is full. A text is in one split only, which depends on the text alone.

    >>> from itertools import count
    >>> sorted(Counter(split for split, _ in dealt({"train": 5, "validation": 2, "test": 1}, lambda n=count(): str(next(n)), "numbers")).items())
    [('test', 1), ('train', 5), ('validation', 2)]
    """
    seen, found, misses = set[str](), Counter[str](), 0
    while any(found[split] < size for split, size in sizes.items()):
        text, misses = draw(), misses + 1
        if misses > TRIES:
            raise UserError(f"only {len(seen)} different {things} were found: set fewer 'rows', a larger 'alphabet' or a larger 'longest'")
        split = split_of(text)
        if text not in seen and found[split] < sizes[split]:
            misses = 0
            seen.add(text)
            found[split] += 1
            yield split, text


class Speller:
    """Words of an alphabet: consonants and vowels in turn where it has both, letters at random where it has not."""

    def __init__(self, alphabet: str, shortest: int, longest: int) -> None:
        self.lengths = shortest, longest
        letters = [letter for letter in alphabet if letter.isalpha()]
        self.digits = [letter for letter in alphabet if letter.isdecimal()]
        self.vowels = [letter for letter in letters if letter in VOWELS]
        consonants = [letter for letter in letters if letter not in VOWELS]
        # singles are common and clusters rare, as in speech
        self.onsets = consonants * 3 + [cluster for cluster in CLUSTERS if set(cluster) <= set(letters)]
        self.codas = [""] * 20 + [coda for coda in CODAS if set(coda) <= set(letters)]
        self.letters = letters or self.digits

    def spell(self, draw: Random) -> str:
        """One word, as long as drawn."""
        length = draw.randint(*self.lengths)
        if not self.digits or draw.random() < 0.8:
            return self._spoken(draw, length)
        tail = draw.randint(1, length)
        return self._spoken(draw, length - tail) + "".join(draw.choice(self.digits) for _ in range(tail))

    def _spoken(self, draw: Random, length: int) -> str:
        word = "" if draw.random() < 0.8 or not self.vowels else draw.choice(self.vowels)
        while len(word) < length:
            if self.vowels and self.onsets:
                word += draw.choice(self.onsets) + draw.choice(self.vowels) + draw.choice(self.codas)
            else:
                word += draw.choice(self.letters)
        return word[:length]
