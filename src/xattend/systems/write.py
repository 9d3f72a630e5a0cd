"""Handwriting (Graves 2013): a text goes in, pen strokes come out, point by point; without attention, strokes are predicted from strokes
alone.

    h^1_t = cell([x_t ; w_{t-1}])                 x_t: the last point;  w_t = attention(h^1_t, characters)      (52)
    h^n_t = cell([x_t ; h^{n-1}_t ; w_t])         n = 2 .. layers                                               (53)
    y_t   = W [h^1_t ; .. ; h^N_t] + b            the mixture density of the next point (layers/mixture.py)

The characters are one-hot vectors. No point belongs to a space: with `spaces = false` it is no place of the text either, so that a window goes from
one letter to the next, and what is read `ahead` of the letter before tells of it. With `attention = window` this is the paper's synthesis network, with `attention = none` its prediction
network; any other attention can be tried. The loss is in nats a point, of offsets in standard deviations, the end included.

`predict` draws a sample. `bias` makes it neater and less varied (5.4). `prime` is a drawing that is read first, so that the sample goes on
in its hand (5.5): `handwriting:17 some text`, or TEXT|POINTS. A drawing ends where the network says so, or as soon as the window weighs
the end mark more than any character; one that does neither is cut, and said to be.

Shapes: B rows, T points, S characters, V vocabulary, D width, O outputs.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import pydantic
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend import registry
from xattend.attention.base import Attention, Bound
from xattend.cells.base import Cell, CellState
from xattend.data.fields.base import Field
from xattend.data.fields.strokes import Strokes, ids_of, vectors
from xattend.data.tasks.handwriting import described
from xattend.errors import UserError
from xattend.layers.mixture import Mixture, numbers
from xattend.registry import Named, register
from xattend.search.base import Search
from xattend.systems.base import System
from xattend.systems.parts import Parts
from xattend.tree import Tree
from xattend.types import EOS, Batch, Hypothesis, Loss, Memory, Padded, Prediction, Trace

LONGEST = 80  # points a character that a sample may have
Positive = Annotated[int, pydantic.Field(ge=1)]


class Text(NamedTuple):
    """Texts as the attention has them: what it is bound to, and where in that each character lies."""

    bound: Bound
    place_BS: Tensor


class Hand(NamedTuple):
    """What the network has between two points."""

    cells: tuple[CellState, ...]
    context_BD: Tensor
    attention: Tree


@register("system", "write")
class Write(System):
    """Layers with shortcuts, an attention that the first of them drives, and a mixture density."""

    uses = ("attention",)
    writes = False

    def __init__(
        self, parts: Parts, *,
        cell: Annotated[str, Named("cell"), "the recurrent cell"] = "lstm",
        size: Annotated[Positive, "width of a layer"] = 400,
        layers: Annotated[Positive, "how many"] = 3,
        gaussians: Annotated[Positive, "of the mixture"] = 20,
        ahead: Annotated[Annotated[int, pydantic.Field(ge=0)], "characters after its own that are read at each place of the text; the paper has none"] = 0,
        spaces: Annotated[bool, "a space is a place of the text; false: the attention passes over it, and what is read ahead tells of it"] = True,
        bias: Annotated[Annotated[float, pydantic.Field(ge=0)], "of samples: 0 as varied as the data, 1 or more neat"] = 0.0,
        seed: Annotated[int, "of samples"] = 1,
        prime: Annotated[str | None, "a drawing that samples go on from: handwriting:17 some text, or TEXT|POINTS"] = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if not isinstance(parts.target, Strokes):
            raise UserError("the system 'write' writes strokes: choose the task handwriting, or set data.target.kind = \"strokes\"")
        assert parts.source is not None
        self.source: Field = parts.source
        self.target: Strokes = parts.target
        self.vocabulary = parts.source.space.symbols()
        if not spaces and not ahead:
            raise UserError("system.spaces = false hides spaces from the network: set system.ahead to 1 or more, so that the letter before tells of them")
        self.blank = [] if spaces else [id for id in range(self.vocabulary) if self.source.decode([id]).isspace()]
        self.ahead, self.bias, self.seed, self.prime = ahead, bias, seed, prime
        self.attention: Attention = parts.build("attention", size, (1 + ahead) * self.vocabulary)
        context = self.attention.context_size
        widths = [3 + context, *[3 + size + context] * (layers - 1)]
        self.cells = nn.ModuleList([registry.build("cell", cell, width, size) for width in widths])
        self.output = nn.Linear(layers * size, numbers(gaussians))

    def _layers(self) -> list[Cell]:
        return [cell for cell in self.cells if isinstance(cell, Cell)]

    def memory(self, source: Padded) -> Memory:
        """Characters, one-hot, and beside each those that follow it."""
        states_BSV = F.one_hot(source.values, self.vocabulary).float() * source.mask_BS[:, :, None]
        later = [F.pad(states_BSV[:, place:], (0, 0, 0, min(place, states_BSV.shape[1]))) for place in range(1, 1 + self.ahead)]
        states_BSD = torch.cat([states_BSV, *later], dim=2) * source.mask_BS[:, :, None]
        return Memory(states_BSD, source.mask_BS, states_BSD.mean(dim=1), (states_BSD.shape[1],))

    def bind(self, source: Padded) -> Text:
        """Places that are passed over lie behind all others, and are no part of the memory."""
        memory = self.memory(source)
        if not self.blank:
            return Text(self.attention.bind(memory), torch.arange(source.values.shape[1]).expand_as(source.values))
        real_BS = memory.mask_BS & ~torch.isin(source.values, torch.tensor(self.blank))
        order_BS = (~real_BS).int().argsort(dim=1, stable=True)
        states_BSD = memory.states_BSD.gather(1, order_BS[:, :, None].expand_as(memory.states_BSD))
        packed = Memory(states_BSD, real_BS.gather(1, order_BS), memory.summary_BD, memory.grid)
        return Text(self.attention.bind(packed), order_BS.argsort(dim=1))

    def start(self, bound: Bound) -> Hand:
        batch = len(bound.mask_BS)
        nothing_BD = self.output.weight.new_zeros(batch, self.attention.context_size)
        return Hand(tuple(cell.start(batch) for cell in self._layers()), nothing_BD, self.attention.start(bound))

    def run(self, points_BT3: Tensor, text: Text, hand: Hand) -> tuple[Tensor, Tensor, Hand]:
        """Reads points: outputs_BTO of what follows each, where each looked, weights_BTS, and the state after them.

        Only the first layer waits for the window; the others run over all points at once.
        """
        first, *others = self._layers()
        state, context_BD, attended = hand.cells[0], hand.context_BD, hand.attention
        outputs, contexts, seen = [], [], []
        for point_B3 in points_BT3.unbind(dim=1):
            state = first(torch.cat([point_B3, context_BD], dim=1), state)
            context_BD, weights_BHS, attended = self.attention.attend(state[0], text.bound, attended)
            assert weights_BHS is not None
            outputs.append(state[0])
            contexts.append(context_BD)
            seen.append(weights_BHS.mean(dim=1))
        layers_BTD, contexts_BTD = [torch.stack(outputs, dim=1)], torch.stack(contexts, dim=1)
        after = [state]
        for cell, old in zip(others, hand.cells[1:], strict=True):
            above_BTD, last = cell.unroll(torch.cat([points_BT3, layers_BTD[-1], contexts_BTD], dim=2), old)
            layers_BTD.append(above_BTD)
            after.append(last)
        weights_BTS = torch.stack(seen, dim=1).gather(2, text.place_BS[:, None].expand(-1, len(seen), -1))
        return self.output(torch.cat(layers_BTD, dim=2)), weights_BTS, Hand(tuple(after), context_BD, attended)

    def judged(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Of given drawings: log-likelihood of each point and of the end, logs_BT, which are real, and where each looked, weights_BTS."""
        assert batch.source is not None
        assert batch.target is not None
        ids_BT, mask_BT = batch.target.values, batch.target.mask_BS[:, 1:]
        points_BT3, text = vectors(ids_BT), self.bind(batch.source)
        outputs_BTO, weights_BTS, _ = self.run(points_BT3[:, :-1], text, self.start(text.bound))
        logs_BT = Mixture.of(outputs_BTO).log_likelihood(points_BT3[:, 1:], ids_BT[:, 1:] == EOS)
        return logs_BT.masked_fill(~mask_BT, 0.0), mask_BT, weights_BTS

    def loss(self, batch: Batch) -> Loss:
        logs_BT, mask_BT, _ = self.judged(batch)
        total = -logs_BT.sum()
        return Loss(total, int(mask_BT.sum()), len(batch), {"nll": float(total.detach())})

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        logs_BT, mask_BT, _ = self.judged(batch)
        return [logs_T[:length] for logs_T, length in zip(logs_BT.tolist(), mask_BT.sum(dim=1).tolist(), strict=True)]

    @torch.inference_mode()
    def align(self, batch: Batch) -> list[Tensor]:
        assert batch.source is not None
        _, mask_BT, weights_BTS = self.judged(batch)
        lengths = zip(mask_BT.sum(dim=1).tolist(), batch.source.lengths_B.tolist(), strict=True)
        return [weights_BTS[row, :points, None, :characters] for row, (points, characters) in enumerate(lengths)]

    def _primed(self) -> tuple[str, list[int]]:
        """The text and the points of `prime`."""
        if self.prime is None:
            return "", []
        text, bar, points = self.prime.rpartition("|")
        if bar:
            return text, self.target.encode(points)
        if not self.prime.startswith("handwriting:"):
            raise UserError(f"system.prime = '{self.prime}': write handwriting:WRITER TEXT, or TEXT|POINTS")
        return described(self.prime.partition(":")[2])[0], self.target.encode(self.prime)

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        """A sample a row, each drawn by itself with the same seed, so that no row depends on the others. There is nothing to search."""
        assert batch.source is not None
        rows = zip(batch.source.values.tolist(), batch.source.lengths_B.tolist(), strict=True)
        return [self._sample(ids[:length], attention) for ids, length in rows]

    def _sample(self, ids: list[int], attention: bool) -> Prediction:
        primer, given = self._primed()
        before = self.source.encode(f"{primer} ") if primer else []
        values_1S = torch.tensor([[*before, *ids]])
        text = self.bind(Padded(values_1S, torch.ones_like(values_1S, dtype=torch.bool)))
        points_1T3 = torch.cat([torch.zeros(1, 1, 3), vectors(torch.tensor([given], dtype=torch.long))], dim=1)
        outputs_1TO, weights_1TS, hand = self.run(points_1T3, text, self.start(text.bound))
        generator = torch.Generator().manual_seed(self.seed)
        points, logs, seen, ended = list[Tensor](), list[float](), list[Tensor](), False
        for _ in range(LONGEST * max(1, len(ids))):
            mixture = Mixture.of(outputs_1TO[:, -1], self.bias)
            point_13, end_1 = mixture.draw(generator)
            ended = bool(end_1) or self._past(weights_1TS[0, -1], ids)
            logs.append(float(mixture.log_likelihood(point_13, torch.tensor([ended]))))
            seen.append(weights_1TS[0, -1])
            if ended:
                break
            points.append(point_13)
            outputs_1TO, weights_1TS, hand = self.run(point_13[:, None], text, hand)
        written = ids_of(torch.cat([torch.zeros(0, 3), *points])).tolist()
        shown, score = self.target.decode(written), sum(logs)
        trace = self._trace(values_1S[0].tolist(), written, weights_1TS.shape[2], seen, ended) if attention else None
        best = Hypothesis(written, score, score, logs, ended)
        return Prediction(shown, self.target.symbols(written), score, score, [(shown, score)], trace, best, ended)

    def _past(self, weights_S: Tensor, ids: list[int]) -> bool:
        """Whether the window has come to the end mark (the paper's rule for where to stop)."""
        return self.attention.stateful and ids[-1] == EOS and bool(weights_S[-1] > weights_S[:-1].max())

    def _trace(self, source: list[int], written: list[int], places: int, seen: list[Tensor], ended: bool) -> Trace:
        tokens = self.target.symbols([*written, *[EOS] * ended])
        weights_TS = torch.stack(seen) if seen else torch.zeros(0, places)
        points_T3 = np.array(self.target.points(written), np.float32).reshape(-1, 3)
        return Trace(self.source.symbols(source), tokens, weights_TS[:, None].numpy(), (places,), kind="strokes", points_T3=points_T3)
