"""What crosses from one room to another, and nothing else.

Shape suffixes: B batch, S source positions, T target steps, D width, H heads, V vocabulary, K beams, N = B x K.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from xattend import tree
from xattend.errors import UserError
from xattend.tree import Tree

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")


@dataclass(frozen=True)
class Space:
    """What a field's values look like: symbols of a vocabulary, or arrays. Encoders and decoders are sized by it.

    vocabulary   how many symbols there are
    features     the shape of what stands at one position: (channels, height, width) of a frame, (width,) of a feature vector
    grid         how the positions lie if that is fixed, (h, w) for a picture's features
    beside       what comes with it: the question that is asked about a picture
    """

    vocabulary: int | None = None
    features: tuple[int, ...] | None = None
    grid: tuple[int, ...] | None = None
    beside: Space | None = None

    def symbols(self) -> int:
        """The vocabulary's size, for parts that read symbols."""
        if self.vocabulary is None:
            raise UserError("this part reads symbols, and the field gives pictures or vectors: choose another encoder")
        return self.vocabulary

    def frames(self) -> tuple[int, int, int]:
        """Channels, height and width, for parts that read pictures."""
        if self.features is None or len(self.features) != 3:
            raise UserError("this part reads pictures, and the field gives something else: choose another encoder")
        return self.features[0], self.features[1], self.features[2]

    def vector(self) -> int:
        """The width of a position's vector, for parts that read vectors."""
        if self.features is None or len(self.features) != 1:
            raise UserError("this part reads feature vectors, and the field gives something else: choose another encoder")
        return self.features[0]


def first_of(names: Sequence[Hashable]) -> Tensor:
    """For each row the number of the first with the same name.

    >>> first_of("abca").tolist()
    [0, 1, 2, 0]
    """
    first: dict[Hashable, int] = {}
    return torch.tensor([first.setdefault(name, row) for row, name in enumerate(names)])


class Padded(NamedTuple):
    """One field of a batch: ids `values_BS`, or arrays `[B, S, *features]`, and which positions are real.

    A picture is one position of shape (channels, height, width), a film is many; features of a picture are one position a cell.
    """

    values: Tensor
    mask_BS: Tensor
    beside: Padded | None = None  # what comes with it: the question that is asked about a picture
    first_B: Tensor | None = None  # for each row the first that has the very same values; None: nobody compared them

    @property
    def lengths_B(self) -> Tensor:
        return self.mask_BS.sum(dim=1)

    def picture(self) -> Tensor:
        """values_BCHW of sources that are one picture each. A film is not cut to its first frame."""
        if self.values.shape[1] != 1:
            raise UserError(f"this system reads one picture a row, and these are films of {self.values.shape[1]} frames: choose an encoder of films, or data.source.kind = \"image\"")
        return self.values[:, 0]


@dataclass(frozen=True)
class Batch:
    """A few rows of data. `target` starts with BOS and ends with EOS; `rows` are the row numbers in their split."""

    source: Padded | None
    target: Padded | None
    rows: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, keep: slice) -> Batch:
        """Some of the rows, with padding that became useless cut off: one process's share, one micro-batch."""

        def cut(padded: Padded | None) -> Padded | None:
            if padded is None:
                return None
            mask_BS = padded.mask_BS[keep]
            width = int(mask_BS.sum(dim=1).max()) if len(mask_BS) else 0
            first_B = None if padded.first_B is None else first_of(padded.first_B[keep].tolist())
            return Padded(padded.values[keep][:, :width], mask_BS[:, :width], cut(padded.beside), first_B)

        return Batch(cut(self.source), cut(self.target), self.rows[keep])

    def again(self, times: int) -> Batch:
        """All rows so many times, one copy after the other. Copies are not marked as the same: each is to be read by itself."""

        def copied(padded: Padded | None) -> Padded | None:
            if padded is None:
                return None
            return Padded(torch.cat([padded.values] * times), padded.mask_BS.repeat(times, 1), copied(padded.beside))

        return Batch(copied(self.source), copied(self.target), self.rows * times)


@dataclass(frozen=True)
class Memory:
    """What an encoder wrote and an attention reads.

    states_BSD   one vector a source position
    mask_BS      True = real position
    summary_BD   the fixed context: one vector a sequence, as wide as a state
    grid         how the S positions lie: (S,) text or sound, (h, w) picture, (t, h, w) video, (slots,) memory
    carry        final states of a recurrent encoder's layers, for a decoder that starts from them (batch-first tree)
    given_BTS    weights set from outside, for oracle attention
    source_B     rows with the same number have the same source; None: nobody compared them
    """

    states_BSD: Tensor
    mask_BS: Tensor
    summary_BD: Tensor
    grid: tuple[int, ...] = ()
    carry: Tree = None
    given_BTS: Tensor | None = None
    source_B: Tensor | None = None

    @staticmethod
    def empty(batch: int, like: Tensor) -> Memory:
        """Nothing to look at: what a language model's decoder starts from."""
        return Memory(
            like.new_zeros(batch, 0, 0), torch.zeros(batch, 0, dtype=torch.bool, device=like.device),
            like.new_zeros(batch, 0), (0,),
        )  # fmt: skip

    @staticmethod
    def join(memories: list[Memory]) -> Memory:
        """Several encoders' memories side by side: one attention over all positions, the mean of the summaries."""
        return Memory(
            torch.cat([m.states_BSD for m in memories], dim=1), torch.cat([m.mask_BS for m in memories], dim=1),
            torch.stack([m.summary_BD for m in memories]).mean(dim=0), (sum(m.states_BSD.shape[1] for m in memories),),
        )  # fmt: skip

    def take(self, rows_N: Tensor) -> Memory:
        """Some of the sequences, in the order given."""
        return replace(
            self, states_BSD=self.states_BSD[rows_N], mask_BS=self.mask_BS[rows_N], summary_BD=self.summary_BD[rows_N],
            carry=tree.take(self.carry, rows_N), given_BTS=None if self.given_BTS is None else self.given_BTS[rows_N],
            source_B=None if self.source_B is None else self.source_B[rows_N],
        )  # fmt: skip


@dataclass(frozen=True)
class State:
    """A decoder's state between two steps, in two halves so that a beam moves only what a step changes.

    source   the same for every hypothesis of one sentence: projected keys, values, mask
    moving   what a step changes: recurrent states, key/value cache, coverage
    shared   whether the decoder can do with one row of `source` a sentence, however many hypotheses look at it
    width    hypotheses to a row of `source`, one after the other in `moving`
    looks    whether it is asked where each step looks; if not, a decoder may leave the weights out to save their cost
    """

    source: Tree
    moving: Tree
    shared: bool = False
    width: int = 1
    looks: bool = True

    def then(self, moving: Tree) -> State:
        """The state after a step."""
        return State(self.source, moving, self.shared, self.width, self.looks)

    def beams(self, times: int) -> State:
        """One hypothesis a sentence becomes `times` of them."""
        moving = tree.repeat(self.moving, times)
        if self.shared:
            return State(self.source, moving, True, self.width * times, self.looks)
        return State(tree.repeat(self.source, times), moving, looks=self.looks)

    def reorder(self, rows_N: Tensor) -> State:
        """Hypotheses change places within their own sentence, so only the moving half is copied."""
        return self.then(tree.take(self.moving, rows_N))

    def take(self, rows_N: Tensor) -> State:
        """Rows leave or change sentence: both halves are copied."""
        moving, sentence_N = tree.take(self.moving, rows_N), rows_N // self.width
        if self.width > 1 and len(rows_N) % self.width == 0:
            sentence_BK = sentence_N.view(-1, self.width)
            if bool((sentence_BK == sentence_BK[:, :1]).all()):  # whole sentences: they stay together
                return State(tree.take(self.source, sentence_BK[:, 0]), moving, self.shared, self.width, self.looks)
        return State(tree.take(self.source, sentence_N), moving, self.shared, looks=self.looks)


class Step(NamedTuple):
    """One decoder step: scores of the next token, the state after it, and where it looked.

    The weights may be None if the state said that nobody asks for them (`State.looks`).
    """

    logits_BV: Tensor
    state: State
    weights_BHS: Tensor | None

    def looked(self) -> Tensor:
        """The weights, for whoever has asked for them."""
        assert self.weights_BHS is not None
        return self.weights_BHS


@dataclass(frozen=True)
class Loss:
    """A sum, not a mean: the training loop divides by the whole batch's count, over micro-batches and processes.

    total      what is minimised, summed over the batch
    tokens     target tokens in it
    sentences  sequences in it
    parts      named sums for the log; `nll` is the unsmoothed negative log-likelihood, from which perplexity comes
    """

    total: Tensor
    tokens: int
    sentences: int
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Hypothesis:
    """One output of search.

    tokens           without BOS and EOS
    score            what search ranked by (log-probability after length and coverage penalties)
    logprob          plain log-probability, EOS included if finished
    token_logprobs   one a token, and one for EOS if finished
    weights_THS      where each step looked, the EOS step included if finished; None unless asked for
    finished         False if the length limit cut it
    """

    tokens: list[int]
    score: float
    logprob: float
    token_logprobs: list[float]
    finished: bool
    weights_THS: np.ndarray[Any, np.dtype[np.float32]] | None = None


@dataclass(frozen=True)
class Trace:
    """What was attended to, in one format for every modality; `version` goes up when a field changes its meaning (docs/trace.md).

    source_tokens, target_tokens   what the axes of the weights are
    weights_THS                    target step x head x source position
    grid                           how the source positions lie (see Memory)
    media                          what was looked at if it is no text: a picture's file, as the row names it

    What follows is for viewers, and may be left out; report/complete.py fills it in from a model.

    kind                           which views show it: text, picture, film, sound, memory (a story), machine, glimpse, canvas, strokes
    source_text, target_text       the whole texts
    logprobs                       log-probability of each target token
    heads                          a name for each head
    pixels                         what the model saw, [height, width, 3], of a film [frames, height, width, 3]
    nbest                          each output that search gave: text, score, logprob, tokens, logprobs
    search                         kind and settings of the search
    tree                           candidates that a beam looked at: {"nodes": [...]}
    modes                          weights_THS of the same target with attention sampled or argmax, by name
    edits                          what was forced: prefix, rows, masked
    boxes_TK4                      windows into the picture that each step looked through: left, top, right, bottom, as shares of it; `kind` is then
                                   "glimpse", or "canvas" if the model paints: pixels has its canvas after each step, [steps, height, width, 3];
                                   or "picture": then box k is the window of source position k, alike at every step
    contents_TNM, usage_TN         of a machine with a memory (kind "machine"): what its slots held after each step, and how full they were
    seen                           what was looked at, [height, width, 3], if pixels has the canvas
    seconds                        of a sound (kind "sound"), how long it lasts; pixels has its spectrogram, low bands below
    samples_N, rate                the sound itself between -1 and 1, or its beginning, and how many samples a second has
    points_T3                      of a model that writes with a pen (kind "strokes"): across and down from the last point, and whether the pen is lifted
    notes                          what was left out of it so that it stays small, a sentence each (report/bounds.py)
    """

    source_tokens: list[str]
    target_tokens: list[str]
    weights_THS: np.ndarray[Any, np.dtype[np.float32]]
    grid: tuple[int, ...]
    version: int = 2
    media: str | None = None
    kind: str = "text"
    source_text: str = ""
    target_text: str = ""
    logprobs: list[float] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    pixels: np.ndarray[Any, np.dtype[np.uint8]] | None = None
    nbest: list[dict[str, Any]] = field(default_factory=list)
    search: dict[str, Any] = field(default_factory=dict)
    tree: dict[str, Any] | None = None
    modes: dict[str, np.ndarray[Any, np.dtype[np.float32]]] = field(default_factory=dict)
    edits: dict[str, Any] | None = None
    boxes_TK4: np.ndarray[Any, np.dtype[np.float32]] | None = None
    contents_TNM: np.ndarray[Any, np.dtype[np.float32]] | None = None
    usage_TN: np.ndarray[Any, np.dtype[np.float32]] | None = None
    seen: np.ndarray[Any, np.dtype[np.uint8]] | None = None
    seconds: float | None = None
    samples_N: np.ndarray[Any, np.dtype[np.float32]] | None = None
    rate: int | None = None
    points_T3: np.ndarray[Any, np.dtype[np.float32]] | None = None
    notes: list[str] = field(default_factory=list)

    def _repr_html_(self) -> str:
        """In a notebook: the viewer, in a frame of its own."""
        from xattend.report.html import frame

        return frame(self)


@dataclass(frozen=True)
class Prediction:
    """What a system answers for one row: the text, its best hypothesis, the n-best, and on request the trace."""

    text: str
    tokens: list[str]
    score: float
    logprob: float
    nbest: list[tuple[str, float]]
    trace: Trace | None = None
    hypothesis: Hypothesis | None = None
    finished: bool = True

    @property
    def attention(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Weights, target x source, the mean over heads."""
        if self.trace is None:
            raise ValueError("ask for it: predict(..., attention=True)")
        weights: np.ndarray[Any, np.dtype[np.float32]] = self.trace.weights_THS.mean(axis=1)
        return weights
