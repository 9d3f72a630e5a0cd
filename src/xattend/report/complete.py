"""A trace with all that a viewer shows: texts, probabilities, names of the heads, picture or sound, the n-best. The model knows them.

Steps of a trace are words of the output, but for models that look or move between words: looks through windows (kinds `glimpse` and
`canvas`), steps of a machine. Their probabilities stand in the n-best alone. What is too large for a page is cut, and said to be (bounds.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from xattend.alignment.heads import head_names
from xattend.answer import Answer
from xattend.data.fields.base import Field
from xattend.data.fields.media import Media
from xattend.data.fields.sound import Sound
from xattend.data.sounds import Samples
from xattend.model import Model
from xattend.report.bounds import bounded
from xattend.report.strokes import lines
from xattend.search.base import Search
from xattend.types import EOS, Hypothesis, Trace

BETWEEN = ("glimpse", "canvas", "machine")  # kinds whose steps are no words of the output


def has_trace(model: Model) -> bool:
    """Whether its answers have a trace: it looks somewhere, or what it makes is no text."""
    return model.looks or model.system.glimpses or not model.system.writes


def complete(model: Model, found: Answer, text: str, search: Search | None = None) -> Trace:
    """The trace of an answer to `text`. A model that looks nowhere, or that was not asked to, gives one without weights."""
    best = found.hypothesis
    written = [*found.tokens, *model.target.symbols([EOS] * found.finished)]
    trace = found.trace or Trace([], written, np.zeros((len(written), 0, 0), dtype=np.float32), (0,))
    decoder, settings = model.recipe.part("decoder") if "decoder" in model.recipe.sections else ("", {})
    logprobs = list(best.token_logprobs) if best and trace.kind not in (*BETWEEN, "strokes") else []
    heads = trace.heads or head_names(decoder, settings, trace.weights_THS.shape[1])
    trace = replace(
        trace, source_text=text, target_text=found.text, logprobs=logprobs, heads=heads,
        nbest=[_listed(one, model.target) for one in found.hypotheses], search=settings_of(search) if search else {},
    )  # fmt: skip
    if trace.points_T3 is not None:  # a thousand points are no text to read, and their log-densities no probabilities
        cut = "" if found.finished else ", cut by the limit on points"
        said = f"{len(trace.points_T3):,} points, {len(lines(trace.points_T3)):,} strokes{cut}"
        trace = replace(trace, target_text=said, nbest=[])
    return bounded(_seen(model, trace, text))


def _seen(model: Model, trace: Trace, text: str) -> Trace:
    """With what the model saw or heard."""
    if isinstance(model.source, Sound):
        samples_N = _heard(model.source, text)
        rate = None if samples_N is None else model.source.rate
        pixels, seconds = model.source.shown(text), model.source.seconds(text)
        return replace(trace, kind="sound", pixels=pixels, seconds=seconds, samples_N=samples_N, rate=rate)
    if not isinstance(model.source, Media):
        return trace
    pixels = model.source.shown(text)
    if trace.kind == "canvas":
        return replace(trace, seen=pixels)
    kind = trace.kind if trace.kind != "text" else "picture" if pixels.ndim == 3 else "film"
    return replace(trace, kind=kind, pixels=pixels)


def _heard(source: Sound, text: str) -> Samples | None:
    """The sound itself; of features that were computed elsewhere there is none."""
    return None if source.features == "given" else source.samples(source.look(text))


def settings_of(search: Search) -> dict[str, Any]:
    """The kind of a search and those of its settings that are plain numbers and words."""
    plain = {key: value for key, value in vars(search).items() if isinstance(value, (bool, int, float, str)) and not key.startswith("_")}
    return {"kind": getattr(type(search), "registered_name", type(search).__name__.lower()), **plain}


def _listed(one: Hypothesis, target: Field) -> dict[str, Any]:
    return {
        "text": target.decode(one.tokens), "score": one.score, "logprob": one.logprob,
        "tokens": target.symbols([*one.tokens, *[EOS] * one.finished]), "logprobs": list(one.token_logprobs),
    }  # fmt: skip
