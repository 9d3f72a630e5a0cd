"""A trace with all that a viewer shows: texts, probabilities, names of the heads, the picture, the n-best. The model knows them.

>>> head_names("transformer", {"layers": 2}, 4)
['layer 1, head 1', 'layer 1, head 2', 'layer 2, head 1', 'layer 2, head 2']
>>> head_names("hops", {"hops": 2}, 2), head_names("rnn", {}, 1)
(['hop 1', 'hop 2'], ['attention'])
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from xattend.answer import Answer
from xattend.data.fields.base import Field
from xattend.data.fields.media import Media
from xattend.data.fields.sound import Sound
from xattend.model import Model
from xattend.search.base import Search
from xattend.types import EOS, Hypothesis, Trace


def complete(model: Model, found: Answer, text: str, search: Search | None = None) -> Trace:
    """The trace of an answer to `text`. A model that looks nowhere, or that was not asked to, gives one without weights."""
    best = found.hypothesis
    written = [*found.tokens, *model.target.symbols([EOS] * found.finished)]
    trace = found.trace or Trace([], written, np.zeros((len(written), 0, 0), dtype=np.float32), (0,))
    decoder, settings = model.recipe.part("decoder") if "decoder" in model.recipe.sections else ("", {})
    pixels = model.source.shown(text) if isinstance(model.source, Media) else None
    kind = "text" if pixels is None else "picture" if pixels.ndim == 3 else "film"
    seconds = model.source.seconds(text) if isinstance(model.source, Sound) else None
    kind = "sound" if seconds is not None else "memory" if trace.kind == "memory" else kind
    return replace(
        trace, kind=kind, source_text=text, target_text=found.text, logprobs=list(best.token_logprobs) if best else [],
        heads=trace.heads or head_names(decoder, settings, trace.weights_THS.shape[1]), pixels=pixels, seconds=seconds,
        nbest=[_listed(one, model.target) for one in found.hypotheses], search=settings_of(search) if search else {},
    )  # fmt: skip


def head_names(decoder: str, settings: dict[str, Any], heads: int) -> list[str]:
    """What the heads of a decoder are called: those of all layers, or of all looks, stand one after the other."""
    part, parts = {"transformer": ("layer", "layers"), "hops": ("hop", "hops")}.get(decoder, ("", ""))
    count = int(settings.get(parts, 1)) if part else 1
    each = heads // count if count and heads % count == 0 else 0
    if not part or each == 0 or (count == 1 and each == 1):
        return ["attention"] if heads == 1 else [f"head {head + 1}" for head in range(heads)]
    if each == 1:
        return [f"{part} {number + 1}" for number in range(count)]
    return [f"{part} {number + 1}, head {head + 1}" for number in range(count) for head in range(each)]


def settings_of(search: Search) -> dict[str, Any]:
    """The kind of a search and those of its settings that are plain numbers and words."""
    plain = {key: value for key, value in vars(search).items() if isinstance(value, (bool, int, float, str)) and not key.startswith("_")}
    return {"kind": getattr(type(search), "registered_name", type(search).__name__.lower()), **plain}


def _listed(one: Hypothesis, target: Field) -> dict[str, Any]:
    return {
        "text": target.decode(one.tokens), "score": one.score, "logprob": one.logprob,
        "tokens": target.symbols([*one.tokens, *[EOS] * one.finished]), "logprobs": list(one.token_logprobs),
    }  # fmt: skip
