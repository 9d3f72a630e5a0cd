"""Subwords by byte-pair encoding (Sennrich et al. 2016), trained and applied by the `tokenizers` library.

The library is given text with no normaliser, no added tokens and no special tokens. Merges stay inside a run of letters
and digits, or of other signs, with the one space before it; the text is given one space in front, so that a word looks
the same everywhere. Every space is kept in some subword, so joining the subwords and taking the first space off gives
the text back exactly.

>>> bpe = Bpe()
>>> bpe.fit(["low lower lowest", "new newer newest"] * 3, size=30, min_count=1)
>>> bpe.decode(bpe.encode("new  low</s>"))
'new  low<unk><unk>s<unk>'
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from xattend.data.fields.units import FIRST, Json, Unit
from xattend.data.fields.unmerge import Parts
from xattend.types import EOS, SPECIALS, UNK

DEFAULT_SIZE = 8000
_WORDS = Regex(r" ?[\p{L}\p{M}\p{N}]+| ?[^ \p{L}\p{M}\p{N}]+| +(?= )| +")
# No merge can build this name, because no reader lets a NUL through; so no text can ever be taken for it.
_UNKNOWN = "\0unknown"


class Bpe(Unit):
    """Merges the most frequent pair of neighbours again and again until the vocabulary is full."""

    def __init__(self) -> None:
        self._take([], [])

    def _take(self, symbols: list[str], merges: list[tuple[str, str]]) -> None:
        self.symbols = symbols
        self.merges = merges
        vocabulary = {symbol: id for id, symbol in enumerate(symbols, FIRST)} | {_UNKNOWN: UNK}
        self.tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, unk_token=_UNKNOWN, fuse_unk=False))
        self.tokenizer.pre_tokenizer = pre_tokenizers.Split(_WORDS, behavior="isolated")

    @property
    def size(self) -> int:
        return FIRST + len(self.symbols)

    def fit(self, texts: Iterable[str], size: int | None, min_count: int) -> None:
        if isinstance(texts, Iterator):  # two passes are needed
            texts = list(texts)
        room = (DEFAULT_SIZE if size is None else size) - FIRST
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(text)
        trainer = trainers.BpeTrainer(
            vocab_size=room, min_frequency=max(min_count, 1), show_progress=False, special_tokens=[],
            limit_alphabet=_alphabet(counts, room, min_count), initial_alphabet=[" "],
        )  # fmt: skip
        learner = Tokenizer(models.BPE())
        learner.pre_tokenizer = pre_tokenizers.Split(_WORDS, behavior="isolated")
        learner.train_from_iterator((" " + text for text in texts), trainer)
        model = json.loads(learner.to_str())["model"]
        symbols = sorted(model["vocab"], key=model["vocab"].__getitem__)
        self._take(symbols, [tuple(merge) for merge in model["merges"]])

    def encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(" " + text, add_special_tokens=False).ids) if text else []

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        found = self.tokenizer.encode_batch_fast([" " + text if text else "" for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(SPECIALS[UNK] if id == UNK else self.symbols[id - FIRST] for id in ids).removeprefix(" ")

    def symbol(self, id: int) -> str:
        return self.symbols[id - FIRST].replace(" ", "▁")

    def pieces(self, text: str) -> list[str]:
        text = " " + text
        spans = self.tokenizer.encode(text, add_special_tokens=False).offsets if len(text) > 1 else []
        return [text[start:end].replace(" ", "▁") for start, end in spans]

    def join(self, shown: list[str]) -> str:
        return "".join(shown).replace("▁", " ").removeprefix(" ")

    def words(self, ids: Sequence[int]) -> list[int]:
        """A word begins at a subword with a space in front, unless nothing but spaces has come since the last one. Spaces at the end
        belong to the last word."""
        found: list[int] = []
        word, blank = 0, True
        for id in ids:
            text = SPECIALS[id] if id <= EOS else self.symbols[id - FIRST]
            if not blank and (text.startswith(" ") or id == EOS):
                word, blank = word + 1, True
            found.append(word)
            blank = blank and not text.strip(" ")
        return [min(place, word - 1) for place in found] if blank and word else found

    def parts(self) -> Parts:
        """The ids that each id was merged from, [V, 2]; -1 for letters and specials."""
        place = {symbol: id for id, symbol in enumerate(self.symbols, FIRST)}
        parts_V2 = np.full((self.size, 2), -1, np.int64)
        for left, right in reversed(self.merges):  # of several ways to one symbol, the first learnt is the one taken
            parts_V2[place[left + right]] = place[left], place[right]
        return parts_V2

    def to_json(self) -> Json:
        return {"vocabulary": self.symbols, "merges": [list(merge) for merge in self.merges]}

    def restore(self, data: Json) -> None:
        try:
            self._take(list(data["vocabulary"]), [(left, right) for left, right in data["merges"]])
        except KeyError:
            raise
        except Exception as error:  # the library raises bare Exceptions for merges that do not fit the vocabulary
            raise ValueError(str(error)) from None


def _alphabet(counts: Counter[str], room: int, min_count: int) -> int:
    """How many characters to keep: those seen often enough, as many as fit. The cut never falls between equally
    frequent characters, because the library would choose among them at random."""
    ranked = sorted((count for count in counts.values() if count >= min_count), reverse=True)
    keep = min(len(ranked), room)
    while 0 < keep < len(ranked) and ranked[keep] == ranked[keep - 1]:
        keep -= 1
    return keep
