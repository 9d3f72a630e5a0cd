"""Stories with a question: sentences, the question that follows them, and the sentences that the answer follows from, if they are known.

    Ada walked to the cellar. Boris took the lamp. Where is Ada? #1

A sentence ends with . ! or ? and a space, or with the text; the last one is the question, and must end with ?. Behind it may stand the numbers of its
supporting facts, counted from 1 over the sentences, in the order in which they are needed: `#1 #3`. They are never read as text: systems
that learn from them (`memnn`, `dmn`) find them in the batch, and `evaluate` compares them with where the model looked.

Words are read as a field `text` reads them, by default as plain lower-case words; sentences and question share one vocabulary. In a batch
the sentences are `values_BSW`, padded with PAD; the question stands beside them (`Padded.beside`) and the facts, counted from 0, beside the question.

>>> field = Story()
>>> field.fit(["Ada walked to the cellar. Where is Ada? #1"])
>>> batch = field.read(["Boris took the lamp. Ada walked to the cellar. Where is Ada? #2"])
>>> batch.values.shape, batch.beside.values.shape, batch.beside.beside.values.tolist()
(torch.Size([1, 2, 5]), torch.Size([1, 3]), [[1]])
>>> field.names(batch), field.unknown("Boris took the lamp. Where is Ada?")
([['Boris took the lamp.', 'Ada walked to the cellar.']], ['Boris', 'took', 'lamp'])

Shape suffixes: B batch, S sentences, W words, F facts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import pydantic
import torch

from xattend import registry
from xattend.data.fields.base import Field, Ids
from xattend.data.fields.text import Text
from xattend.data.readers.base import Row
from xattend.data.readers.lines import BadRow
from xattend.errors import UserError
from xattend.registry import register
from xattend.types import PAD, UNK, Padded, Space

FACTS = re.compile(r"((?:\s+#\d+)+)\s*$")
ENDS = re.compile(r"(?<=[.!?])\s+")
OWN = ("share", "max_length", "eos")  # settings of text that a story's words have no use for
HEAD = 3  # a row of ids begins with the numbers of sentences and facts and the length of the question
ASKS = ("?", "\uff1f", "\u061f")  # the last two as Chinese and Arabic write it
MARKS = ".,;:!?()[]{}\"'"  # around a word, and no part of it
SHOWN = 60  # characters of a sentence that is complained of
ALIKE = 16  # stories with no more sentences are batched in any order


class Told(NamedTuple):
    """A row's text, taken apart. Facts are numbers of sentences, from 0."""

    sentences: list[str]
    question: str
    facts: list[int]


class Written(Padded):
    """Stories of the user's own, with their sentences as they were typed: a word that is unknown is called by its name."""

    sentences: list[list[str]] | None = None


def take_apart(text: str) -> Told:
    """
    >>> take_apart("Ada sat down. Boris fell. Who fell? #2")
    Told(sentences=['Ada sat down.', 'Boris fell.'], question='Who fell?', facts=[1])
    """
    marks = FACTS.search(text)
    facts = [int(number) - 1 for number in marks[1].replace("#", " ").split()] if marks else []
    *sentences, question = ENDS.split((text[: marks.start()] if marks else text).strip())
    return Told(sentences, question, facts)


@register("field", "story")
class Story(Field):
    """A side of rows that tell something and ask about it."""

    eos = False
    max_length = None
    share = None

    def __init__(
        self,
        *,
        words: Annotated[dict[str, Any] | None, "how sentences are read, settings of a text field; by default as plain words"] = None,
        last: Annotated[Annotated[int, pydantic.Field(ge=1)] | None, "only so many sentences before the question are kept; the others are counted"] = None,
    ) -> None:
        given = {"unit": "word", "plain": True} if words is None else words
        for key in OWN:
            if given.get(key) is not None and not (key == "eos" and given[key] is False):
                raise UserError(f"the words of a story have no '{key}': take it out")
        self.text: Text = registry.build("field", "text", **{**given, "eos": False})
        self.last = last
        kept = {key: value for key, value in self.text.settings.items() if key not in OWN}
        self.settings: dict[str, Any] = {"words": None if words is None else kept, "last": last}
        self.cut = self.stories = 0  # stories of which sentences were left out, and all that were read

    # --- how a text is laid out; a subclass may have another way

    def split(self, text: str) -> Told:
        """The text taken apart."""
        return take_apart(text)

    def apart(self, text: str) -> Told:
        """The same, with no more sentences than are kept."""
        told = self.split(text)
        gone = max(0, len(told.sentences) - self.last) if self.last is not None else 0
        return Told(told.sentences[gone:], told.question, [fact - gone for fact in told.facts if fact >= gone])

    def together(self, sentences: list[str], question: str) -> str:
        """The text of sentences and question as they are read."""
        return " ".join([*(f"{sentence}." for sentence in sentences), *([f"{question}?"] if question else [])])

    def check(self, text: str) -> None:
        """A BadRow if it is no story."""
        told = self.split(text)
        if not told.sentences:
            raise BadRow(
                "not a story and a question",
                f"the row is not a story and a question: {'it has one sentence alone' if told.question else 'there is nothing in it'}; "
                "write sentences that end with . and a space, and behind them the question, which ends with ?",
            )
        if not told.question.rstrip(MARKS.replace("?", "")).endswith(ASKS):
            said = told.question if len(told.question) <= SHOWN else f"{told.question[:SHOWN]}..."
            raise BadRow("a story without a question", f"the last sentence is read as the question: end it with '?' ('{said}' does not)")
        if not all(map(self._plain, [told.question, *told.sentences])):
            raise BadRow("a sentence without words", "a sentence or the question has no words: write some before each . and ?")
        wrong = [fact + 1 for fact in told.facts if not 0 <= fact < len(told.sentences)]
        if wrong:
            raise BadRow("a fact that is no sentence", f"#{wrong[0]} names a supporting fact, and the story has {len(told.sentences)} sentences")

    # --- text and ids

    @property
    def space(self) -> Space:
        return Space(beside=self.text.space)

    def raw(self, text: str) -> str:
        return unicodedata.normalize("NFC", text) if self.text.nfc else text

    def normalise(self, text: str) -> str:
        told = self.apart(text)
        return self.together([self._plain(sentence) for sentence in told.sentences], self._plain(told.question))

    def _plain(self, text: str) -> str:
        return " ".join(self.text.normalise(text).split())

    def fit(self, texts: Iterable[str]) -> None:
        self.text.fit(_Spoken(texts, self))

    def take(self, text: str) -> None:
        self.check(text)
        self.stories += 1
        self.cut += self.last is not None and len(self.split(text).sentences) > self.last

    def notes(self) -> list[str]:
        if not self.cut:
            return []
        return [f"{self.cut} of {self.stories} stories are longer than last = {self.last} sentences: those before are not read"]

    def encode(self, text: str) -> list[int]:
        told = self.apart(text)
        words = self.text.encode_many([*told.sentences, told.question])
        lengths = [len(sentence) for sentence in words]
        return [len(told.sentences), len(told.facts), lengths[-1], *lengths[:-1], *told.facts, *(id for sentence in words for id in sentence)]

    def decode(self, ids: Sequence[int]) -> str:
        *sentences, question = [self.text.decode(sentence) for sentence in self._sentences(ids)]
        return self.together(sentences, question)

    def _sentences(self, ids: Sequence[int]) -> list[Sequence[int]]:
        """The words of each sentence, the question's last."""
        count, facts, question = ids[:HEAD]
        start, found = HEAD + count + facts, []
        for length in [*ids[HEAD : HEAD + count], question]:
            found.append(ids[start : start + length])
            start += length
        return found

    def units(self, ids: Sequence[int]) -> Sequence[int]:
        return ids[HEAD + ids[0] + ids[1] :]

    def as_source(self, ids: Sequence[int]) -> list[int]:
        return list(ids)

    def length(self, ids: Sequence[int]) -> int:
        """In sentences, and coarsely: batches of stories of the very same length would say too much about where a question comes."""
        length = ALIKE
        while length < ids[0]:
            length *= 2
        return length

    def told(self, ids: Sequence[int]) -> int:
        return ids[0]

    def blank(self, text: str) -> bool:
        return not text.strip()

    def symbols(self, ids: Sequence[int]) -> list[str]:
        return self.text.symbols(self.units(ids))

    def words(self, ids: Sequence[int]) -> list[int]:
        return self.text.words(self.units(ids))

    def names(self, source: Padded) -> list[list[str]]:
        if isinstance(source, Written) and source.sentences is not None:
            return [list(sentences) for sentences in source.sentences]
        rows = zip(source.values.tolist(), source.lengths_B.tolist(), strict=True)
        return [[self.text.decode(sentence) for sentence in sentences[:length]] for sentences, length in rows]

    def facts(self, text: str) -> list[int]:
        """The supporting facts of a row, as numbers of the sentences that are read, from 0."""
        return self.apart(text).facts

    def unknown(self, text: str) -> list[str]:
        """The words that are read as unknown, as they were typed."""
        told = self.apart(text)
        separator = self.text.settings["separator"]
        words = [word for said in (*told.sentences, told.question) for word in said.split(separator)]
        return [word.strip(MARKS) or word for word, ids in zip(words, self.text.encode_many(words), strict=True) if UNK in ids]

    def read(self, texts: Sequence[str], rows: Sequence[Row] = ()) -> Padded:
        for number, text in enumerate(texts):
            try:
                self.check(text)
            except BadRow as bad:
                place = {"file": rows[number].file, "line": rows[number].line} if rows else {}
                raise UserError(bad.message, **place) from None  # type: ignore[arg-type]
        read = Written(*self.collate([np.array(self.encode(text), np.int32) for text in texts]))
        read.sentences = [[" ".join(sentence.split()) for sentence in self.apart(text).sentences] for text in texts]
        return read

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.registered_name, "settings": self.settings, "text": self.text.to_json()}

    def restore(self, data: dict[str, Any]) -> None:
        self.text.restore(data["text"])

    @staticmethod
    def collate(rows: Sequence[Ids]) -> Padded:
        """Rows of ids as `encode` writes them: sentences_BSW, the question beside them, the facts beside that."""
        counts = np.array([row[:HEAD] for row in rows], np.int64).reshape(-1, HEAD)
        mask_BS = np.arange(counts[:, 0].max(initial=0)) < counts[:, 0, None]
        lengths_BS = np.zeros(mask_BS.shape, np.int64)
        facts = Field.collate([row[HEAD + count[0] : HEAD + count[0] + count[1]] for row, count in zip(rows, counts)])
        if not mask_BS.size:
            mask_BSW = np.zeros((*mask_BS.shape, 0), np.bool_)
        else:
            lengths_BS[mask_BS] = np.concatenate([row[HEAD : HEAD + count[0]] for row, count in zip(rows, counts)])
            mask_BSW = np.arange(lengths_BS.max(initial=0)) < lengths_BS[:, :, None]
        values_BSW = np.full(mask_BSW.shape, PAD, np.int64)
        if mask_BSW.any():
            values_BSW[mask_BSW] = np.concatenate([row[HEAD + count[0] + count[1] : len(row) - count[2]] for row, count in zip(rows, counts)])
        question = Field.collate([row[len(row) - count[2] :] for row, count in zip(rows, counts)])
        return Padded(torch.from_numpy(values_BSW), torch.from_numpy(mask_BS), question._replace(beside=facts))


class _Spoken:
    """What is said in rows, their marks of facts left out; it can be gone through more than once if the rows can."""

    def __init__(self, texts: Iterable[str], field: Story) -> None:
        self.texts = texts
        self.field = field

    def __iter__(self) -> Iterator[str]:
        for text in self.texts:
            told = self.field.apart(text)
            yield " ".join([*told.sentences, told.question])
