"""A model with a hand on it: how its outputs begin, where single steps look, what is out of its sight; and its attention in three ways.

    model.edited(prefix="I am", rows={2: [0, 0, 1, 1, 0, 0]}, masked=[1]).predict("Main ghar ja raha hoon")

prefix   tokens that every output begins with: a text, or single tokens as a trace names them
rows     step -> weights over the source positions (the end mark is one of them), in place of the model's own (attention/edited.py)
masked   source positions that are never looked at

The model itself stays as it is. Steps and positions are counted from 0. `modes` reads one output again with the same weights used in
three ways: their mean, one place drawn from them, the likeliest place.

Shapes: T target steps, H heads, S source positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch

from xattend.attention.edited import Edit, edited
from xattend.data.fields.base import Field
from xattend.data.readers.base import Row
from xattend.decoders.base import Decoder
from xattend.errors import UserError
from xattend.systems.base import System
from xattend.systems.seq2seq import Seq2Seq
from xattend.types import BOS, EOS, SPECIALS, UNK, Hypothesis

if TYPE_CHECKING:
    from xattend.model import Model

MODES: tuple[Literal["soft", "sampled", "argmax"], ...] = ("soft", "sampled", "argmax")


class Mode(NamedTuple):
    """One output, read in one way: where each step looked, and the log-probability of each token."""

    weights_THS: np.ndarray[Any, np.dtype[np.float32]]
    logprobs: list[float]


def edit_model(model: Model, prefix: str | Sequence[str], rows: Mapping[int, Sequence[float]], masked: Sequence[int]) -> Model:
    """See `Model.edited`."""
    if model.others:
        raise UserError("editing takes one model, not an ensemble")
    found = copy(model)
    if rows or masked:
        model.must_look("editing attention")
        found.system = _with_decoder(model.system, edited(_decoder(model), Edit(dict(rows), list(masked))))
    if prefix:
        found.prefix = tokens_of(model.target, prefix)
    return found


def tokens_of(target: Field, prefix: str | Sequence[str]) -> list[int]:
    """The ids of a text, or of tokens by their names; what is no token's name is read as text.

    >>> from xattend.data.fields.text import Text
    >>> field = Text(unit="word")
    >>> field.fit(["I am going home"])
    >>> [field.symbols(tokens_of(field, given)) for given in ("I am", ["I", "am going"])]
    [['I', 'am'], ['I', 'am', 'going']]
    """
    if isinstance(prefix, str):
        parts = [target.encode(prefix)]
    else:
        names = target.symbols(range(target.space.symbols()))
        known = {name: id for id, name in reversed(list(enumerate(names)))}  # of equal names the more frequent token's
        known = {name: id for name, id in known.items() if name not in SPECIALS or id == UNK}
        parts = [[known[name]] if name in known else target.encode(name) for name in prefix]
        for name, ids in zip(prefix, parts, strict=True):
            if UNK in ids and name != SPECIALS[UNK]:
                raise UserError(f"the output cannot begin with '{name}': the model's target vocabulary has not all of it")
    if isinstance(prefix, str) and UNK in parts[0]:
        raise UserError(f"the output cannot begin with '{prefix}': the model's target vocabulary has not all of it")
    return [id for ids in parts for id in ids]


def modes(model: Model, text: str, written: Hypothesis, *, seed: int = 0) -> dict[str, Mode]:
    """What the model says of its own output if each context is the mean, one drawn place, or the likeliest place."""
    model.must_look("attention in three ways")
    if not isinstance(model.system, Seq2Seq):
        raise UserError("attention in three ways needs a model that reads a source")
    with torch.inference_mode():
        memory = model.system.read(model.here()._batch([Row(text, None, "text", 1)]))
        found = {}
        for context in MODES:
            decoder = edited(_decoder(model), Edit(context=context, seed=seed))
            state, seen, logprobs = decoder.start(memory), [], []
            for read, token in zip([BOS, *written.tokens], [*written.tokens, *[EOS] * written.finished]):
                step = decoder.step(torch.tensor([read]), state)
                state = step.state
                seen.append(step.looked()[0].float())
                logprobs.append(float(step.logits_BV[0].float().log_softmax(dim=-1)[token]))
            weights_THS = torch.stack(seen).numpy() if seen else np.zeros((0, 0, memory.mask_BS.shape[1]), dtype=np.float32)
            found[str(context)] = Mode(weights_THS, logprobs)
    return found


def _decoder(model: Model) -> Decoder:
    decoder = model.system.get_submodule("decoder")
    assert isinstance(decoder, Decoder)
    return decoder


def _with_decoder(system: System, decoder: Decoder) -> System:
    """The system with another decoder; all else is shared."""
    found = copy(system)
    found._modules = {**system._modules, "decoder": decoder}
    return found
