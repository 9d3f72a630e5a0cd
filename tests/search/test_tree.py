"""The tree of a beam: against enumeration, against the hypotheses, and that watching changes nothing."""

from __future__ import annotations

import math

import pytest
import torch

from tests.search.models import Attending, Named, Table, every_output, sources
from xattend.data.fields.text import Text
from xattend.errors import UserError
from xattend.search import Beam, Constrained, DiverseBeam, Greedy, MinimumRisk, Search
from xattend.search.tree import BeamTree, Node, watched
from xattend.types import BOS, EOS

VOCABULARY, LIMIT = 6, 3
SEARCHES: list[Search] = [
    Beam(size=3, nbest=3, max_length=8), Beam(size=1, max_length=8), Beam(size=4, nbest=2, stop="bound", max_length=6, coverage_penalty=0.2),
    Constrained(size=3, nbest=2, max_length=8), MinimumRisk(size=4, nbest=3, max_length=8), Greedy(max_length=8),
]  # fmt: skip


def paths(nodes: list[Node]) -> dict[int, list[int]]:
    """The tokens that lead to each node."""
    found: dict[int, list[int]] = {0: []}
    for node in nodes[1:]:
        found[node.id] = [*found[node.parent], node.token]
    return found


def seen_by(search: Search, decoder: object, lengths: int = 4) -> tuple[list[Node], BeamTree]:
    searching, tree = watched(search)
    assert tree is not None
    found = searching.search(decoder, sources([lengths]))  # type: ignore[arg-type]
    return tree.nodes(found[0][0]), tree


def test_a_beam_wide_enough_has_looked_at_every_output() -> None:
    table = Table(VOCABULARY, 2)
    nodes, _ = seen_by(Beam(size=110, max_length=LIMIT), table)
    ways = paths(nodes)
    ended = {tuple(ways[node.id][:-1]): node for node in nodes if node.token == EOS}
    assert set(ended) == {tuple(tokens) for tokens in every_output(VOCABULARY, LIMIT)}
    for tokens, node in ended.items():
        assert node.total == pytest.approx(table.logprob(list(tokens)), abs=1e-4)
        assert node.score == pytest.approx(node.total / (len(tokens) + 1), abs=1e-4)
        assert (node.kept, node.why) == (True, "finished")
    best = max(ended.values(), key=lambda node: node.score or -math.inf)
    assert best.best
    assert [node.token for node in nodes if node.best] == [BOS, *ways[best.id]]


def test_by_hand() -> None:
    # 4 (.5) then the end (.4); 5 (.3) then the end (.9); the end at once (.1)
    chances = {(): {4: 0.5, 5: 0.3, EOS: 0.1}, (4,): {4: 0.35, 5: 0.2, EOS: 0.4}, (5,): {EOS: 0.9}}
    nodes, _ = seen_by(Beam(size=2, max_length=2, penalty="none"), Named(chances, 6))
    said = {tuple(way): nodes[id] for id, way in paths(nodes).items()}
    assert [(way, node.why) for way, node in said.items() if node.step == 1] == [((4,), None), ((5,), None), ((EOS,), "outranked"), ((1,), "pruned")]
    assert said[5, EOS].why == said[4, EOS].why == "finished"
    assert said[5, EOS].score == pytest.approx(math.log(0.27), abs=1e-5)
    assert said[4, EOS].score == pytest.approx(math.log(0.2), abs=1e-5)
    assert (said[4, 4].why, said[4, 5].why) == ("outranked", "outranked")  # two have finished: the search is over
    assert [way for way, node in said.items() if node.best] == [(), (5,), (5, EOS)]
    assert [way for way, node in said.items() if node.greedy] == [(), (4,), (4, EOS)]
    assert [said[way].rank for way in ((4,), (5,), (EOS,), (1,))] == [0, 1, 2, 3]
    assert said[4, EOS].logprob == pytest.approx(math.log(0.4), abs=1e-5)


def test_the_length_limit_is_told_apart() -> None:
    never = Named({way: {EOS: 1e-9, 4: 0.9} for way in ((), (4,), (4, 4))}, 6)
    nodes, _ = seen_by(Beam(size=1, max_length=2), never)
    assert [node.why for node in nodes if node.step == 3 and node.rank == 0] == ["length limit"]
    assert [node.token for node in nodes if node.best] == [BOS, 4, 4]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: f"{type(search).__name__}-{getattr(search, 'size', '')}")
@pytest.mark.parametrize("seed", range(3))
def test_watching_changes_nothing_and_misses_nothing(search: Search, seed: int) -> None:
    decoder, memory = Attending(12, seed=seed), sources([5])
    searching, tree = watched(search)
    assert tree is not None
    found, plain = searching.search(decoder, memory, attention=True)[0], search.search(decoder, memory, attention=True)[0]
    assert vars(search).get("watch") is None
    for one, other in zip(found, plain, strict=True):
        assert (one.tokens, one.score, one.logprob, one.token_logprobs, one.finished) == (
            other.tokens, other.score, other.logprob, other.token_logprobs, other.finished
        )  # fmt: skip
        assert (one.weights_THS == other.weights_THS).all()
    nodes = tree.nodes(found[0])
    ways = {tuple(way): nodes[id] for id, way in paths(nodes).items()}
    for one in found:
        end = ways[(*one.tokens, *[EOS] * one.finished)]
        assert end.total == pytest.approx(one.logprob, abs=1e-4)
        assert not one.finished or isinstance(search, MinimumRisk) or end.score == pytest.approx(one.score, abs=1e-4)
    assert [node.token for node in nodes if node.best] == [BOS, *found[0].tokens, *[EOS] * found[0].finished]
    greedy = Greedy(max_length=search.limits.max_length).search(decoder, memory)[0][0]
    followed, whole = [node.token for node in nodes if node.greedy][1:], [*greedy.tokens, *[EOS] * greedy.finished]
    assert followed[: len(whole)] == whole[: len(followed)]
    for node in nodes[1:]:
        parent = nodes[node.parent]
        assert node.total == pytest.approx(parent.total + node.logprob, abs=1e-3)
        assert parent.kept
        assert parent.why is None
        assert parent.step == node.step - 1
    assert all(node.kept or node.why for node in nodes)


def test_a_prefix_is_a_single_path() -> None:
    searching, tree = watched(Beam(size=3, max_length=6))
    assert tree is not None
    found = searching.search(Attending(12), sources([4]), prefix=[[5, 6]])[0]
    nodes = tree.nodes(found[0])
    assert [node.token for node in nodes if node.step in (1, 2)] == [5, 6]


def test_one_row_at_a_time_and_each_search_anew() -> None:
    searching, tree = watched(Beam(size=2, max_length=4))
    assert tree is not None
    with pytest.raises(UserError, match="one row at a time"):
        searching.search(Table(VOCABULARY), sources([3, 3]))
    for seed in (1, 2):
        found = searching.search(Table(VOCABULARY, seed), sources([3]))[0]
        assert tree.nodes(found[0])[-1].id == len(tree.nodes()) - 1
    assert len([node for node in tree.nodes() if node.parent == -1]) == 1
    assert watched(DiverseBeam(size=4, groups=2))[1] is None


def test_as_json() -> None:
    field = Text(unit="word")
    field.fit(["a b"])
    nodes, tree = seen_by(Beam(size=2, max_length=2), Table(VOCABULARY))
    said = tree.to_json(field)["nodes"]
    assert len(said) == len(nodes)
    assert said[0] == {
        "id": 0, "parent": -1, "step": 0, "token": "<s>", "logprob": 0.0, "total": 0.0, "rank": 0, "kept": True, "greedy": True, "why": None,
        "score": None, "best": False,
    }  # fmt: skip
    assert {node["token"] for node in said} <= {"<s>", "</s>", "<unk>", "a", "b"}
    assert torch.tensor([node["total"] for node in said]).isfinite().all()
