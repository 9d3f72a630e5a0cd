"""Memory networks: numbers worked by hand, a plain loop beside MemN2N, tying, linear start, and learning in seconds."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch

from tests.systems import small
from xattend.attention.base import masked_softmax
from xattend.data.fields.story import Story
from xattend.data.fields.text import Text
from xattend.data.tasks.stories import Stories
from xattend.errors import UserError
from xattend.metrics.facts import Looks, looked_at
from xattend.recipe import Recipe
from xattend.search.beam import Beam
from xattend.search.greedy import Greedy
from xattend.systems import System, assemble
from xattend.systems.hopping import Hopping, gold
from xattend.systems.memn2n import MemN2N
from xattend.systems.memnn import MemNN
from xattend.types import EOS, Batch, Padded

ROWS = [(source, target) for source, target in Stories(rows=1000).splits()["train"] if source.count(".") <= 6][:300]
KINDS: list[dict[str, dict[str, Any]]] = [
    {"system": {"kind": "memn2n"}, "encoder": {"kind": "sentences", "size": 20, "noise": 0.1}, "attention": {"kind": "dot"}},
    {"system": {"kind": "memn2n", "tying": "layer-wise", "hops": 2}, "encoder": {"kind": "sentences", "size": 20}, "attention": {"kind": "dot"}},
    {"system": {"kind": "memnn", "hops": 1}, "encoder": {"kind": "sentences", "size": 20, "words": "bag"}},
    {"system": {"kind": "dmn", "hops": 2}, "encoder": {"kind": "facts", "size": 24}, "attention": {"kind": "interaction", "size": 24}},
    {"system": {"kind": "dmn", "hops": 1, "episode": "gated-gru", "update": "gru", "supervise": 1.0},
     "encoder": {"kind": "facts", "size": 24, "words": "gru", "fusion": False}, "attention": {"kind": "interaction", "size": 24, "features": "all", "gate": "sigmoid"}},
]  # fmt: skip
NAMES = ["memn2n", "layer-wise", "memnn", "dmn-plus", "dmn"]
each_kind = pytest.mark.parametrize("sections", KINDS, ids=NAMES)


@functools.cache
def fields() -> tuple[Story, Text]:
    story, answers = Story(), Text(unit="word")
    story.fit([source for source, _ in ROWS])
    answers.fit([target for _, target in ROWS])
    return story, answers


def system(sections: dict[str, dict[str, Any]]) -> System:
    recipe = Recipe({"data": {"task": "stories"}, "training": {"seed": 3}, **sections}, "t.toml").resolve()
    return assemble(recipe, *fields())


def batch(rows: list[tuple[str, str]]) -> Batch:
    story, answers = fields()
    target = answers.collate([np.array(answers.as_target(answers.encode(target)), np.int32) for _, target in rows])
    return Batch(story.read([source for source, _ in rows]), target, tuple(range(len(rows))))


def memn2n(**settings: Any) -> MemN2N:
    found = system({**KINDS[0], "system": {"kind": "memn2n", **settings}})
    assert isinstance(found, MemN2N)
    return found.eval()


# --- MemN2N


def plainly(model: MemN2N, source: Padded, row: int) -> torch.Tensor:
    """One story, one sentence, one word, one unit at a time."""
    tables = list(model.tables)
    size = model.first.size

    def text(table: Any, ids: list[int]) -> torch.Tensor:
        ids = [id for id in ids if id]
        total = torch.zeros(size)
        for j, id in enumerate(ids, 1):
            for k in range(1, size + 1):
                total[k - 1] += 2 * ((1 - j / len(ids)) - (k / size) * (1 - 2 * j / len(ids))) * table.embedding.weight[id, k - 1]
        return total

    sentences = source.values[row][source.mask_BS[row]].tolist()
    assert source.beside is not None
    asked = text(tables[0], source.beside.values[row].tolist())
    for hop in range(model.hops):
        keys, values = (tables[hop], tables[hop + 1]) if model.adjacent else (tables[0], tables[1])
        scores, slots = [], []
        for i, ids in enumerate(sentences):
            age = len(sentences) - 1 - i
            scores.append(asked @ (text(keys, ids) + keys.time.weight[age]))  # type: ignore[union-attr, operator, index]
            slots.append(text(values, ids) + values.time.weight[age])  # type: ignore[union-attr, operator, index]
        for _ in range(len(sentences), model.slots):  # empty ones
            scores.append(torch.zeros(()))
            slots.append(torch.zeros(size))
        weights = torch.stack(scores) if model.linear() else torch.stack(scores).softmax(dim=0)
        seen = sum(weight * slot for weight, slot in zip(weights, slots, strict=True))
        asked = (asked if model.carry is None else model.carry.weight @ asked) + seen
    return torch.stack([asked @ tables[-1].embedding.weight[answer] for answer in model.rows_V.tolist()])  # type: ignore[union-attr, index]


@pytest.mark.parametrize(
    "settings", [{}, {"tying": "layer-wise", "hops": 2}, {"linear_start": 5, "hops": 1}, {"slots": 9}, {"slots": 9, "linear_start": 5}],
    ids=["adjacent", "layer-wise", "linear", "empty slots", "linear with empty slots"],
)  # fmt: skip
def test_it_is_the_plain_loop(settings: dict[str, Any]) -> None:
    torch.manual_seed(4)
    model, source = memn2n(**settings), batch(ROWS[:3]).source
    assert source is not None
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    with torch.no_grad():
        logits = model.think(source).logits_BV
        for row in range(3):
            torch.testing.assert_close(logits[row, EOS + 1 :], plainly(model, source, row)[EOS + 1 :], atol=1e-4, rtol=1e-3)


def test_adjacent_tying_has_one_table_more_than_hops_and_layer_wise_two() -> None:
    """Words and ages of each table; B = A_1 and W = C_K cost nothing."""
    words, ages = len(memn2n().first.embedding.weight), 50
    weights = {hops: sum(weight.numel() for weight in memn2n(hops=hops).parameters()) for hops in (1, 3)}
    assert weights == {1: 2 * 20 * (words + ages), 3: 4 * 20 * (words + ages)}
    assert sum(weight.numel() for weight in memn2n(hops=3, tying="layer-wise").parameters()) == 2 * 20 * (words + ages) + 20 * 20


def test_answers_have_the_vectors_of_their_words() -> None:
    """The answer 'attic' is scored by the last table's vector of the word 'attic'."""
    model = memn2n()
    attic = model.target.encode("attic")[0]
    assert int(model.rows_V[attic]) == model.source.text.encode("attic")[0]


def test_the_linear_start_ends_after_so_many_losses_and_is_saved() -> None:
    model, rows = memn2n(linear_start=2, hops=1), batch(ROWS[:8])
    assert rows.source is not None
    asked = model.ask(rows.source)
    scores = (asked.slots[0] @ asked.asked_BD[:, :, None]).squeeze(2)
    seen = []
    for _ in range(3):
        seen.append(model.think(rows.source).weights_BKS[:, 0])
        model.train().loss(rows)
        model.eval().loss(rows)  # validation does not count
    torch.testing.assert_close(seen[0], scores * rows.source.mask_BS)
    torch.testing.assert_close(seen[1], seen[0])
    torch.testing.assert_close(seen[2], masked_softmax(scores[:, None], rows.source.mask_BS)[:, 0])
    again = memn2n(linear_start=2, hops=1)
    again.load_state_dict(model.state_dict())
    assert not again.linear()


def test_a_memory_needs_a_slot_for_each_sentence() -> None:
    story = "Ada walked to the attic. Boris walked to the cellar. Ada walked to the market."
    rows = batch([("Ada walked to the attic. Where is Ada?", "attic"), (f"{story} Where is Ada?", "market")])
    memn2n(slots=3).loss(rows)
    with pytest.raises(UserError, match=r"has 3 sentences, and the memory 2 slots: set system.slots = 3 or more"):
        memn2n(slots=2).loss(rows)


def test_what_makes_its_context_in_its_own_way_is_refused() -> None:
    with pytest.raises(UserError, match="choose 'dot'"):
        system({**KINDS[0], "attention": {"kind": "multi-head", "heads": 2}})
    with pytest.raises(UserError, match="sentences"):
        system({**KINDS[0], "encoder": {"kind": "facts"}})


# --- MemNN and DMN


def test_hard_hops_choose_by_score_and_stop_at_nothing() -> None:
    model = system({"system": {"kind": "memnn", "hops": 3}, "encoder": {"kind": "sentences", "size": 8}}).eval()
    assert isinstance(model, MemNN)
    source = batch(ROWS[:4]).source
    assert source is not None
    asked = model.ask(source)
    first = model.scores(asked).argmax(dim=1)
    weights = model.think(source).weights_BKS
    for row in range(4):
        if first[row] < source.mask_BS.shape[1]:
            assert weights[row, 0].argmax() == first[row]
            assert weights[row, 0].sum() == 1
    model.nothing.data = asked.asked_BD.detach()[0] * 1e3  # what the first row asks for is nothing
    assert not model.think(source).weights_BKS[0].any()


def test_facts_that_are_given_are_the_ones_learnt_from() -> None:
    source = batch([("Ada walked to the attic. Ada walked to the cellar. Where is Ada? #2", "cellar"), (ROWS[0][0], ROWS[0][1])]).source
    assert source is not None
    facts, there = gold(source, 2)
    assert facts[0].tolist() == [1, 0]
    assert there[0].tolist() == [True, False]
    model = system(KINDS[2]).train()
    bare = batch([("Ada walked to the attic. Where is Ada?", "attic")])
    with pytest.raises(UserError, match="names none"):
        model.loss(bare)


STORY = "Ada walked to the attic. Ada walked to the cellar. Where is Ada?"


def test_facts_without_a_hop_are_counted() -> None:
    model = system(KINDS[2]).train()  # one hop
    rows = batch([(f"{STORY} #2 #1", "cellar"), (f"{STORY} #2", "cellar")])
    assert model.loss(rows).parts["facts_beyond_hops"] == 1
    assert not {"facts_beyond_hops", "rows_without_facts"} & {*model.loss(batch([(f"{STORY} #2", "cellar")])).parts}


def test_rows_without_facts_teach_no_gate_and_are_counted() -> None:
    model = system(KINDS[4]).train()  # one hop, supervised
    parts = model.loss(batch([(f"{STORY} #2 #1", "cellar"), (STORY, "cellar"), (STORY, "cellar")])).parts
    assert (parts["rows_without_facts"], parts["facts_beyond_hops"]) == (2, 1)
    with pytest.raises(UserError, match=r"supervise = 1.0 .* no row of a batch names any"):
        model.loss(batch([(STORY, "cellar"), (STORY, "cellar")]))
    system(KINDS[3]).train().loss(batch([(STORY, "cellar")]))  # which is not supervised


# --- all of them


@each_kind
def test_padding_changes_nothing(sections: dict[str, dict[str, Any]]) -> None:
    model = system(sections).eval()
    assert isinstance(model, Hopping)
    rows = sorted(ROWS[:12], key=lambda row: row[0].count("."))
    whole = batch(rows).source
    assert whole is not None
    with torch.no_grad():
        together = model.think(whole)
        alone = batch(rows[:1]).source
        assert alone is not None
        assert alone.values.shape[1] < whole.values.shape[1]
        single = model.think(alone)
    torch.testing.assert_close(together.logits_BV[:1], single.logits_BV, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(together.weights_BKS[:1, :, : alone.values.shape[1]], single.weights_BKS, atol=1e-4, rtol=1e-4)
    assert not together.weights_BKS.masked_select(~whole.mask_BS[:, None]).any()


@each_kind
def test_an_answer_is_one_word_then_the_end_and_its_trace_is_sentences_by_hops(sections: dict[str, dict[str, Any]]) -> None:
    model = system(sections).eval()
    assert isinstance(model, Hopping)
    rows = batch(ROWS[:3])
    found, scored = model.predict(rows, Greedy(), attention=True), model.score(rows)
    for one, logs in zip(found, scored, strict=True):
        assert len(one.tokens) == 1
        assert one.finished
        assert one.trace is not None
        assert one.trace.kind == "memory"
        assert one.trace.weights_THS.shape == (2, model.hops, len(one.trace.source_tokens))
        assert one.trace.heads == [f"hop {number + 1}" for number in range(model.hops)]
        assert logs[1] == 0.0
    best = model.predict(rows, Beam(size=3, nbest=3))
    assert [one.text for one in best] == [one.text for one in found]
    assert len(best[0].nbest) == 3
    loss = model.loss(rows)
    assert loss.parts["nll"] == pytest.approx(-sum(logs[0] for logs in scored), rel=1e-4)


@pytest.mark.parametrize(("sections", "passes"), list(zip(KINDS, (30, 25, 15, 15, 12), strict=True)), ids=NAMES)
def test_it_learns_where_people_are_in_seconds(sections: dict[str, dict[str, Any]], passes: int) -> None:
    model = system(sections)
    torch.manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    batches = [batch(ROWS[start : start + 25]) for start in range(0, 250, 25)]
    for _ in range(passes):
        for one in batches:
            optimiser.zero_grad()
            (model.loss(one).total / 25).backward()
            optimiser.step()
    rows, looks = ROWS[250:], Looks()
    found = model.eval().predict(batch(rows), Greedy(), attention=True)
    right = sum(one.text == target for one, (_, target) in zip(found, rows, strict=True)) / len(rows)
    for one, (source, _) in zip(found, rows, strict=True):
        assert one.trace is not None
        looks = looks.and_also(looked_at(one.trace.weights_THS[0], fields()[0].facts(source)))
    assert right > 0.7, (right, looks)
    assert looks.shares()["facts_found"] > 0.6, (right, looks)


def test_stories_go_through_general_parts_as_well() -> None:
    """Encoder `sentences`, any attention, decoder `hops`: nothing of it is a memory network's own."""
    sections = {"encoder": {"kind": "sentences", "size": 16}, "attention": {"kind": "additive", "size": 8}, "decoder": {"kind": "hops", "size": 16, "hops": 2}}
    model, rows = system(sections), batch(ROWS[:4])
    model.loss(rows).total.backward()
    trace = model.eval().predict(rows, Greedy(), attention=True)[0].trace
    assert trace is not None
    assert trace.source_tokens == fields()[0].names(rows.source)[0]  # type: ignore[arg-type]


def test_several_words_are_no_answer() -> None:
    story, answers = fields()
    target = answers.collate([np.array(answers.as_target(answers.encode("attic cellar")), np.int32)])
    rows = Batch(story.read([ROWS[0][0]]), target, (0,))
    with pytest.raises(UserError, match="separator"):
        system(KINDS[0]).loss(rows)


def test_only_stories_are_read() -> None:
    recipe = Recipe({"data": {"task": "stories"}, **KINDS[0]}, "t.toml").resolve()
    with pytest.raises(UserError, match="answers stories"):
        assemble(recipe, small.field(), small.field())


def test_facts_are_counted_by_hand() -> None:
    weights = np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 0.0], [0.1, 0.1, 0.8]])  # the second hop looks nowhere
    assert looked_at(weights, [1]) == Looks(found=1, facts=1, on=1, hops=2)
    total = looked_at(weights, [1]).and_also(looked_at(weights, [0, 2]))
    assert total.shares() == {"facts_found": 2 / 3, "hops_on_facts": 2 / 4}
