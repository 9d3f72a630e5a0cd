"""Where the hops of a memory network looked, for the terminal: a line a sentence, a column a hop; a star marks what a hop looked at most.

>>> trace = Trace(["ada fell", "boris sat"], ["ada", "</s>"], np.array([[[0.9, 0.1], [0.4, 0.6]], [[0, 0], [0, 0]]], dtype=np.float32), (2,), kind="memory", heads=["hop 1", "hop 2"])
>>> print(listed(trace))
 hop 1  hop 2
 0.90*  0.40    1  ada fell
 0.10   0.60*   2  boris sat

Only the answer's step is shown; the end mark looks nowhere. Sentences of a long story that no hop looked at are counted instead.

Shape suffixes: T steps, H hops, S sentences.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xattend.report.matrix import label
from xattend.types import Trace

LONG = 20  # sentences of a story that are all shown
FAINT = 0.01  # weights below it are not worth a line of a longer one


def listed(trace: Trace) -> str:
    """The sentences as lines."""
    looks_HS = trace.weights_THS[0] if len(trace.weights_THS) else np.zeros((len(trace.heads), len(trace.source_tokens)), np.float32)
    names = trace.heads or [f"head {number + 1}" for number in range(len(looks_HS))]
    most = [int(look_S.argmax()) if look_S.any() else -1 for look_S in looks_HS]
    lines, left_out = ["".join(f" {name:<6}" for name in names).rstrip()], 0
    for place, sentence in enumerate(trace.source_tokens):
        seen_H = looks_HS[:, place]
        if len(trace.source_tokens) > LONG and not (abs(seen_H) >= FAINT).any():
            left_out += 1
            continue
        shown = "".join(f" {weight:4.2f}{'*' if most[hop] == place else ' '} " for hop, weight in enumerate(seen_H.tolist()))
        words = " ".join(label(word) for word in sentence.split())
        lines.append(f"{shown} {place + 1:>2}  {words}")
    if left_out:
        lines.append(f"{left_out} of {len(trace.source_tokens)} sentences have a weight below {FAINT} at every hop")
    return "\n".join(lines)


def by_hop(trace: Trace) -> Trace:
    """The answer's step alone, as a matrix of hops and sentences: for figures."""
    return replace(trace, target_tokens=list(trace.heads), weights_THS=trace.weights_THS[0][:, None], heads=[])
