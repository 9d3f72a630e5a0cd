"""A trained model: a run directory, opened for use.

    model = xattend.load("runs/transliterate")
    model.predict("London").text
    model.predict(["London", "Paris"], beam=5, attention=True)[0].attention
    model.together([xattend.load("runs/another")]).predict("London", never=["Lund"])

Rows of any number stream through (stream.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import torch
from torch import nn

from xattend import recipe as recipes
from xattend import registry
from xattend.alignment.heads import head_names, meant
from xattend.answer import Answer
from xattend.answer import answer as answered
from xattend.attention.none import NoAttention
from xattend.data.corpus import encode_rows
from xattend.data.fields.base import Field
from xattend.data.fields.story import Story
from xattend.data.named import Places
from xattend.data.readers.base import Row
from xattend.editing import edit_model
from xattend.errors import UserError
from xattend.kept import fields_of, places_of
from xattend.layers.int8 import to_int8
from xattend.recipe import Recipe
from xattend.run import Run
from xattend.search.base import Search
from xattend.search.ensemble import Together
from xattend.search.prefix import Beginning
from xattend.search.repeats import Phrase
from xattend.stream import Tick, stream
from xattend.systems import System, assemble
from xattend.systems.copying import with_copies
from xattend.systems.seq2seq import Seq2Seq
from xattend.training.weights import from_bytes, put
from xattend.types import EOS, UNK, Batch, Padded, Prediction

NO_CHANCE = -1e8  # a log-probability below this stands for none at all, as of a text with more labels than a sound has frames
LARGE = 1 << 19  # weights of a layer that are worth laying out anew


class Score(NamedTuple):
    """What a model says of a given target: log-probability of the whole, and of each token, EOS last; -inf of what it cannot write at all."""

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
        self.others: list[Model] = []  # models that write together with this one
        self.prefix: list[int] = []  # tokens that every output begins with
        _lay_out(system)

    @staticmethod
    def load(path: str | Path, overrides: Iterable[str] = ()) -> Model:
        """Opens a run, on request with other settings (`search.length_penalty=0.6`). Damage is a UserError that names the file."""
        run = Run(path)
        run.verify()
        recipe = recipes.load(run.recipe, overrides).resolve()
        source, target = fields_of(run)
        if source is not None:
            source.settle(Places.of(recipe.data.folder, *places_of(run)))
        system = assemble(recipe, source, target)
        put(system, from_bytes(run.model.read_bytes(), run.model), run.model)
        return Model(recipe, source, target, system)

    def to_int8(self) -> Model:
        """This model with weights of 8 bits in its linear layers (layers/int8.py): faster on a CPU, a little less exact."""
        to_int8(self.system)
        return self

    def together(self, others: Iterable[Model]) -> Model:
        """This model and others as one, an ensemble: the mean of what they give each next token (search/ensemble.py)."""
        joined = copy(self)
        joined.others = [*self.others, *others]
        for other in joined.others:
            if (other.source is None) != (self.source is None):
                raise UserError("a model that reads a source and a language model cannot write together")
            if _vocabulary(other.target) != _vocabulary(self.target):
                raise UserError("models that write together must have one target vocabulary: train them on the same [data]")
        return joined

    def edited(self, *, prefix: str | Sequence[str] = (), rows: Mapping[int, Sequence[float]] | None = None, masked: Sequence[int] = ()) -> Model:
        """This model with forced beginnings, rows of attention given by step, and source positions never looked at (editing.py)."""
        return edit_model(self, prefix, rows or {}, masked)

    def here(self) -> Model:
        """This model for rows of the user's own: pictures that they name are looked for in the working folder first."""
        found = copy(self)
        found.source = None if self.source is None else self.source.here()
        found.others = [other.here() for other in self.others]
        return found

    def search(
        self, *, kind: str | None = None, beam: int | None = None, nbest: int | None = None, never: Iterable[str] = (), **more: Any
    ) -> Search:
        """The recipe's search with other settings: `beam=1` is greedy, a larger one beam search. Limits on length stay.

        kind    another kind of search, with those of the recipe's settings that it has, too
        never   phrases that no output may hold
        """
        own, given = self.recipe.part("search")
        if kind is None and beam is not None:
            if beam == 1 and (nbest or 1) == 1:
                kind = "greedy"
            elif "size" not in registry.settings(registry.find("search", own)):
                kind = "beam"
        kind = kind or own
        given |= {} if beam is None else {"size": beam}
        if kind != own or beam is not None:
            known = registry.settings(registry.find("search", kind))
            given = {key: value for key, value in given.items() if key in known}
        if nbest is not None and (nbest > 1 or "nbest" in given):
            given["nbest"] = nbest
        search: Search = registry.build("search", kind, **{**given, **more})
        search.writing(self.target)
        search = Beginning(search, self.prefix) if self.prefix else search
        phrases = [self.phrase(text) for text in never]
        return search.forbidding(phrases) if phrases else search

    def phrase(self, text: str) -> Phrase:
        """A phrase of the target side as tokens."""
        tokens = tuple(self.target.encode(text))
        if not tokens:
            raise UserError(f"'{text}' is no phrase: there is nothing in it")
        if UNK in tokens:
            raise UserError(f"the model cannot write '{text}': its target vocabulary has not all of it")
        return tokens

    @overload
    def predict(
        self, text: str, *, beam: int | None = None, nbest: int | None = None, attention: bool = False,
        must: Sequence[str] = (), never: Sequence[str] = (),
    ) -> Answer: ...  # fmt: skip

    @overload
    def predict(
        self, text: list[str], *, beam: int | None = None, nbest: int | None = None, attention: bool = False,
        must: Sequence[str] = (), never: Sequence[str] = (),
    ) -> list[Answer]: ...  # fmt: skip

    def predict(
        self, text: str | list[str], *, beam: int | None = None, nbest: int | None = None, attention: bool = False,
        must: Sequence[str] = (), never: Sequence[str] = (),
    ) -> Answer | list[Answer]:  # fmt: skip
        """One text, or many in their order. Every output holds the phrases in `must`, and none of `never`."""
        texts = [text] if isinstance(text, str) else text
        rows = [Row(one, None, "text", number) for number, one in enumerate(texts, 1)]
        search = self.search(kind="constrained" if must else None, beam=beam, nbest=nbest, never=never)
        found = list(self.here().predict_rows(rows, search, attention=attention, must=[must] * len(rows) if must else None))
        return found[0] if isinstance(text, str) else found

    def predict_rows(
        self, rows: Iterable[Row], search: Search, *, attention: bool = False, copy_unknown: bool = False,
        must: Iterable[Sequence[str]] | None = None, tick: Tick | None = None,
    ) -> Iterator[Answer]:  # fmt: skip
        """A stream of rows, answered in order. `copy_unknown` puts the source word looked at in place of <unk>.

        must   for each row phrases that its output must hold; the search must be of kind 'constrained'
        """
        looks = attention or copy_unknown

        def answer(of: list[Row], asked: list[Sequence[str]]) -> list[Answer]:
            phrases = [{text: self.phrase(text) for text in texts} for texts in asked]
            inner = search if must is None else search.requiring([list(one.values()) for one in phrases])
            joint = Together(inner, [partial(_predict, other, of, looks) for other in self.others])
            found = self.system.predict(self._batch(of), joint, attention=looks)
            if self.source is not None and self.source.media:
                found = [_of_media(one, row.source) for one, row in zip(found, of, strict=True)]
            if copy_unknown:
                found = [with_copies(one, row.source, self.source, self.target) for one, row in zip(found, of, strict=True)]
            return [answered(one, joint.found, wanted) for one, wanted in zip(found, phrases, strict=True)]

        return stream(zip(rows, repeat(())) if must is None else zip(rows, must, strict=True), answer, tick, self.extent)

    def score_rows(self, rows: Iterable[Row], *, tick: Tick | None = None) -> Iterator[Score]:
        """Log-probabilities of given targets."""

        def answer(of: list[Row], _: list[None]) -> list[Score]:
            batch = self._batch(of)
            assert batch.target is not None
            names = [list(self.system.terms) or self.target.symbols(ids[1:length]) for ids, length in _ids(batch.target)]
            logs = self.system.score(batch)
            if self.others:
                every = [logs, *[other.system.score(other._batch(of)) for other in self.others]]
                logs = [(np.logaddexp.reduce(each) - np.log(len(every))).tolist() for each in zip(*every, strict=True)]
            logs = [[one if one > NO_CHANCE else -math.inf for one in own] for own in logs]
            return [Score(sum(own), tokens, own) for own, tokens in zip(logs, names, strict=True)]

        return stream(zip(rows, repeat(None)), answer, tick, self.extent)

    def align_rows(self, rows: Iterable[Row], *, words: bool = True, heads: str | None = None, tick: Tick | None = None) -> Iterator[Aligned]:
        """Where each unit of a given target looked; `words` puts the units of a word together, `heads` names a layer or a head to go by."""
        self.must_look("aligning")
        if self.others:
            raise UserError("aligning takes one model, not an ensemble")
        if self.source is not None and self.source.media:
            raise UserError("aligning links words, and this model reads pictures: predict --attention shows where it looked")
        if isinstance(self.source, Story):
            raise UserError("aligning links words, and this model reads whole sentences: predict --attention shows which it looked at")

        def answer(of: list[Row], _: list[None]) -> list[Aligned]:
            batch = self._batch(of)
            assert batch.source is not None
            assert batch.target is not None
            found = []
            for weights_THS, (source, s), (target, t) in zip(
                self.system.align(batch), _ids(batch.source), _ids(batch.target), strict=True
            ):
                if weights_THS.shape[-1] != s:
                    raise UserError("aligning needs one memory position a source unit; this model's encoder has others")
                chosen = slice(None) if heads is None else meant(heads, head_names(*self.recipe.part("decoder"), weights_THS.shape[1]))
                weights_TS = weights_THS[:, chosen].float().mean(dim=1).numpy()
                found.append(self._aligned(source[:s], target[1:t], weights_TS, words))
            return found

        return stream(zip(rows, repeat(None)), answer, tick, self.extent)

    def look_rows(self, rows: Iterable[Row], *, tick: Tick | None = None) -> Iterator[tuple[np.ndarray[Any, Any], tuple[int, ...]]]:
        """Where each token of a given target looked, weights_TS, and how the places lie: for sources of any kind."""
        self.must_look("looking")
        assert isinstance(self.system, Seq2Seq)
        system = self.system

        def answer(of: list[Row], _: list[None]) -> list[tuple[np.ndarray[Any, Any], tuple[int, ...]]]:
            found, grid = system.look(self._batch(of))
            return [(weights_TS.float().numpy(), grid) for weights_TS in found]

        return stream(zip(rows, repeat(None)), answer, tick, self.extent)

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

    @torch.inference_mode()
    def summaries(self, texts: list[str]) -> np.ndarray[Any, Any]:
        """The vector that the encoder makes of each whole text: summaries_ND."""
        if not isinstance(self.system, Seq2Seq):
            raise UserError("sentence vectors need a model with an encoder")
        rows = [Row(text, None, "text", number) for number, text in enumerate(texts, 1)]
        return self.system.read(self.here()._batch(rows)).summary_BD.numpy()

    @property
    def looks(self) -> bool:
        """Whether the model looks at positions of its source."""
        kind = self.recipe.part("attention")[0] if "attention" in self.recipe.sections else None
        return self.system.looks or (kind is not None and not issubclass(registry.find("attention", kind), NoAttention))

    def must_look(self, what: str) -> None:
        """A UserError unless it does."""
        if not self.looks:
            system, attention = self.recipe.part("system")[0], "attention" in self.recipe.sections
            has = f"its attention '{self.recipe.part('attention')[0]}' looks nowhere" if attention else f"its system '{system}' has no attention to them"
            has = "it reads no source" if self.source is None else has
            raise UserError(f"{what} needs a model that looks at source positions, and {has}")

    @property
    def extent(self) -> Callable[[str], int]:
        """How long a source is, in the measure of its field."""
        return len if self.source is None else self.source.extent

    def _batch(self, rows: list[Row]) -> Batch:
        return encode_rows((self.source, self.target), rows)


def _predict(model: Model, rows: list[Row], attention: bool, search: Search) -> None:
    """A member of an ensemble reads the rows in its own way and hands its decoder to `search`."""
    model.system.predict(model._batch(rows), search, attention=attention)


def _of_media(found: Prediction, name: str) -> Prediction:
    """The prediction, its trace telling what was looked at."""
    return found if found.trace is None else replace(found, trace=replace(found.trace, media=name))


def _vocabulary(target: Field) -> dict[str, Any]:
    """All that says what a target token means; how the vocabulary was cut to size does not."""
    described, unsaid = target.to_json(), ("size", "min_count", "eos", "max_length", "share")
    return {**described, "settings": {key: value for key, value in described["settings"].items() if key not in unsaid}}


def _lay_out(system: nn.Module) -> None:
    """Large layers' weights column by column in memory: a product with a single row is then twice as fast.

    A layer that shares its weights with a lookup table stays as it is: looking up needs rows.
    """
    tables = {module.weight.data_ptr() for module in system.modules() if isinstance(module, nn.Embedding)}
    for module in system.modules():
        if type(module) is nn.Linear and module.weight.numel() >= LARGE and module.weight.data_ptr() not in tables:
            module.weight.data = module.weight.data.t().contiguous().t()


def _names(field: Field, ids: list[int], words: list[int]) -> list[str]:
    """The text of each word."""
    return [field.decode([id for id, w in zip(ids, words, strict=True) if w == word]) for word in range(max(words, default=-1) + 1)]


def _ids(padded: Padded) -> Iterator[tuple[list[int], int]]:
    """The ids of each row, padding included, and how many of them are real."""
    return zip(padded.values.tolist(), padded.lengths_B.tolist(), strict=True)
