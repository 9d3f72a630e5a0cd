"""From hypotheses to predictions, and from a forced target to its score: what systems that write tokens share.

Shapes: B batch, S source positions, T target steps, H heads, V vocabulary.
"""

from __future__ import annotations

import itertools

import numpy as np
from torch import Tensor

from xattend.data.fields.base import Field
from xattend.types import EOS, Hypothesis, Padded, Prediction, Trace


def prediction(hypotheses: list[Hypothesis], target: Field, source_tokens: list[str], grid: tuple[int, ...]) -> Prediction:
    """The n-best of one row, best first, as a prediction; it has a trace if the search kept the weights."""
    best = hypotheses[0]
    trace = None
    if best.weights_THS is not None:
        written = [*best.tokens, EOS] if best.finished else best.tokens
        cut = max(0, len(source_tokens) - best.weights_THS.shape[2])  # places of a picture that are left out, behind the last that is not
        weights_THS = np.pad(best.weights_THS[:, :, : len(source_tokens)], ((0, 0), (0, 0), (0, cut)))
        trace = Trace(source_tokens, target.symbols(written), weights_THS, grid)
    return Prediction(
        text=target.decode(best.tokens), tokens=target.symbols(best.tokens), score=best.score, logprob=best.logprob,
        nbest=[(target.decode(one.tokens), one.score) for one in hypotheses], trace=trace, hypothesis=best,
        finished=best.finished,
    )  # fmt: skip


def places(grid: tuple[int, ...]) -> list[str]:
    """What to call the positions of a memory that is no text: their coordinates.

    >>> places((2, 2))
    ['0,0', '0,1', '1,0', '1,1']
    """
    return [",".join(map(str, place)) for place in itertools.product(*(range(size) for size in grid))]


def heard(names: list[str] | None, positions: int) -> list[str]:
    """What to call the positions of a row whose encoder may have more or fewer than there are units: by the units that lie there.

    >>> heard(["a", "b"], 4), heard(None, 2)
    (['a', 'a', 'b', 'b'], ['0', '1'])
    """
    return places((positions,)) if names is None else [names[min(at * len(names) // positions, len(names) - 1)] for at in range(positions)]


def token_scores(logits_BTV: Tensor, target: Padded) -> list[list[float]]:
    """Log-probability of each token of each target, EOS included."""
    logs_BTV = logits_BTV.float().log_softmax(dim=-1)
    picked_BT = logs_BTV.gather(2, target.values[:, 1:, None]).squeeze(2)
    lengths = (target.lengths_B - 1).tolist()
    return [row[:length] for row, length in zip(picked_BT.tolist(), lengths, strict=True)]
