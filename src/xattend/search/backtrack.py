"""From a beam's back-pointers to whole hypotheses, once, at the end of the search.

At step t the beam kept, for each sentence still in the batch, K tokens and which of the K hypotheses before each one
extends. A hypothesis is therefore a node (t, k): "the t tokens that lead to slot k before step t". Following parents
from there gives its tokens backwards; all hypotheses of the batch are followed at the same time.

Shape suffixes: B sentences of the batch, N those in the batch at one step, K beams, F hypotheses, H heads, S source.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from xattend.search.limits import Array, real_width
from xattend.types import Hypothesis


@dataclass
class Frame:
    """What one step of a beam kept. `row_of_B` says where a sentence stands among the N (-1: it had left)."""

    row_of_B: Array
    token_NK: Array
    parent_NK: Array
    logprob_NK: Array
    weights_NKHS: Array | None  # of the K hypotheses before the step, so it goes by parent


@dataclass
class Ends:
    """Nodes to trace back from, one a hypothesis; `last_F` is the log-probability of EOS (0 if it did not end)."""

    sentence_F: Array
    step_F: Array
    beam_F: Array
    score_F: Array
    logprob_F: Array
    last_F: Array
    finished_F: Array


@dataclass
class History:
    """The frames of one search."""

    frames: list[Frame] = field(default_factory=list)

    def hypotheses(self, ends: Ends, mask_BS: Array) -> list[list[Hypothesis]]:
        """For each sentence its hypotheses, in the order of `ends`."""
        count, longest = len(ends.step_F), int(ends.step_F.max())
        tokens_FT = np.zeros((count, longest + 1), dtype=np.int64)
        logprobs_FT = np.zeros((count, longest + 1), dtype=np.float32)
        logprobs_FT[np.arange(count), ends.step_F] = ends.last_F
        seen = self.frames[0].weights_NKHS
        weights_FTHS = None if seen is None else np.zeros((count, longest + 1, *seen.shape[2:]), dtype=np.float32)
        beam_F = ends.beam_F.copy()
        for step in range(longest, -1, -1):
            frame = self.frames[step]
            if weights_FTHS is not None and frame.weights_NKHS is not None:
                at = np.flatnonzero(ends.finished_F & (ends.step_F == step))  # the step that wrote EOS
                weights_FTHS[at, step] = frame.weights_NKHS[frame.row_of_B[ends.sentence_F[at]], beam_F[at]]
            on = np.flatnonzero(ends.step_F > step)
            row, beam = frame.row_of_B[ends.sentence_F[on]], beam_F[on]
            tokens_FT[on, step] = frame.token_NK[row, beam]
            logprobs_FT[on, step] = frame.logprob_NK[row, beam]
            beam_F[on] = frame.parent_NK[row, beam]
            if weights_FTHS is not None and frame.weights_NKHS is not None:
                weights_FTHS[on, step] = frame.weights_NKHS[row, beam_F[on]]
        found: list[list[Hypothesis]] = [[] for _ in range(len(mask_BS))]
        for f in range(count):
            length, done, sentence = int(ends.step_F[f]), bool(ends.finished_F[f]), int(ends.sentence_F[f])
            found[sentence].append(
                Hypothesis(
                    tokens_FT[f, :length].tolist(), float(ends.score_F[f]), float(ends.logprob_F[f]),
                    logprobs_FT[f, : length + done].tolist(), done,
                    None if weights_FTHS is None else real_width(mask_BS[sentence], weights_FTHS[f, : length + done]),
                )
            )  # fmt: skip
        return found
