"""A trained model: a run directory, opened for use.

    model = xattend.load("runs/transliterate")
    model.predict("London").text
    model.predict(["London", "Paris"], beam=5, attention=True)[0].attention

Rows of any number stream through: they are sorted by length in windows, batched, and answered in their own order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import torch
from torch import nn

from xattend import recipe as recipes
from xattend import registry
from xattend.attention.none import NoAttention
from xattend.data.corpus import encode_rows
from xattend.data.fields.base import Field, from_json
from xattend.data.readers.base import Row
from xattend.errors import UserError
from xattend.layers.int8 import to_int8
from xattend.recipe import Recipe
from xattend.run import Run
from xattend.search.base import Search
from xattend.systems import System, assemble
from xattend.systems.copying import with_copies
from xattend.training.weights import from_bytes, put
from xattend.types import EOS, Batch, Padded, Prediction

WINDOW = 2048  # rows sorted by length together; what a stream of predictions holds in memory
BATCH_CHARACTERS = 16_384  # rows times the longest of them: 64 sentences or so
BATCH_ROWS = 256  # so that short rows with a large vocabulary stay within memory, too
LARGE = 1 << 19  # weights of a layer that are worth laying out anew

Tick = Callable[[int], None]  # told of so many more rows that were answered


class Score(NamedTuple):
    """What a model says of a given target: log-probability of the whole, and of each token, EOS last."""

    logprob: float
    tokens: list[str]
    token_logprobs: list[float]


class Aligned(NamedTuple):
    """Where each unit (or word) of a given target looked, the mean over heads; end marks are left out."""

    source: list[str]
    target: list[str]
    weights_TS: np.ndarray[Any, np.dtype[np.float32]]


class Model:
    """Predicts, scores and aligns rows of text."""

    def __init__(self, recipe: Recipe, source: Field | None, target: Field, system: System) -> None:
        self.recipe = recipe
        self.source = source
        self.target = target
        self.system = system.eval()
        _lay_out(system)

    @staticmethod
    def load(path: str | Path, overrides: Iterable[str] = ()) -> Model:
        """Opens a run, on request with other settings (`search.length_penalty=0.6`). Damage is a UserError that names the file."""
        run = Run(path)
        run.verify()
        recipe = recipes.load(run.recipe, overrides).resolve()
        source, target = fields_of(run)
        system = assemble(recipe, source, target)
        put(system, from_bytes(run.model.read_bytes(), run.model), run.model)
        return Model(recipe, source, target, system)

    def to_int8(self) -> Model:
        """This model with weights of 8 bits in its linear layers (layers/int8.py): faster on a CPU, a little less exact."""
        to_int8(self.system)
        return self

    def search(self, *, beam: int | None = None, nbest: int | None = None, **more: Any) -> Search:
        """The recipe's search with other settings: `beam=1` is greedy, a larger one beam search. Limits on length stay."""
        kind, given = self.recipe.part("search")
        if beam is not None:
            if beam == 1 and (nbest or 1) == 1:
                kind = "greedy"
            elif "size" not in registry.settings(registry.find("search", kind)):
                kind = "beam"
            known = registry.settings(registry.find("search", kind))
            given = {key: value for key, value in {**given, "size": beam}.items() if key in known}
        if nbest is not None and nbest > 1:
            given["nbest"] = nbest
        search: Search = registry.build("search", kind, **{**given, **more})
        return search

    @overload
    def predict(self, text: str, *, beam: int | None = None, nbest: int | None = None, attention: bool = False) -> Prediction: ...

    @overload
    def predict(
        self, text: list[str], *, beam: int | None = None, nbest: int | None = None, attention: bool = False
    ) -> list[Prediction]: ...

    def predict(
        self, text: str | list[str], *, beam: int | None = None, nbest: int | None = None, attention: bool = False
    ) -> Prediction | list[Prediction]:
        """One text, or many in their order."""
        texts = [text] if isinstance(text, str) else text
        rows = [Row(one, None, "text", number) for number, one in enumerate(texts, 1)]
        found = list(self.predict_rows(rows, self.search(beam=beam, nbest=nbest), attention=attention))
        return found[0] if isinstance(text, str) else found

    def predict_rows(
        self, rows: Iterable[Row], search: Search, *, attention: bool = False, copy_unknown: bool = False, tick: Tick | None = None
    ) -> Iterator[Prediction]:
        """A stream of rows, answered in order. `copy_unknown` puts the source word looked at in place of <unk>."""

        def answer(batch: Batch, of: list[Row]) -> list[Prediction]:
            found = self.system.predict(batch, search, attention=attention or copy_unknown)
            if copy_unknown:
                found = [with_copies(one, row.source, self.source, self.target) for one, row in zip(found, of, strict=True)]
            return found

        return self._stream(rows, answer, tick)

    def score_rows(self, rows: Iterable[Row], *, tick: Tick | None = None) -> Iterator[Score]:
        """Log-probabilities of given targets."""

        def answer(batch: Batch, of: list[Row]) -> list[Score]:
            assert batch.target is not None
            names = [self.target.symbols(ids[1:length]) for ids, length in _ids(batch.target)]
            return [Score(sum(logs), tokens, logs) for logs, tokens in zip(self.system.score(batch), names, strict=True)]

        return self._stream(rows, answer, tick)

    def align_rows(self, rows: Iterable[Row], *, words: bool = True, tick: Tick | None = None) -> Iterator[Aligned]:
        """Where each unit of a given target looked; `words` puts the units of a word together."""
        self.must_look("aligning")

        def answer(batch: Batch, of: list[Row]) -> list[Aligned]:
            assert batch.source is not None
            assert batch.target is not None
            found = []
            for weights_THS, (source, s), (target, t) in zip(
                self.system.align(batch), _ids(batch.source), _ids(batch.target), strict=True
            ):
                if weights_THS.shape[-1] != s:
                    raise UserError("aligning needs one memory position a source unit; this model's encoder has others")
                weights_TS = weights_THS.float().mean(dim=1).numpy()
                found.append(self._aligned(source[:s], target[1:t], weights_TS, words))
            return found

        return self._stream(rows, answer, tick)

    def _aligned(self, source: list[int], target: list[int], weights_TS: np.ndarray[Any, Any], words: bool) -> Aligned:
        assert self.source is not None
        ends = len(source) - (self.source.eos and source[-1] == EOS)
        source, target, weights_TS = source[:ends], target[:-1], weights_TS[:-1, :ends]
        if not words:
            return Aligned(self.source.symbols(source), self.target.symbols(target), weights_TS)
        left, right = self.source.words(source), self.target.words(target)
        # a source word has the sum of its units' weights, a target word the mean of what its units say
        by_source_TW = weights_TS @ np.eye(max(left, default=-1) + 1, dtype=np.float32)[left]
        units_WT = np.eye(max(right, default=-1) + 1, dtype=np.float32)[right].T
        weights_WW = units_WT @ by_source_TW / np.maximum(units_WT.sum(axis=1, keepdims=True), 1)
        return Aligned(_names(self.source, source, left), _names(self.target, target, right), weights_WW)

    def must_look(self, what: str) -> None:
        """A UserError unless the model looks at positions of its source."""
        kind = self.recipe.part("attention")[0] if "attention" in self.recipe.sections else None
        if kind is None or issubclass(registry.find("attention", kind), NoAttention):
            has = "it reads no source" if kind is None else f"attention '{kind}' looks nowhere"
            raise UserError(f"{what} needs a model that looks at source positions, and {has}")

    def _stream(self, rows: Iterable[Row], answer: Any, tick: Tick | None) -> Iterator[Any]:
        rows = iter(rows)
        while window := list(islice(rows, WINDOW)):
            order = sorted(range(len(window)), key=lambda i: (_length(window[i]), i))
            answers: dict[int, Any] = {}
            for batch_rows in _batches(order, window):
                of = [window[i] for i in batch_rows]
                with torch.inference_mode():
                    answers.update(zip(batch_rows, answer(encode_rows((self.source, self.target), of), of), strict=True))
                if tick is not None:
                    tick(len(of))
            yield from (answers[i] for i in range(len(window)))


def _lay_out(system: nn.Module) -> None:
    """Large layers' weights column by column in memory: a product with a single row is then twice as fast.

    A layer that shares its weights with a lookup table stays as it is: looking up needs rows.
    """
    tables = {module.weight.data_ptr() for module in system.modules() if isinstance(module, nn.Embedding)}
    for module in system.modules():
        if type(module) is nn.Linear and module.weight.numel() >= LARGE and module.weight.data_ptr() not in tables:
            module.weight.data = module.weight.data.t().contiguous().t()


def _length(row: Row) -> int:
    """In characters, which is a good enough measure."""
    return max(len(row.source), len(row.target or ""))


def _batches(order: list[int], window: list[Row]) -> Iterator[list[int]]:
    """Rows of like length, as many as the budget allows."""
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) == BATCH_ROWS or (len(batch) + 1) * _length(window[i]) > BATCH_CHARACTERS):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _names(field: Field, ids: list[int], words: list[int]) -> list[str]:
    """The text of each word."""
    return [field.decode([id for id, w in zip(ids, words, strict=True) if w == word]) for word in range(max(words, default=-1) + 1)]


def _ids(padded: Padded) -> Iterator[tuple[list[int], int]]:
    """The ids of each row, padding included, and how many of them are real."""
    return zip(padded.values.tolist(), padded.lengths_B.tolist(), strict=True)


def fields_of(run: Run) -> tuple[Field | None, Field]:
    """How a run reads its sides; a language model has no source."""

    def read(side: str) -> Field:
        try:
            return from_json(json.loads(run.field(side).read_text("utf-8")))
        except (UserError, ValueError, OSError) as error:
            raise UserError(f"cannot be read: {error}", file=run.field(side)) from None

    return (read("source") if run.field("source").exists() else None), read("target")
