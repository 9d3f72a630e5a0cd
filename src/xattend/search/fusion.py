"""A language model beside the model: shallow fusion (Chan et al. 2016; Graves and Jaitly 2014 for CTC). Any search, any system.

    score(k) = log p(k | before, x) + weight log q(k | before)

q is a run of system `language-model` on the same target side; with `order` it is an n-gram model of that run's training rows instead (ngram.py).
`n-best` and length penalties are those of the inner search. The probability that the sum leaves over is nobody's: it is given to padding, which is
never written, so that scores are not normalised anew.

    [search]
    kind = "fusion"
    language_model = "runs/lm"
    weight = 0.3
    inner = { kind = "beam", size = 8 }

>>> a, b = 4, 5
>>> ngram = NGramSteps(KneserNey([[2, a, b, 3], [2, a, a, 3]], vocabulary=6, order=2))
>>> step = ngram.step(torch.tensor([2]), ngram.start(Memory.empty(1, torch.zeros(0))))
>>> int(step.logits_BV.argmax())  # every row began with a
4

Shape suffixes: N rows at one step, V vocabulary, O tokens before.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch
from pydantic import Field as Bounds
from torch import Tensor

from xattend import registry
from xattend.errors import UserError
from xattend.ngram import KneserNey
from xattend.registry import Named, register
from xattend.search.base import Search, Steps
from xattend.search.repeats import Phrase
from xattend.types import PAD, UNK, Hypothesis, Memory, State, Step

if TYPE_CHECKING:
    from xattend.data.fields.base import Field

NOBODY = -1  # stands before the first token


class Plain:
    """A decoder that gives log-probabilities."""

    def __init__(self, decoder: Steps) -> None:
        self.decoder = decoder

    def start(self, memory: Memory) -> State:
        return self.decoder.start(memory)

    def step(self, token_B: Tensor, state: State) -> Step:
        step = self.decoder.step(token_B, state)
        return step._replace(logits_BV=step.logits_BV.float().log_softmax(dim=-1))


class NGramSteps:
    """An n-gram model as a decoder that looks at nothing. What it says of a context is kept."""

    def __init__(self, model: KneserNey) -> None:
        self.model = model
        self._known: dict[tuple[int, ...], Tensor] = {}

    def start(self, memory: Memory) -> State:
        return State((), (torch.full((len(memory.mask_BS), max(1, self.model.order - 1)), NOBODY),))

    def step(self, token_B: Tensor, state: State) -> Step:
        before_NO = torch.cat([state.moving[0][:, 1:], token_B[:, None]], dim=1)
        logits_NV = torch.stack([self._after(tuple(row)) for row in before_NO.tolist()])
        return Step(logits_NV, state.then((before_NO,)), None)

    def _after(self, before: tuple[int, ...]) -> Tensor:
        if before not in self._known:
            p_V = self.model.distribution([token for token in before if token != NOBODY])
            self._known[before] = torch.from_numpy(np.log(np.maximum(p_V, 1e-30))).float()
        return self._known[before]


class Renamed:
    """A language model whose vocabulary has another order; what it does not know is its unknown unit. theirs_V: its id of each of ours."""

    def __init__(self, language: Steps, theirs_V: Tensor) -> None:
        self.language, self.theirs_V = language, theirs_V

    def start(self, memory: Memory) -> State:
        return self.language.start(memory)

    def step(self, token_B: Tensor, state: State) -> Step:
        step = self.language.step(self.theirs_V[token_B], state)
        return step._replace(logits_BV=step.logits_BV[:, self.theirs_V])


class Fused:
    """A decoder and a language model as one decoder."""

    def __init__(self, decoder: Steps, language: Steps, weight: float) -> None:
        self.decoder, self.language, self.weight = decoder, language, weight

    def start(self, memory: Memory) -> State:
        own = self.decoder.start(memory)
        other = self.language.start(Memory.empty(len(memory.mask_BS), memory.summary_BD))
        return State((own.source, other.source), (own.moving, other.moving))

    def step(self, token_B: Tensor, state: State) -> Step:
        own = self.decoder.step(token_B, State(state.source[0], state.moving[0], looks=state.looks))
        other = self.language.step(token_B, State(state.source[1], state.moving[1], looks=False))
        if own.logits_BV.shape != other.logits_BV.shape:
            sizes = own.logits_BV.shape[1], other.logits_BV.shape[1]
            raise UserError(f"the language model writes {sizes[1]} units and the model {sizes[0]}: train both on the same target side")
        scores_NV = own.logits_BV.float().log_softmax(dim=-1) + self.weight * other.logits_BV.float().clamp(min=-1e4)
        scores_NV[:, PAD] = -torch.inf
        used_N = torch.logsumexp(scores_NV.double(), dim=-1).clamp(max=-1e-12)
        scores_NV[:, PAD] = torch.log(-torch.expm1(used_N)).float()
        return Step(scores_NV, state.then((own.state.moving, other.state.moving)), own.weights_BHS)


@register("search", "fusion")
class Fusion(Search):
    """Another search, over a model and a language model together."""

    def __init__(
        self, *,
        language_model: Annotated[str | None, "run of a language model with the same target side"] = None,
        weight: Annotated[float, Bounds(ge=0), "of its log-probabilities"] = 0.3,
        order: Annotated[int | None, Bounds(ge=1), "an n-gram model of this order, of that run's training rows, instead of the run itself"] = None,
        inner: Annotated[str | dict[str, Any], Named("search"), "the search"] = "beam",
    ) -> None:  # fmt: skip
        self.language_model, self.weight, self.order = language_model, weight, order
        self.inner: Search = registry.build_named("search", inner)
        self.limits = self.inner.limits
        self._language: Steps | None = None
        self._target: Field | None = None

    def writing(self, target: Field) -> None:
        self._target = target

    def _run(self) -> str:
        if self.language_model is None:
            raise UserError("search 'fusion' needs a language model: set search.language_model to a run of one")
        return self.language_model

    @property
    def language(self) -> Steps:
        """Opened when first used."""
        if self._language is None:
            from xattend.model import Model
            from xattend.systems.language_model import LanguageModel

            model = Model.load(self._run())
            system = model.system
            if not isinstance(system, LanguageModel):
                raise UserError(f"search.language_model: {self.language_model} is no language model (system.kind = \"language-model\")")
            asked: Steps = Plain(system.decoder) if self.order is None else NGramSteps(self._counted(self.order))
            self._language = asked if self._target is None else Renamed(asked, self._theirs(model.target, self._target))
        return self._language

    def _theirs(self, theirs: Field, ours: Field) -> Tensor:
        known = {symbol: id for id, symbol in enumerate(theirs.symbols(range(theirs.space.symbols())))}
        symbols = ours.symbols(range(ours.space.symbols()))
        found = [known.get(symbol, UNK) for symbol in symbols]
        if found.count(UNK) > 1 + len(found) // 2:
            raise UserError(f"search.language_model: {self.language_model} knows few of the units that are written: train it on the same target side")
        return torch.tensor(found)

    def _counted(self, order: int) -> KneserNey:
        from xattend import job

        _, _, data = job.reopen(self._run())
        train = data.splits["train"]
        return KneserNey((train.ids["target"][row] for row in range(len(train))), vocabulary=data.target.space.symbols(), order=order)

    def search(
        self, decoder: Steps, memory: Memory, *, prefix: list[list[int]] | None = None, attention: bool = False
    ) -> list[list[Hypothesis]]:
        return self.inner.search(Fused(decoder, self.language, self.weight), memory, prefix=prefix, attention=attention)

    def forbidding(self, phrases: Sequence[Phrase]) -> Fusion:
        other = copy(self)
        other.inner = self.inner.forbidding(phrases)
        other.limits = other.inner.limits
        return other
