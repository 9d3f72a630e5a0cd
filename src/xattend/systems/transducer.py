"""The RNN transducer, small (Graves 2012): an encoder, a network that reads what was written, and a layer that joins the two.

    h = encoder(x);   g_u = cell(g_{u-1}, e(y_u));   p(k | t, u) = softmax(W tanh(A h_t + B g_u))         k = 0, the blank: on to the next frame

The loss sums over all ways (lattices/transducer.py). For search it is a decoder like any other: given a beginning, the chance of each next label is
the sum over the frames at which it may be said,

    p(y_1 .. y_u k ... | x) = sum_t a(t, u) p(k | t, u),    p(end) = a(T-1, u) p(blank | T-1, u)

so greedy, beam, exact search and n-best lists are those of every other system. Where it looked is when each label is said.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend.cells.stack import Stack
from xattend.encoders.base import Encoder, read_once, symbol_embedding
from xattend.lattices.ctc import BLANK
from xattend.lattices.loss import labels_of
from xattend.lattices.transducer import column, emitted, log_probability
from xattend.layers.dropout import Dropout
from xattend.objectives.base import as_loss
from xattend.registry import Named, register
from xattend.search.base import Search
from xattend.systems.answers import heard, prediction, token_scores
from xattend.systems.base import System
from xattend.systems.parts import Parts
from xattend.types import BOS, EOS, Batch, Loss, Memory, Padded, Prediction, State, Step, Trace

NEVER = -1e30


class Joint(nn.Module):
    """The network that reads labels, the layer that joins, and both as steps for search."""

    def __init__(self, memory_size: int, vocabulary: int, size: int, embedding: int, cell: str, dropout: float) -> None:
        super().__init__()
        self.embedding = symbol_embedding(vocabulary, embedding)
        self.stack = Stack(cell, embedding, size)
        self.hears = nn.Linear(memory_size, size)
        self.reads = nn.Linear(size, size, bias=False)
        self.output = nn.Linear(size, vocabulary)
        self.dropout = Dropout(dropout)
        never_V = torch.zeros(vocabulary)
        never_V[[BOS, EOS]] = -1e4
        self.never_V: Tensor
        self.register_buffer("never_V", never_V, persistent=False)

    def join(self, heard_BTD: Tensor, read_BUD: Tensor) -> Tensor:
        """log p(k | t, u): [B, T, U, V]."""
        hidden_BTUD = torch.tanh(heard_BTD[:, :, None] + read_BUD[:, None])
        logits_BTUV: Tensor = self.output(self.dropout(hidden_BTUD)).float() + self.never_V
        return logits_BTUV.log_softmax(dim=-1)

    def lattice(self, memory: Memory, target: Padded) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Log-probabilities of blanks and of the right labels, and how many frames and labels each row has."""
        labels_BU, count_B = labels_of(target)
        inputs_BU = torch.cat([torch.full_like(labels_BU[:, :1], BOS) if labels_BU.shape[1] else labels_BU.new_full((len(labels_BU), 1), BOS), labels_BU], dim=1)
        read_BUD, _ = self.stack.unroll(self.dropout(self.embedding(inputs_BU)), self.stack.start(len(inputs_BU)))
        log_BTUV = self.join(self.hears(memory.states_BSD), self.reads(read_BUD))
        index_BTUV = labels_BU[:, None, :, None].expand(-1, log_BTUV.shape[1], -1, 1)
        return log_BTUV[..., BLANK], log_BTUV[:, :, :-1].gather(3, index_BTUV).squeeze(3), memory.mask_BS.sum(dim=1), count_B

    # --- for search

    def start(self, memory: Memory) -> State:
        batch, frames = memory.mask_BS.shape
        before_BT = torch.full((batch, frames), NEVER, dtype=torch.float64)
        before_BT[:, 0] = 0.0
        state = self.stack.start(batch)
        label_BTV = before_BT.new_zeros(batch, frames, self.output.out_features)
        return State((self.hears(memory.states_BSD), memory.mask_BS), (state, before_BT, label_BTV, before_BT.new_zeros(batch)))

    def step(self, token_B: Tensor, state: State) -> Step:
        heard_BTD, mask_BT = state.source
        inner, a_BT, log_BTV, log_p_B = state.moving
        first = bool((token_B == BOS).all())
        own_BT = log_BTV.gather(2, token_B[:, None, None].expand(-1, log_BTV.shape[1], 1)).squeeze(2)
        in_BT = None if first else (a_BT + own_BT).masked_fill(~mask_BT, NEVER)
        log_p_B = log_p_B if in_BT is None else torch.logsumexp(in_BT, dim=1)
        read_BD, inner = self.stack(self.embedding(token_B), inner)
        log_BTV = self.join(heard_BTD, self.reads(read_BD)[:, None])[:, :, 0].double()
        blank_BT = log_BTV[:, :, BLANK].masked_fill(~mask_BT, 0.0)
        a_BT = column(blank_BT, in_BT).clamp(min=NEVER)
        next_BV = torch.logsumexp(a_BT.masked_fill(~mask_BT, NEVER)[:, :, None] + log_BTV, dim=1)
        last_B1 = (mask_BT.sum(dim=1) - 1).clamp(min=0)[:, None]
        next_BV[:, [BLANK, BOS]] = NEVER
        next_BV[:, EOS] = (a_BT + blank_BT).gather(1, last_B1).squeeze(1)
        logits_BV = (next_BV - log_p_B[:, None]).clamp(min=-1e9).float()
        nowhere = logits_BV.new_zeros(len(logits_BV), 1, log_BTV.shape[1]) if state.looks else None
        return Step(logits_BV, state.then((inner, a_BT, log_BTV, log_p_B)), nowhere)


@register("system", "transducer")
class Transducer(System):
    """An encoder and a joint network."""

    uses = ("encoder",)
    looks = True

    def __init__(
        self, parts: Parts, *,
        size: Annotated[int, "width of the network that reads labels, and of the joint layer"] = 128,
        embedding: Annotated[int, "width of the label vectors"] = 32,
        cell: Annotated[str, Named("cell"), "its recurrent cell"] = "lstm",
        dropout: Annotated[float, "on label vectors and the joint layer"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        assert parts.source is not None
        self.source, self.target = parts.source, parts.target
        self.encoder: Encoder = parts.build("encoder", parts.source.space)
        self.joint = Joint(self.encoder.size, parts.target.space.symbols(), size, embedding, cell, dropout)

    def read(self, batch: Batch) -> Memory:
        assert batch.source is not None
        return read_once(self.encoder, batch.source)

    def loss(self, batch: Batch) -> Loss:
        assert batch.target is not None
        nll = -log_probability(*self.joint.lattice(self.read(batch), batch.target)).sum().float()
        return as_loss(nll, nll, batch.target)

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        assert batch.source is not None
        memory = self.read(batch)
        found = search.search(self.joint, memory)
        names = self.source.names(batch.source)
        answers = []
        for row, hypotheses in enumerate(found):
            frames = int(memory.mask_BS[row].sum())
            tokens = heard(None if names is None else names[row], frames)
            one = prediction(hypotheses, self.target, tokens, (frames,))
            if attention:
                best = hypotheses[0]
                ids = torch.tensor([[BOS, *best.tokens, EOS]])
                weights_UT = self._said(memory.take(torch.tensor([row])), Padded(ids, torch.ones_like(ids, dtype=torch.bool)))[0][:, :frames]
                weights_UT = weights_UT if best.finished else weights_UT[:-1]
                written = self.target.symbols([*best.tokens, EOS] if best.finished else best.tokens)
                one = replace(one, trace=Trace(tokens, written, weights_UT[:, None].numpy(), (frames,)))
            answers.append(one)
        return answers

    def _said(self, memory: Memory, target: Padded) -> list[Tensor]:
        """When each label is said, and the end, which is at the last frame: weights_UT a row, over all frames of the batch."""
        lattice = self.joint.lattice(memory, target)
        with torch.inference_mode(False):  # the posterior is a gradient
            blank, label, frames_B, count_B = (part.clone() for part in lattice)
            weights_BUT = emitted(blank, label, frames_B, count_B)
        ends_BT = F.one_hot(frames_B - 1, weights_BUT.shape[2]).to(weights_BUT.dtype)
        return [torch.cat([weights_BUT[row, :count], ends_BT[row : row + 1]]) for row, count in enumerate(count_B.tolist())]

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        assert batch.target is not None
        state, columns = replace(self.joint.start(self.read(batch)), looks=False), []
        for token_B in batch.target.values[:, :-1].unbind(dim=1):
            step = self.joint.step(token_B, state)
            state = step.state
            columns.append(step.logits_BV)
        return token_scores(torch.stack(columns, dim=1), batch.target)

    @torch.inference_mode()
    def align(self, batch: Batch) -> list[Tensor]:
        assert batch.target is not None
        memory = self.read(batch)
        lengths = memory.mask_BS.sum(dim=1).tolist()
        return [weights_UT[:, None, :frames] for weights_UT, frames in zip(self._said(memory, batch.target), lengths, strict=True)]
