"""Unknown words, copied from the source through attention (Luong et al. 2015, section 4.3; Jean et al. 2015).

An output <unk> is replaced by the source unit its step looked at most, end mark excluded: names pass through.
"""

from __future__ import annotations

from dataclasses import replace

from xattend.data.fields.base import Field
from xattend.data.fields.text import Text
from xattend.errors import UserError
from xattend.types import UNK, Prediction


def with_copies(found: Prediction, source_text: str, source: Field | None, target: Field) -> Prediction:
    """The prediction with every <unk> copied; `text` and `tokens` change, scores stay the model's own."""
    hypothesis = found.hypothesis
    if hypothesis is None or UNK not in hypothesis.tokens:
        return found
    if not isinstance(source, Text) or not isinstance(target, Text):
        raise UserError("copying unknown words needs text on both sides")
    assert found.trace is not None
    pieces = source.pieces(source_text)
    weights_TS = found.attention[:, : len(pieces)]
    if not weights_TS.any():
        raise UserError("copying unknown words needs an attention that looks at positions; this model's looks nowhere")
    tokens = [
        pieces[int(weights_TS[t].argmax())] if id == UNK else symbol
        for t, (id, symbol) in enumerate(zip(hypothesis.tokens, found.tokens, strict=True))
    ]
    return replace(found, text=target.join(tokens), tokens=tokens)
