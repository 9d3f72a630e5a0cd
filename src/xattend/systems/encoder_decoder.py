"""What systems have in common that read with an encoder and write with a decoder: training, search, scores and alignments.

    memory = read(x);   p(y | x) = prod_t decoder(y_<t, memory)

A system of this kind builds the parts, and may read its rows in a way of its own. If the positions of its memory are looks through windows
(encoder `glimpses`), its traces have the windows, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from xattend.data.fields.base import Field
from xattend.decoders.base import Decoder
from xattend.encoders.asked import Asked
from xattend.encoders.base import Encoder, read_once
from xattend.encoders.glimpses import Glimpses
from xattend.objectives.base import Objective
from xattend.search.base import Search
from xattend.systems.answers import places, prediction, token_scores
from xattend.systems.base import System
from xattend.types import Batch, Loss, Memory, Padded, Prediction


class EncoderDecoder(System):
    """An encoder, a decoder with its attention, and an objective."""

    source: Field
    target: Field
    encoder: Encoder
    decoder: Decoder
    objective: Objective

    def read(self, batch: Batch) -> Memory:
        """The source, read."""
        assert batch.source is not None
        return read_once(self.encoder, batch.source)

    def loss(self, batch: Batch) -> Loss:
        batch = self.objective.rows(batch)
        assert batch.target is not None
        loss: Loss = self.objective(self.decoder, self.read(batch), batch.target)
        return loss

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        assert batch.source is not None
        memory = self.read(batch)
        found = search.search(self.decoder, memory, attention=attention)
        names = self.source.names(batch.source)
        if names is None:
            if len(memory.grid) == 1:  # sounds and films: each row has positions of its own number
                own = [(int(length),) for length in memory.mask_BS.sum(dim=1)]
                answers = [prediction(hypotheses, self.target, places(grid), grid) for hypotheses, grid in zip(found, own, strict=True)]
                return self._with_windows(answers, batch.source) if attention else answers
            cells, grid = places(memory.grid), memory.grid
            return [prediction(hypotheses, self.target, cells, grid) for hypotheses in found]
        return [
            prediction(hypotheses, self.target, tokens, (len(tokens),)) for hypotheses, tokens in zip(found, names, strict=True)
        ]

    def _with_windows(self, answers: list[Prediction], source: Padded) -> list[Prediction]:
        """Positions that are looks into a picture are named by their numbers, and each step of the trace has the windows of all: one box a position."""
        encoder = self.encoder.picture if isinstance(self.encoder, Asked) else self.encoder
        if not isinstance(encoder, Glimpses) or source.values.shape[1] != 1:
            return answers
        found, names = [], [str(look + 1) for look in range(encoder.looks)]
        for one, boxes_S4 in zip(answers, encoder.windows(source.values[:, 0]).float().cpu().numpy(), strict=True):
            if one.trace is not None:
                boxes_TS4 = np.repeat(boxes_S4[None], len(one.trace.target_tokens), axis=0)
                one = replace(one, trace=replace(one.trace, kind="picture", source_tokens=names, boxes_TK4=boxes_TS4))
            found.append(one)
        return found

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        assert batch.target is not None
        return token_scores(self.decoder(self.read(batch), batch.target.values[:, :-1]), batch.target)

    @torch.inference_mode()
    def look(self, batch: Batch) -> tuple[list[Tensor], tuple[int, ...]]:
        """One look a token of a given target, EOS left out, weights_TS a row; and how the places lie."""
        assert batch.target is not None
        memory = self.read(batch)
        weights_BTS = self.decoder.look(self.decoder.weights(memory, batch.target))
        lengths = zip(batch.target.lengths_B.tolist(), extents(memory), strict=True)
        return [weights_BTS[row, : t - 2, :s] for row, (t, s) in enumerate(lengths)], memory.grid

    @torch.inference_mode()
    def align(self, batch: Batch) -> list[Tensor]:
        """Where each token of a given target looked, EOS included: one weights_THS a row."""
        assert batch.source is not None
        assert batch.target is not None
        memory = self.read(batch)
        weights_BTHS = self.decoder.weights(memory, batch.target)
        lengths = zip(batch.target.lengths_B.tolist(), extents(memory), strict=True)
        return [weights_BTHS[row, : t - 1, :, :s] for row, (t, s) in enumerate(lengths)]


def extents(memory: Memory) -> list[int]:
    """How many positions each row has: up to the last real one; all of a picture, some of whose places may be left out."""
    positions = memory.mask_BS.shape[1]
    if len(memory.grid) == 2:
        return [positions] * len(memory.mask_BS)
    numbers_S = torch.arange(1, positions + 1, device=memory.mask_BS.device)
    return (memory.mask_BS * numbers_S).amax(dim=1).tolist() if positions else [0] * len(memory.mask_BS)
