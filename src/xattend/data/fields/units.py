"""What a text is cut into: characters, bytes or words. (Subwords are in bpe.py.) Ids 0 to 3 are the specials'.

A unit's own symbols start at id 4 and are looked up apart from the specials, so a text that holds "</s>" is only text.

>>> words = Words(None)
>>> words.fit(["b a b", "c b"], size=6, min_count=1)
>>> words.encode("a b c"), words.decode([4, 5, 1])
([5, 4, 1], 'b a <unk>')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from xattend.types import EOS, SPECIALS, UNK

FIRST = len(SPECIALS)
Json = dict[str, Any]


class Unit:
    """Cuts normalised text into ids, and joins ids (no specials but UNK) to text."""

    @property
    def size(self) -> int:
        """How many ids there are, specials included."""
        raise NotImplementedError

    def fit(self, texts: Iterable[str], size: int | None, min_count: int) -> None:
        raise NotImplementedError

    def encode(self, text: str) -> list[int]:
        raise NotImplementedError

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        raise NotImplementedError

    def symbol(self, id: int) -> str:
        """How to show one id that is no special."""
        raise NotImplementedError

    def pieces(self, text: str) -> list[str]:
        """One for each id of `encode(text)`: shown as `symbol` does, but never as unknown."""
        raise NotImplementedError

    def join(self, shown: list[str]) -> str:
        """The text of symbols as they are shown."""
        raise NotImplementedError

    def words(self, ids: Sequence[int]) -> list[int]:
        return list(range(len(ids)))

    def to_json(self) -> Json:
        raise NotImplementedError

    def restore(self, data: Json) -> None:
        raise NotImplementedError


class Index(dict[str, int]):
    """Symbol to id; what it does not know is UNK."""

    def __missing__(self, symbol: str) -> int:
        return UNK


class Listed(Unit):
    """A unit with a list of symbols, the most frequent first, equally frequent ones by their text."""

    unknown: str | None = None  # a symbol that is never in the list

    def __init__(self) -> None:
        self.symbols: list[str] = []
        self.index = Index()

    @property
    def size(self) -> int:
        return FIRST + len(self.symbols)

    def split(self, text: str) -> Sequence[str]:
        raise NotImplementedError

    def show(self, symbol: str) -> str:
        return symbol

    def pieces(self, text: str) -> list[str]:
        return [self.show(symbol) for symbol in self.split(text)]

    def fit(self, texts: Iterable[str], size: int | None, min_count: int) -> None:
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(self.split(text))
        counts.pop(self.unknown or "", None)
        ranked = sorted((symbol for symbol in counts if counts[symbol] >= min_count), key=lambda s: (-counts[s], s))
        self._take(ranked if size is None else ranked[: size - FIRST])

    def _take(self, symbols: list[str]) -> None:
        self.symbols = symbols
        self.index = Index({symbol: id for id, symbol in enumerate(symbols, FIRST)})

    def encode(self, text: str) -> list[int]:
        return list(map(self.index.__getitem__, self.split(text)))

    def spell(self, symbols: list[str]) -> str:
        """Text of symbols of the vocabulary."""
        raise NotImplementedError

    def decode(self, ids: Sequence[int]) -> str:
        return self.spell([SPECIALS[UNK] if id == UNK else self.symbols[id - FIRST] for id in ids])

    def symbol(self, id: int) -> str:
        return self.show(self.symbols[id - FIRST])

    def to_json(self) -> Json:
        return {"vocabulary": self.symbols}

    def restore(self, data: Json) -> None:
        symbols = data["vocabulary"]
        if not isinstance(symbols, list) or not all(isinstance(s, str) for s in symbols) or len(set(symbols)) < len(symbols):
            raise ValueError("'vocabulary' must be a list of different texts")
        self._take(symbols)


class Characters(Listed):
    """One id a character (a code point)."""

    def split(self, text: str) -> Sequence[str]:
        return text

    def spell(self, symbols: list[str]) -> str:
        return "".join(symbols)

    def show(self, symbol: str) -> str:
        return symbol.replace(" ", "␣")

    def join(self, shown: list[str]) -> str:
        return "".join(shown).replace("␣", " ")


class Words(Listed):
    """One id a word: what stands between spaces, or between `separator`s."""

    def __init__(self, separator: str | None, unknown: str | None = None) -> None:
        super().__init__()
        self.separator = " " if separator is None else separator
        self.unknown = unknown  # what the data itself writes for a word that it does not tell

    def split(self, text: str) -> Sequence[str]:
        return [word for word in text.split(self.separator) if word]

    def spell(self, symbols: list[str]) -> str:
        return self.separator.join(symbols)

    def join(self, shown: list[str]) -> str:
        return self.separator.join(shown)


class Bytes(Unit):
    """One id a byte of UTF-8: nothing is ever unknown, and nothing need be learnt."""

    size = FIRST + 256

    def fit(self, texts: Iterable[str], size: int | None, min_count: int) -> None:
        pass

    def encode(self, text: str) -> list[int]:
        return [FIRST + byte for byte in text.encode("utf-8")]

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(id - FIRST for id in ids if id > EOS).decode("utf-8", errors="replace")

    def symbol(self, id: int) -> str:
        byte = id - FIRST
        return chr(byte) if 0x21 <= byte <= 0x7E else f"<{byte:02x}>"

    def pieces(self, text: str) -> list[str]:
        return [self.symbol(id) for id in self.encode(text)]

    def join(self, shown: list[str]) -> str:
        spelt = {self.symbol(FIRST + byte): bytes([byte]) for byte in range(256)}
        return b"".join(spelt.get(symbol, symbol.encode("utf-8")) for symbol in shown).decode("utf-8", errors="replace")

    def to_json(self) -> Json:
        return {}

    def restore(self, data: Json) -> None:
        pass
