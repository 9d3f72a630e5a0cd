"""Numbers that come from a likelihood alone; `nll` is a summed negative natural logarithm.

>>> round(perplexity(math.log(50) * 10, 10), 6)  # every token one of 50 equally likely ones
50.0
>>> bits_per_character(math.log(2) * 30, 10)
3.0
"""

from __future__ import annotations

import math


def perplexity(nll: float, tokens: int) -> float:
    """exp(nll / tokens); inf where that is too large to write down."""
    if tokens <= 0:
        raise ValueError("perplexity of no tokens")
    try:
        return math.exp(nll / tokens)
    except OverflowError:
        return math.inf


def bits_per_character(nll: float, characters: int) -> float:
    """nll in base 2, a character of the text: comparable between models with different tokens."""
    if characters <= 0:
        raise ValueError("bits per character of no characters")
    return nll / (characters * math.log(2))
