"""Dynamic memory networks (Kumar et al. 2016, DMN; Xiong et al. 2016, DMN+): episodes over the facts of a story.

    g_i = attention([m ; q], fact_i)                         where to look: the question and what is remembered ask together
    c = the episode: what is read of the facts with these gates
    m' = what is remembered then                             m is q at first; hop k = 1 .. K
    p(answer) = softmax(W [m ; q] + b)

episode   "attention-gru"  a GRU whose update gate is g_i (layers/attention_gru.py)                     DMN+
          "gated-gru"      h_i = g_i GRU(fact_i, h_{i-1}) + (1 - g_i) h_{i-1}                            DMN
          "soft"           sum_i g_i fact_i: the order of the facts is lost
update    "relu"           m' = relu(W_k [m ; c ; q] + b_k), weights of its own for each hop             DMN+
          "gru"            m' = GRU(c, m), the same for all                                              DMN

The attention is any registered one; `interaction` is that of the papers. Facts may be supervised (`supervise`): hop k should open its gate for the
k-th supporting fact and for no other. Rows that name no facts teach no gate, and facts may be more than hops: both are counted in the log, as
`rows_without_facts` and `facts_beyond_hops`.

Shapes: B batch, S sentences, D width, K hops.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from xattend import registry
from xattend.attention.base import Attention, Bound
from xattend.cells.base import Cell
from xattend.encoders.base import Encoder
from xattend.errors import UserError
from xattend.layers.attention_gru import AttentionGRU
from xattend.layers.dropout import Dropout
from xattend.registry import register
from xattend.systems.hopping import Hopping, gold, likelihood, untaught
from xattend.systems.parts import Parts
from xattend.types import Padded

SURE = 1e-6  # no gate is taken to be surer than this when it is judged


class Remembering(NamedTuple):
    """The facts, bound to the attention; the question; what is remembered."""

    bound: Bound
    facts_BSD: Tensor
    question_BD: Tensor
    memory_BD: Tensor


@register("system", "dmn")
class DMN(Hopping[Remembering]):
    """An encoder of stories (`facts`, `sentences`), an attention, and episodes."""

    uses = ("encoder", "attention")

    def __init__(
        self, parts: Parts, *,
        hops: Annotated[int, Field(ge=1), "episodes, one after the other"] = 3,
        episode: Annotated[Literal["attention-gru", "gated-gru", "soft"], "how the facts are read"] = "attention-gru",
        update: Annotated[Literal["relu", "gru"], "how an episode changes what is remembered"] = "relu",
        supervise: Annotated[float, Field(ge=0), "weight of the loss of gates that miss their supporting facts"] = 0.0,
        dropout: Annotated[float, "on what answers are scored from"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(parts)
        self.hops, self.supervise, self.kind = hops, supervise, episode
        self.encoder: Encoder = parts.build("encoder", self.source.space)
        size = self.encoder.size
        self.attention: Attention = parts.build("attention", 2 * size, size)
        if self.attention.stateful or not self.attention.reads_query:
            raise UserError("the system 'dmn' needs an attention that looks by the query alone: set attention.kind = \"interaction\"")
        self.reader: nn.Module | None = None
        if episode == "attention-gru":
            self.reader = AttentionGRU(size, size)
        elif episode == "gated-gru":
            self.reader = registry.build("cell", "gru", size, size)
        self.cell: Cell | None = registry.build("cell", "gru", size, size) if update == "gru" else None
        self.updates = nn.ModuleList([] if update == "gru" else [nn.Linear(3 * size, size) for _ in range(hops)])
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(2 * size, self.target.space.symbols())

    def ask(self, source: Padded) -> Remembering:
        memory = self.encoder(source)
        return Remembering(self.attention.bind(memory), memory.states_BSD, memory.summary_BD, memory.summary_BD)

    def hop(self, number: int, asked: Remembering) -> tuple[Remembering, Tensor]:
        query_BQ = torch.cat([asked.memory_BD, asked.question_BD], dim=1)
        context_BD, weights_BHS, _ = self.attention.attend(query_BQ, asked.bound, self.attention.start(asked.bound))
        assert weights_BHS is not None
        gates_BS = weights_BHS.float().mean(dim=1)
        if self.kind != "soft":
            context_BD = self._read(asked.facts_BSD, gates_BS)
        if self.cell is not None:
            (memory_BD,) = self.cell(context_BD, (asked.memory_BD,))
        else:
            memory_BD = F.relu(self.updates[number](torch.cat([asked.memory_BD, context_BD, asked.question_BD], dim=1)))
        return asked._replace(memory_BD=memory_BD), gates_BS

    def _read(self, facts_BSD: Tensor, gates_BS: Tensor) -> Tensor:
        """The episode, in the order of the facts; padding has a gate of 0 and changes nothing."""
        if isinstance(self.reader, AttentionGRU):
            context_BD: Tensor = self.reader(facts_BSD, gates_BS)
            return context_BD
        assert isinstance(self.reader, Cell)
        state = self.reader.start(len(facts_BSD))
        projected_BSG = self.reader.project(facts_BSD)
        for projected_BG, gate_B in zip(projected_BSG.unbind(1), gates_BS.unbind(1), strict=True):
            (new_BD,) = self.reader.advance(projected_BG, state)
            state = (torch.lerp(state[0], new_BD, gate_B[:, None]),)
        return state[0]

    def answer(self, asked: Remembering) -> Tensor:
        logits_BV: Tensor = self.output(self.dropout(torch.cat([asked.memory_BD, asked.question_BD], dim=1)))
        return logits_BV

    def learn(self, source: Padded, label_B: Tensor) -> tuple[Tensor, Tensor, dict[str, float]]:
        thought = self.think(source)
        nll = likelihood(thought.logits_BV, label_B)
        if self.supervise == 0.0:
            return nll, nll, {}
        facts_BK, there_BK = gold(source, self.hops)
        if not bool(there_BK.any()):
            raise UserError(
                f"system.supervise = {self.supervise} teaches gates by supporting facts, and no row of a batch names any: "
                "put #1 #3 and so on behind the questions, or set system.supervise = 0"
            )
        wanted_BKS = F.one_hot(facts_BK, source.mask_BS.shape[1]).to(nll.dtype)
        judged_BKS = (there_BK[:, :, None] & source.mask_BS[:, None]).to(nll.dtype)
        missed = F.binary_cross_entropy(thought.weights_BKS.clamp(SURE, 1 - SURE), wanted_BKS, judged_BKS, reduction="sum")
        return nll + self.supervise * missed, nll, {"facts": float(missed.detach()), **untaught(source, self.hops)}
