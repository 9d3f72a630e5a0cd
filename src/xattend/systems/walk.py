"""Listen, Attend and Walk (Mei, Bansal and Walter 2016): an instruction and a map go in, actions come out, seen step by step from where
they lead.

    s_0 = tanh(W h),   h the last states of both directions
    z_t = attention(s_{t-1}, [x_j ; h_j])                                         the aligner, over words and states: encoder.skip = true
    s_t = LSTM(s_{t-1}, [E y_t ; z_t]),   y_t = what is seen at the pose of step t
    p(a_t) = softmax(L_0 (E y_t + L_s s_t + L_z z_t))

The pose is part of the decoder's state, and each action moves it: search, of any kind, plans by walking. Nothing else of what was done
before is read. Rows are of the field `walk`; actions are walk, left, right and stop, and walking against a wall changes nothing.

    multi-level aligner   encoder birnn, skip = true;  attention additive      (the paper's)
    high-level aligner    skip = false
    without aligner       attention every-step: the same summary at each step
    without encoder       encoder embedding

Shapes: B rows, T steps, S words, P poses, F numbers that are seen, D width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import pydantic
import torch
from torch import Tensor, nn

from xattend import registry
from xattend.attention.base import Attention
from xattend.cells.base import Cell
from xattend.data.fields.walk import Walk as WalkField
from xattend.data.maps import ACTIONS
from xattend.decoders.base import Decoder
from xattend.errors import UserError
from xattend.layers.dropout import Dropout
from xattend.registry import Named, register
from xattend.systems.encoder_decoder import EncoderDecoder
from xattend.systems.parts import Parts
from xattend.types import Batch, Memory, Padded, State, Step

Positive = Annotated[int, pydantic.Field(ge=1)]


class Walker(Decoder):
    """What is seen, attention and a cell. A memory's `carry` is the pose that each row begins at."""

    def __init__(self, features_PF: Tensor, after_PV: Tensor, attention: Attention, cell: Cell, memory_size: int, dropout: float) -> None:
        super().__init__()
        self.attention, self.cell, self.dropout = attention, cell, Dropout(dropout)
        self.begin = nn.Linear(memory_size, cell.size)
        self.see = nn.Linear(features_PF.shape[1], cell.size, bias=False)
        self.state, self.context = nn.Linear(cell.size, cell.size), nn.Linear(attention.context_size, cell.size, bias=False)
        self.output = nn.Linear(cell.size, after_PV.shape[1])
        self.features_PF: Tensor
        self.after_PV: Tensor
        self.register_buffer("features_PF", features_PF, persistent=False)
        self.register_buffer("after_PV", after_PV, persistent=False)

    def start(self, memory: Memory) -> State:
        bound = self.attention.bind(memory)
        _, *rest = self.cell.start(len(memory.mask_BS))
        hidden_BD = torch.tanh(self.begin(self.dropout(memory.summary_BD)))  # from zeros the first look would be the same for all instructions
        moving = {"cell": (hidden_BD, *rest), "attention": self.attention.start(bound), "pose": memory.carry}
        return State(bound, moving)

    def _update(self, token_B: Tensor, state: State) -> tuple[Tensor, Tensor, State]:
        """hidden_BD, weights_BHS and the state after an action; the mark that a walk begins with moves nobody."""
        pose_B = self.after_PV[state.moving["pose"], token_B]
        seen_BD = self.see(self.features_PF[pose_B])
        context_BD, weights_BHS, attended = self.attention.attend(state.moving["cell"][0], state.source, state.moving["attention"])
        assert weights_BHS is not None
        cell = self.cell(torch.cat([self.dropout(seen_BD), self.dropout(context_BD)], dim=1), state.moving["cell"])
        hidden_BD = self.dropout(seen_BD + self.state(cell[0]) + self.context(context_BD))
        return hidden_BD, weights_BHS, state.then({"cell": cell, "attention": attended, "pose": pose_B})

    def step(self, token_B: Tensor, state: State) -> Step:
        hidden_BD, weights_BHS, state = self._update(token_B, state)
        return Step(self.output(hidden_BD), state, weights_BHS)

    def hidden(self, memory: Memory, tokens_BT: Tensor) -> Tensor:
        state, found = self.start(memory), []
        for token_B in tokens_BT.unbind(dim=1):
            hidden_BD, _, state = self._update(token_B, state)
            found.append(hidden_BD)
        return torch.stack(found, dim=1)


@register("system", "walk")
class Walk(EncoderDecoder):
    """An encoder, an attention, an objective, and a decoder that walks."""

    uses = ("encoder", "attention", "objective")

    def __init__(
        self, parts: Parts, *,
        cell: Annotated[str, Named("cell"), "the recurrent cell"] = "lstm",
        size: Annotated[Positive, "its width"] = 100,
        dropout: Annotated[float, "on what is seen, on the context and before the output"] = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        if not isinstance(parts.source, WalkField):
            raise UserError("the system 'walk' reads instructions on a map: set data.source.kind = \"walk\"")
        self.source, self.target = parts.source, parts.target
        world = parts.source.world
        features_PF, after_PA = torch.from_numpy(world.features), torch.from_numpy(world.after)
        # an action's column by its token; whatever else is read (BOS, an unknown word) leaves the pose as it is
        names = self.target.symbols(list(range(self.target.space.symbols())))
        stays_P = torch.arange(len(features_PF))
        after_PV = torch.stack([after_PA[:, ACTIONS.index(name)] if name in ACTIONS else stays_P for name in names], dim=1)
        self.encoder = parts.build("encoder", replace(self.source.space, beside=None))
        attention: Attention = parts.build("attention", size, self.encoder.size)
        built: Cell = registry.build("cell", cell, size + attention.context_size, size)
        self.decoder = Walker(features_PF, after_PV, attention, built, self.encoder.size, dropout)
        self.objective = parts.build("objective")
        self.objective.wire(self.encoder.size)

    def read(self, batch: Batch) -> Memory:
        """The instruction, read, and the pose."""
        assert batch.source is not None
        assert batch.source.beside is not None
        memory: Memory = self.encoder(Padded(batch.source.values, batch.source.mask_BS))
        return replace(memory, carry=batch.source.beside.values[:, 0])
