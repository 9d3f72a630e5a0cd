"""What a beam looked at: every candidate of every step, which of them went on, and why the others did not.

A search with a `watch` tells it of each step; without one, nothing is kept and nothing costs. One row at a time.

    searching, seen = watched(Beam(size=2))
    found = searching.search(decoder, memory)
    seen.nodes(found[0][0])

A node is one token after its parent's. `why` says why nothing follows it:

    finished       it ended among the first K of its step
    pruned         it did not end, and K others of its step were likelier
    outranked      it ended, but not among the first K; or it was open when K others had finished
    length limit   it was open when the length limit was reached

`greedy` marks the path that takes each time the likeliest next token, as far as the beam followed it; `best` the answer's.

Two beginnings' worth of beam over a vocabulary of six, where 3 ends:

>>> seen = BeamTree()
>>> kept = Likeliest().choose(torch.tensor([[-9, -8, -7, -2, -1, -3.0]] * 2), torch.tensor([[0, -torch.inf]]))
>>> seen.step(0, kept, torch.tensor([[-torch.inf, -1.0]]), torch.tensor([False]), torch.tensor([7]))
>>> [(node.token, node.total, node.kept, node.why) for node in seen.nodes()[1:]]
[(4, -1.0, True, None), (3, -2.0, True, 'finished'), (5, -3.0, True, None), (2, -7.0, False, 'pruned')]

Shape suffixes: B sentences (here 1), K beams, C candidates, N rows at one step, V vocabulary.
"""

from __future__ import annotations

from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from xattend.data.fields.base import Field
from xattend.errors import UserError
from xattend.search.base import Search
from xattend.search.beam import Beam
from xattend.search.choose import Candidates, Likeliest
from xattend.search.greedy import Greedy
from xattend.search.risk import MinimumRisk
from xattend.search.walk import Choose
from xattend.types import BOS, EOS, Hypothesis

Why = Literal["finished", "pruned", "outranked", "length limit"]
NOWHERE = -1  # the parent of the first node, and a beam that holds no beginning


@dataclass
class Node:
    """A candidate: `logprob` is its token's, `total` the whole beginning's, `rank` its place among its step's candidates."""

    id: int
    parent: int
    step: int
    token: int
    logprob: float
    total: float
    rank: int
    kept: bool  # it went on, or finished
    greedy: bool
    why: Why | None = None
    score: float | None = None  # of a finished one: what the search ranked it by
    best: bool = False


class BeamTree:
    """Grows while one search of one row runs; a new search starts it anew."""

    def __init__(self) -> None:
        self._restart()

    def _restart(self) -> None:
        self._nodes = [Node(0, NOWHERE, 0, BOS, 0.0, 0.0, 0, kept=True, greedy=True)]
        self._slots: list[int] = []  # the node of each beam; none at first: all stand at the first node

    def step(self, written: int, kept: Candidates, score_BK: Tensor, done_B: Tensor, limit_B: Tensor) -> None:
        """A step after so many tokens; `score_BK` is finite for those of the first K that ended, `done_B` says whether it was the last."""
        if len(done_B) != 1:
            raise UserError(f"the tree of a search is kept for one row at a time, not for {len(done_B)}")
        if written == 0:
            self._restart()
        scores, alive = score_BK[0].tolist(), kept.alive_BK[0].tolist()
        columns = zip(*(part[0].tolist() for part in kept[:4]))
        found: dict[tuple[int, int], int] = {}  # a rule may list a candidate twice: among the first K, and among those that go on
        places: list[int] = []
        for rank, (total, own, beam, token) in enumerate(columns):
            parent = self._slots[beam] if self._slots else 0
            if total == -torch.inf or parent == NOWHERE:
                places.append(NOWHERE)
                continue
            id = found.setdefault((parent, token), len(self._nodes))
            places.append(id)
            if id == len(self._nodes):
                self._nodes.append(Node(id, parent, written + 1, token, own, total, len(found) - 1, kept=False, greedy=False))
            if token == EOS and rank < len(scores) and scores[rank] > -torch.inf:
                self._nodes[id].score = scores[rank]
        self._slots = [places[place] for place in alive]
        self._judge(list(found.values()), bool(done_B[0]), written == int(limit_B[0]))

    def _judge(self, ids: list[int], done: bool, full: bool) -> None:
        """Why each candidate of a step goes on or not."""
        for node in (self._nodes[id] for id in ids):
            if node.score is not None:
                node.kept, node.why = True, "finished"
            elif node.token == EOS:
                node.why = "outranked"
            elif node.id not in self._slots:
                node.why = "pruned"
            elif done:
                node.why = "length limit" if full else "outranked"
            else:
                node.kept = True
        ahead = [self._nodes[id] for id in ids if self._nodes[self._nodes[id].parent].greedy]
        if ahead:
            max(ahead, key=lambda node: node.logprob).greedy = True

    def alone(self, limit_B: Tensor) -> Choose:
        """Greedy search's choice, told here: a beam of one."""
        return partial(self._likeliest, limit_B)

    def _likeliest(self, limit_B: Tensor, allowed_NV: Tensor, written: int, rows_N: Tensor) -> Tensor:
        before = self._nodes[self._slots[0]].total if written else 0.0
        kept = Likeliest().choose(allowed_NV, allowed_NV.new_full((len(allowed_NV), 1), before))
        ended_B1 = kept.token_BC[:, :1] == EOS
        score_B1 = kept.total_BC[:, :1].masked_fill(~ended_B1, -torch.inf)
        self.step(written, kept, score_B1, ended_B1[:, 0] | (written == limit_B), limit_B)
        return allowed_NV.argmax(dim=1)

    def nodes(self, best: Hypothesis | None = None) -> list[Node]:
        """All candidates, parents first; the path to the answer is marked."""
        found = [replace(node) for node in self._nodes]
        if best is not None:
            child = {(node.parent, node.token): node for node in found}
            at: Node | None = found[0]
            for token in [*best.tokens, *[EOS] * best.finished, None]:
                if at is None:
                    break
                at.best = True
                at = None if token is None else child.get((at.id, token))
        return found

    def to_json(self, target: Field, best: Hypothesis | None = None) -> dict[str, Any]:
        """The tree of a trace document, its tokens by name."""
        nodes = self.nodes(best)
        names = target.symbols([node.token for node in nodes])
        return {"nodes": [{**asdict(node), "token": name} for node, name in zip(nodes, names, strict=True)]}


def watched(search: Search) -> tuple[Search, BeamTree | None]:
    """The search with a tree that it fills, and the tree: None for a kind of search that keeps no beam."""
    tree, found = BeamTree(), copy(search)
    if isinstance(found, (Beam, Greedy)):
        found.watch = tree
    elif isinstance(found, MinimumRisk):
        found.beam = copy(found.beam)
        found.beam.watch = tree
    else:
        return search, None
    return found, tree
