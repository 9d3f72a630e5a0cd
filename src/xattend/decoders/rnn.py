"""The recurrent decoder: attend, update, predict.

attend = "before"   c_t = attention(s_{t-1});  s_t = cell([e_t ; c_t], s_{t-1})                 Bahdanau et al. 2015
attend = "after"    s_t = cell([e_t ; f_t], s_{t-1});  c_t = attention(s_t)                     Luong et al. 2015
                    f_t = the last readout with input_feeding, else nothing
attend = "between"  s'_t = cell(e_t, s_{t-1});  c_t = attention(s'_t);  s_t = second(c_t, s'_t)   the conditional GRU of Firat & Cho 2016

A context that does not depend on the decoder (none, every-step) is known before the first step; then, and when
attention comes after the update and is not fed back, the recurrence runs once over the whole target, in one kernel.

Shapes: B batch, T target steps, D width, S source positions, H heads, V vocabulary.

>>> import torch
>>> from xattend.attention import Additive
>>> decoder = RNN(Space(vocabulary=10), 6, lambda query_size: Additive(query_size, 6), size=8, embedding=4)
>>> memory = Memory(torch.randn(2, 3, 6), torch.ones(2, 3, dtype=torch.bool), torch.zeros(2, 6))
>>> decoder(memory, torch.full((2, 5), 2)).shape
torch.Size([2, 5, 10])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from xattend import registry
from xattend.attention.base import Attention
from xattend.cells.base import Cell
from xattend.cells.stack import Stack, StackState
from xattend.decoders import fused
from xattend.decoders.base import Decoder
from xattend.decoders.readout import Readout
from xattend.encoders.base import symbol_embedding
from xattend.errors import UserError
from xattend.layers.dropout import Dropout
from xattend.registry import Named, register
from xattend.types import Memory, Space, State, Step


@register("decoder", "rnn")
class RNN(Decoder):
    """Any cell, any attention, any number of layers."""

    def __init__(
        self, space: Space, memory_size: int, make_attention: Callable[[int], Attention], *,
        size: Annotated[int, "width of the state"] = 512,
        embedding: Annotated[int, "width of the word vectors"] = 128,
        cell: Annotated[str, Named("cell"), "the recurrent cell"] = "gru",
        layers: Annotated[int, "cells on top of each other"] = 1,
        dropout: Annotated[float, "on word vectors, between layers and on the readout"] = 0.0,
        readout_dropout: Annotated[float | None, "on the readout; by default dropout"] = None,
        layer_norm: Annotated[bool, "inside the cells"] = False,
        residual: Annotated[bool, "shortcuts around all layers but the first"] = False,
        attend: Annotated[Literal["before", "between", "after"], "look before the state is updated, between two updates, or after"] = "before",
        input_feeding: Annotated[bool, "feed the last readout back as an input (with attend = \"after\")"] = False,
        readout: Annotated[Literal["state", "luong", "deep", "maxout"], "what the words are scored from"] = "deep",
        readout_size: Annotated[int | None, "its width; by default the state's, or the word vectors' if they are tied"] = None,
        bridge: Annotated[Literal["tanh", "copy", "zero"], "initial state: tanh(W summary), the encoder's own states, or zeros"] = "tanh",
        tie: Annotated[Literal["none", "output", "all"], "share word vectors with the output layer, and with the encoder"] = "none",
    ) -> None:  # fmt: skip
        super().__init__()
        if input_feeding and attend != "after":
            raise UserError("decoder.input_feeding needs decoder.attend = \"after\": before the update there is no readout yet")
        if attend == "between" and layers > 1:
            raise UserError("decoder.attend = \"between\" needs decoder.layers = 1: its second cell is the second layer")
        self.attention = make_attention(size)
        self.embedding = symbol_embedding(space.symbols(), embedding)
        width = readout_size or (embedding if tie != "none" else size)
        if tie != "none" and width != embedding:
            raise UserError(f"decoder.tie needs decoder.readout_size ({width}) equal to decoder.embedding ({embedding})")
        self.readout = Readout(readout, size, self.attention.context_size, embedding, width)
        self.output = nn.Linear(width, space.symbols())
        if tie != "none":
            self.output.weight = self.embedding.weight
        self.feed_size = width if input_feeding else 0
        self.context_first = attend == "before" or (attend == "after" and not self.attention.reads_query)
        inputs = embedding + self.feed_size + (self.attention.context_size if self.context_first else 0)
        self.stack = Stack(cell, inputs, size, layers=layers, dropout=dropout, layer_norm=layer_norm, residual=residual)
        self.second: Cell | None = None
        if attend == "between":
            self.second = registry.build("cell", cell, self.attention.context_size, size, layer_norm=layer_norm)
        self.bridge_kind = "zero" if memory_size == 0 else bridge
        self.bridge = nn.Linear(memory_size, layers * size) if self.bridge_kind == "tanh" else None
        self.dropout = Dropout(dropout)
        self.readout_dropout = Dropout(dropout if readout_dropout is None else readout_dropout)

    def start(self, memory: Memory) -> State:
        bound = self.attention.bind(memory)
        feed_BD = memory.summary_BD.new_zeros(len(memory.summary_BD), self.feed_size)
        moving = {"cells": self._first_cells(memory), "attention": self.attention.start(bound), "feed": feed_BD}
        return State(bound, moving, shared=not self.attention.stateful)

    def _first_cells(self, memory: Memory) -> StackState:
        zeros = self.stack.start(len(memory.summary_BD))
        if self.bridge_kind == "copy":
            return self._copied(memory, zeros)
        if self.bridge is None:
            return zeros
        outputs = torch.tanh(self.bridge(memory.summary_BD)).chunk(len(zeros), dim=-1)
        return tuple((output, *rest) for output, (_, *rest) in zip(outputs, zeros, strict=True))

    @staticmethod
    def _copied(memory: Memory, zeros: StackState) -> StackState:
        if memory.carry is None:
            raise UserError("decoder.bridge = \"copy\" needs an encoder that keeps its final states: set encoder.carry = true")
        theirs = [[tuple(part.shape) for part in layer] for layer in memory.carry]
        ours = [[tuple(part.shape) for part in layer] for layer in zeros]
        if theirs != ours:
            raise UserError(
                "decoder.bridge = \"copy\" needs an encoder and a decoder of the same cell, layers and width: "
                f"the encoder's final states are {theirs}, the decoder's {ours} (batch first)"
            )
        copied: StackState = memory.carry
        return copied

    def step(self, token_B: Tensor, state: State) -> Step:
        embedded_BD = self.dropout(self.embedding(token_B))
        hidden_BD, weights_BHS, state = self._advance(embedded_BD, state)
        return Step(self.output(hidden_BD), state, weights_BHS)

    def _advance(self, embedded_BD: Tensor, state: State) -> tuple[Tensor, Tensor | None, State]:
        """One step from the previous word's vector: what the words are scored from, where it looked, the new state."""
        cells, attended, feed_BD = state.moving["cells"], state.moving["attention"], state.moving["feed"]
        if self.context_first:
            context_BD, weights_BHS, attended = self.attention.attend(cells[-1][0], state.source, attended, weights=state.looks)
            output_BD, cells = self.stack(torch.cat([embedded_BD, feed_BD, context_BD], dim=-1), cells)
        else:
            output_BD, cells = self.stack(torch.cat([embedded_BD, feed_BD], dim=-1), cells)
            context_BD, weights_BHS, attended = self.attention.attend(output_BD, state.source, attended, weights=state.looks)
        if self.second is not None:
            cells = (self.second(context_BD, cells[0]),)
            output_BD = cells[0][0]
        hidden_BD = self.readout_dropout(self.readout(output_BD, context_BD, embedded_BD))
        feed_BD = hidden_BD if self.feed_size else feed_BD
        return hidden_BD, weights_BHS, state.then({"cells": cells, "attention": attended, "feed": feed_BD})

    def hidden(self, memory: Memory, tokens_BT: Tensor) -> Tensor:
        state, embedded_BTD = self.start(memory), self.dropout(self.embedding(tokens_BT))
        known_ahead = not self.attention.reads_query
        if self.second is not None:
            return self._between(self.second, embedded_BTD, state)
        if not self.feed_size and (known_ahead or not self.context_first):
            return self._at_once(embedded_BTD, state, known_ahead)
        how = fused.plan(self.stack, self.attention, state.source) if self.context_first else None
        if how is not None:
            return self._fused(how, embedded_BTD, state)
        return self.one_by_one(embedded_BTD, state)

    def one_by_one(self, embedded_BTD: Tensor, state: State) -> Tensor:
        """The plain loop: what the faster ways must equal."""
        steps = []
        for embedded_BD in embedded_BTD.unbind(dim=1):
            hidden_BD, _, state = self._advance(embedded_BD, state)
            steps.append(hidden_BD)
        return torch.stack(steps, dim=1)

    def _between(self, second: Cell, embedded_BTD: Tensor, state: State) -> Tensor:
        """What does not wait for the recurrence, the first cell's inputs and the readouts, is done for all steps at once."""
        first, (cell_state,), attended = self.stack.cells[0], state.moving["cells"], state.moving["attention"]
        assert isinstance(first, Cell)
        outputs, contexts = [], []
        for projected_BG in first.project(embedded_BTD).unbind(dim=1):
            cell_state = first.advance(projected_BG, cell_state)
            context_BD, _, attended = self.attention.attend(cell_state[0], state.source, attended, weights=False)
            cell_state = second(context_BD, cell_state)
            outputs.append(cell_state[0])
            contexts.append(context_BD)
        hidden_BTD: Tensor = self.readout_dropout(self.readout(torch.stack(outputs, dim=1), torch.stack(contexts, dim=1), embedded_BTD))
        return hidden_BTD

    def _fused(self, how: fused.Plan, embedded_BTD: Tensor, state: State) -> Tensor:
        """One function for all steps, with a backward of its own."""
        cell, cells = self.stack.cells[0], state.moving["cells"]
        assert isinstance(cell, Cell)
        output_BTD, context_BTD = fused.run(how, cell, embedded_BTD, cells[0], state.source, self.attention.context_size)
        hidden_BTD: Tensor = self.readout_dropout(self.readout(output_BTD, context_BTD, embedded_BTD))
        return hidden_BTD

    def _at_once(self, embedded_BTD: Tensor, state: State, known_ahead: bool) -> Tensor:
        """The recurrence in one kernel: nothing it needs comes from the attention of an earlier step."""
        bound, attended, cells = state.source, state.moving["attention"], state.moving["cells"]
        if known_ahead:
            no_query_BTQ = embedded_BTD.new_zeros(*embedded_BTD.shape[:2], self.attention.query_size)
            context_BTD, _, _ = self.attention.attend_all(no_query_BTQ, bound, attended, weights=False)
            output_BTD, _ = self.stack.unroll(torch.cat([embedded_BTD, context_BTD], dim=-1), cells)
        else:
            output_BTD, _ = self.stack.unroll(embedded_BTD, cells)
            context_BTD, _, _ = self.attention.attend_all(output_BTD, bound, attended, weights=False)
        hidden_BTD: Tensor = self.readout_dropout(self.readout(output_BTD, context_BTD, embedded_BTD))
        return hidden_BTD
