"""The recurrent decoder: attend, update, predict.

attend = "before"   c_t = attention(s_{t-1});  s_t = cell([e_t ; c_t], s_{t-1})                 Bahdanau et al. 2015
attend = "after"    s_t = cell([e_t ; f_t], s_{t-1});  c_t = attention(s_t)                     Luong et al. 2015
                    f_t = the last readout with input_feeding, else nothing
attend = "between"  s'_t = cell(e_t, s_{t-1});  c_t = attention(s'_t);  s_t = second(c_t, s'_t)   the conditional GRU of Firat & Cho 2016

gate                c_t = beta_t sum_j a_tj value_j,  beta_t = sigmoid(f(the state that looks))     Show, Attend and Tell: decoders/gate.py
inject              how the memory's summary, the whole picture, enters besides: decoders/inject.py; bridge: decoders/bridge.py

A context that does not depend on the decoder (none, every-step) is known before the first step; then, and when attention comes
after the update and is not fed back, the recurrence runs once over the whole target, in one kernel. Attention that feeds it runs in
decoders/fused.py.

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
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor, nn

from xattend import registry
from xattend.attention.base import Attention, Bound
from xattend.cells.base import Cell
from xattend.cells.stack import Stack
from xattend.decoders import bridge as bridges
from xattend.decoders import fused
from xattend.decoders.base import Decoder
from xattend.decoders.gate import Gate
from xattend.decoders.inject import Factored, Inject
from xattend.decoders.readout import Readout
from xattend.encoders.base import symbol_embedding
from xattend.errors import UserError
from xattend.layers.dropout import Dropout
from xattend.registry import Named, register
from xattend.tree import Tree
from xattend.types import Memory, Space, State, Step

Ways = tuple[Tensor, Tensor, Tensor | None]  # outputs_BTD, contexts_BTD and weights_BTHS of all steps, the readout left to do


class Source(NamedTuple):
    """The half of the state that all hypotheses share: the memory, bound, and what `inject` keeps of its summary."""

    bound: Bound
    picture: Tensor | None


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
        bridge: Annotated[
            Literal["tanh", "both", "copy", "zero"] | None,
            "initial state: tanh(W summary), the same for an LSTM's cell by a layer of its own, the encoder's own states, or zeros; "
            "by default tanh, or zero where inject brings the summary in another way",
        ] = None,
        inject: Annotated[
            Literal["none", "state", "every", "first", "bias", "merge", "second", "memory"],
            "the summary besides the context: as initial state (bridge), input of every step (attention every-step does that, and gives it to "
            "the readout), input before BOS, input of the first step, in the readout, input of layer 2, or beside a visual memory that "
            "rebuilds it",
        ] = "none",
        gate: Annotated[bool, "multiply the context by a number between 0 and 1, made from the state that looks"] = False,
        tie: Annotated[Literal["none", "output", "all"], "share word vectors with the output layer, and with the encoder"] = "none",
    ) -> None:  # fmt: skip
        super().__init__()
        if input_feeding and attend != "after":
            raise UserError("decoder.input_feeding needs decoder.attend = \"after\": before the update there is no readout yet")
        if attend == "between" and layers > 1:
            raise UserError("decoder.attend = \"between\" needs decoder.layers = 1: its second cell is the second layer")
        if inject != "none" and memory_size == 0:
            raise UserError(f"decoder.inject = \"{inject}\" needs a source: a language model reads none")
        if inject == "state" and bridge == "zero":
            raise UserError("decoder.inject = \"state\" is the initial state: take decoder.bridge = \"zero\" out")
        if inject == "second" and layers < 2:
            raise UserError("decoder.inject = \"second\" is an input of the second layer: set decoder.layers = 2")
        if inject == "merge" and readout == "state":
            raise UserError("decoder.inject = \"merge\" adds to the readout's layer: set decoder.readout = \"deep\"")
        self.attention = make_attention(size)
        if gate and not self.attention.reads_query:
            raise UserError("decoder.gate needs an attention that looks at the source: there is no context to let through")
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
        self.inject = Inject(inject, summary=memory_size, embedding=embedding, merged=self.readout.inner, size=size)
        inputs = self.inject.size + embedding + self.feed_size + (self.attention.context_size if self.context_first else 0)
        make = partial(Factored, memory_size) if inject == "second" else Stack
        self.stack: Stack = make(cell, inputs, size, layers=layers, dropout=dropout, layer_norm=layer_norm, residual=residual)
        self.second: Cell | None = None
        if attend == "between":
            self.second = registry.build("cell", cell, self.attention.context_size, size, layer_norm=layer_norm)
        otherwise: bridges.Kind = "tanh" if inject in ("none", "state") else "zero"
        self.bridge_kind: bridges.Kind = "zero" if memory_size == 0 else bridge or otherwise
        self.bridge = bridges.bridge(self.bridge_kind, memory_size, self.stack)
        self.gate = Gate(size) if gate else None
        self.dropout = Dropout(dropout)
        self.readout_dropout = Dropout(dropout if readout_dropout is None else readout_dropout)

    def start(self, memory: Memory) -> State:
        bound = self.attention.bind(memory)
        picture, told = self.inject.start(memory.summary_BD)
        cells = bridges.first_state(self.bridge_kind, self.bridge, memory, self.stack)
        first_BE = self.inject.first(memory.summary_BD)
        if first_BE is not None:  # a step without a word, a look or an output
            none = self.feed_size + (self.attention.context_size if self.context_first else 0)
            _, cells = self.stack(nn.functional.pad(self.dropout(first_BE), (0, none)), cells)
        feed_BD = memory.summary_BD.new_zeros(len(memory.summary_BD), self.feed_size)
        moving = {"cells": cells, "attention": self.attention.start(bound), "feed": feed_BD, "inject": told}
        return State(Source(bound, picture), moving, shared=not self.attention.stateful)

    def step(self, token_B: Tensor, state: State) -> Step:
        embedded_BE = self.dropout(self.embedding(token_B))
        picture_BD: Tensor | None = state.source.picture
        if picture_BD is not None and state.width > 1:
            picture_BD = picture_BD.repeat_interleave(state.width, dim=0)
        words_B1I, told = self._words(embedded_BE[:, None], picture_BD, state.moving["inject"])
        output_BD, context_BD, weights_BHS, moving = self._update(words_B1I[:, 0], state)
        hidden_BD = self._read(output_BD, context_BD, embedded_BE, self.inject.merged(picture_BD))
        moving |= {"inject": told, "feed": hidden_BD if self.feed_size else moving["feed"]}
        return Step(self.output(hidden_BD), state.then(moving), weights_BHS)

    def _words(self, embedded_BTE: Tensor, picture_BD: Tensor | None, told: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """What the recurrence reads of the words: their vectors, and what stands beside them."""
        beside_BTI, told = self.inject.beside(embedded_BTE, picture_BD, told)
        return embedded_BTE if beside_BTI is None else torch.cat([beside_BTI, embedded_BTE], dim=-1), told

    def _look(self, query_BD: Tensor, bound: Bound, attended: Tree, looks: bool) -> tuple[Tensor, Tensor | None, Tree]:
        context_BD, weights_BHS, attended = self.attention.attend(query_BD, bound, attended, weights=looks)
        return context_BD if self.gate is None else self.gate(query_BD, context_BD), weights_BHS, attended

    def _update(self, words_BI: Tensor, state: State) -> tuple[Tensor, Tensor, Tensor | None, dict[str, Tree]]:
        """Attention and recurrence of one step: output, context, where it looked, and the moving half after it."""
        cells, attended, feed_BD = state.moving["cells"], state.moving["attention"], state.moving["feed"]
        bound = state.source.bound
        if self.context_first:
            context_BD, weights_BHS, attended = self._look(cells[-1][0], bound, attended, state.looks)
            output_BD, cells = self.stack(torch.cat([words_BI, feed_BD, context_BD], dim=-1), cells)
        else:
            output_BD, cells = self.stack(torch.cat([words_BI, feed_BD], dim=-1), cells)
            context_BD, weights_BHS, attended = self._look(output_BD, bound, attended, state.looks)
        if self.second is not None:
            cells = (self.second(context_BD, cells[0]),)
            output_BD = cells[0][0]
        return output_BD, context_BD, weights_BHS, {**state.moving, "cells": cells, "attention": attended}

    def _read(self, output_BD: Tensor, context_BD: Tensor, embedded_BE: Tensor, merged_BD: Tensor | None) -> Tensor:
        hidden_BD: Tensor = self.readout_dropout(self.readout(output_BD, context_BD, embedded_BE, merged_BD))
        return hidden_BD

    def hidden(self, memory: Memory, tokens_BT: Tensor) -> Tensor:
        return self._all(memory, tokens_BT, looks=False)[0]

    def hidden_and_weights(self, memory: Memory, tokens_BT: Tensor) -> tuple[Tensor, Tensor]:
        hidden_BTD, weights_BTHS = self._all(memory, tokens_BT, looks=True)
        assert weights_BTHS is not None
        return hidden_BTD, weights_BTHS

    def extra_loss(self, memory: Memory, tokens_BT: Tensor) -> Tensor | None:
        return None if self.inject.rebuild is None else self.inject.missing(self.dropout(self.embedding(tokens_BT)), memory.summary_BD)

    def _all(self, memory: Memory, tokens_BT: Tensor, looks: bool) -> tuple[Tensor, Tensor | None]:
        """All steps in the fastest way that the settings allow."""
        state, embedded_BTE = replace(self.start(memory), looks=looks), self.dropout(self.embedding(tokens_BT))
        words_BTI, _ = self._words(embedded_BTE, state.source.picture, state.moving["inject"])
        known_ahead = not self.attention.reads_query
        plan = fused.plan(self.stack, self.attention, state.source.bound) if self.context_first else None
        if self.second is not None:
            output_BTD, context_BTD, weights_BTHS = self._between(self.second, words_BTI, state)
        elif not self.feed_size and (known_ahead or not self.context_first):
            output_BTD, context_BTD, weights_BTHS = self._at_once(words_BTI, state, known_ahead)
        elif plan is not None:
            output_BTD, context_BTD, weights_BTHS = self._fused(plan, words_BTI, state)
        else:
            return self._loop(words_BTI, embedded_BTE, state)
        merged_BD = self.inject.merged(state.source.picture)
        return self._read(output_BTD, context_BTD, embedded_BTE, None if merged_BD is None else merged_BD[:, None]), weights_BTHS

    def one_by_one(self, embedded_BTE: Tensor, state: State) -> Tensor:
        """The plain loop: what the faster ways must equal."""
        words_BTI, _ = self._words(embedded_BTE, state.source.picture, state.moving["inject"])
        return self._loop(words_BTI, embedded_BTE, state)[0]

    def _loop(self, words_BTI: Tensor, embedded_BTE: Tensor, state: State) -> tuple[Tensor, Tensor | None]:
        steps, seen, merged_BD = [], [], self.inject.merged(state.source.picture)
        for words_BI, embedded_BE in zip(words_BTI.unbind(dim=1), embedded_BTE.unbind(dim=1), strict=True):
            output_BD, context_BD, weights_BHS, moving = self._update(words_BI, state)
            steps.append(self._read(output_BD, context_BD, embedded_BE, merged_BD))
            state = state.then({**moving, "feed": steps[-1] if self.feed_size else moving["feed"]})
            seen.append(weights_BHS)
        return torch.stack(steps, dim=1), _stacked(seen, state)

    def _between(self, second: Cell, words_BTI: Tensor, state: State) -> Ways:
        """What does not wait for the recurrence, the first cell's inputs, is projected for all steps at once."""
        first, (cell_state,), attended = self.stack.cells[0], state.moving["cells"], state.moving["attention"]
        assert isinstance(first, Cell)
        outputs, contexts, seen = [], [], []
        for projected_BG in first.project(words_BTI).unbind(dim=1):
            cell_state = first.advance(projected_BG, cell_state)
            context_BD, weights_BHS, attended = self._look(cell_state[0], state.source.bound, attended, state.looks)
            cell_state = second(context_BD, cell_state)
            outputs.append(cell_state[0])
            contexts.append(context_BD)
            seen.append(weights_BHS)
        return torch.stack(outputs, dim=1), torch.stack(contexts, dim=1), _stacked(seen, state)

    def _fused(self, how: fused.Plan, words_BTI: Tensor, state: State) -> Ways:
        """One function for all steps, with a backward of its own."""
        cell, cells = self.stack.cells[0], state.moving["cells"]
        assert isinstance(cell, Cell)
        context = self.attention.context_size
        output_BTD, context_BTD, weights_BTS = fused.run(how, cell, words_BTI, cells[0], state.source.bound, context, self.gate)
        return output_BTD, context_BTD, weights_BTS[:, :, None]

    def _at_once(self, words_BTI: Tensor, state: State, known_ahead: bool) -> Ways:
        """The recurrence in one kernel: nothing it needs comes from the attention of an earlier step."""
        bound, attended, cells = state.source.bound, state.moving["attention"], state.moving["cells"]
        if known_ahead:
            no_query_BTQ = words_BTI.new_zeros(*words_BTI.shape[:2], self.attention.query_size)
            context_BTD, weights_BTHS, _ = self.attention.attend_all(no_query_BTQ, bound, attended, weights=state.looks)
            output_BTD, _ = self.stack.unroll(torch.cat([words_BTI, context_BTD], dim=-1), cells)
            return output_BTD, context_BTD, weights_BTHS
        output_BTD, _ = self.stack.unroll(words_BTI, cells)
        context_BTD, weights_BTHS, _ = self.attention.attend_all(output_BTD, bound, attended, weights=state.looks)
        return output_BTD, context_BTD if self.gate is None else self.gate(output_BTD, context_BTD), weights_BTHS


def _stacked(seen: list[Tensor | None], state: State) -> Tensor | None:
    """The weights of all steps, if they were asked for."""
    return torch.stack([weights_BHS for weights_BHS in seen if weights_BHS is not None], dim=1) if state.looks else None
