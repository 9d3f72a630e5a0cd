"""Batches: within budget, every row once, the same for the same seed, and the same from worker processes."""

from __future__ import annotations

import multiprocessing
import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from xattend.data.batching import Batches, in_order, loader
from xattend.data.corpus import prepare
from xattend.recipe import Recipe


class Lengths:
    """A split as far as planning sees it."""

    def __init__(self, lengths) -> None:
        self.lengths = np.asarray(lengths, np.int32).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self.lengths)


def sentences(rows: int, seed: int = 0) -> Lengths:
    """Like a translation corpus: log-normal lengths, the target about as long as the source."""
    draw = np.random.default_rng(seed)
    source = np.exp(draw.normal(2.5, 0.5, rows))
    target = source * np.exp(draw.normal(0.05, 0.2, rows))
    return Lengths(np.stack([source, target], axis=1).clip(1, 150).astype(np.int32) + 2)


@given(rows=st.integers(0, 200), tokens=st.integers(1, 400), most=st.none() | st.integers(1, 40), together=st.integers(1, 7))
@limits(max_examples=60, deadline=None)
def test_rows_that_stay_together_are_in_one_batch(rows, tokens, most, together):
    split = sentences(rows, seed=rows)
    plan = Batches(split, tokens=tokens, sentences=most, together=together, seed=3).plan(1)
    assert sorted(row for batch in plan for row in batch.tolist()) == list(range(rows))
    where = {row: number for number, batch in enumerate(plan) for row in batch.tolist()}
    assert all(where[row] == where[row - row % together] for row in range(rows))
    for batch in plan:
        one_group = len(batch) <= together
        assert one_group or len(batch) * split.lengths[batch].max() <= tokens
        assert one_group or most is None or len(batch) <= most


@given(
    lengths=st.lists(st.tuples(st.integers(0, 30), st.integers(2, 30)), max_size=200),
    tokens=st.integers(1, 200),
    most=st.none() | st.integers(1, 10),
)
@limits(max_examples=80, deadline=None)
def test_every_row_once_within_budget(lengths, tokens, most):
    split = Lengths(lengths)
    batches = Batches(split, tokens=tokens, sentences=most, seed=3)
    plan = batches.plan(0)
    assert sorted(row for batch in plan for row in batch.tolist()) == list(range(len(lengths)))
    for rows in plan:
        cost = len(rows) * max(max(lengths[row]) for row in rows.tolist())
        assert cost <= tokens or len(rows) == 1
        assert most is None or len(rows) <= most
    assert batches.oversized == sum(max(pair) > tokens for pair in lengths)
    ordered = in_order(split, tokens)
    assert sorted(row for batch in ordered for row in batch.tolist()) == list(range(len(lengths)))
    assert all(len(rows) == 1 or len(rows) * max(max(lengths[r]) for r in rows.tolist()) <= tokens for rows in ordered)


def same(first, second) -> bool:
    return len(first) == len(second) and all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_a_plan_depends_on_seed_and_epoch_alone():
    split = sentences(3000)
    torch.manual_seed(1)
    plan = Batches(split, tokens=500, seed=1).plan(2)
    np.random.seed(5)
    random.seed(6)
    assert same(plan, Batches(split, tokens=500, seed=1).plan(2))
    assert not same(plan, Batches(split, tokens=500, seed=1).plan(3))
    assert not same(plan, Batches(split, tokens=500, seed=2).plan(2))


@pytest.mark.parametrize("tokens", [1024, 4096])
def test_little_is_padding_and_budgets_are_filled(tokens):
    split = sentences(30_000)
    plan = Batches(split, tokens=tokens, seed=1).plan(0)
    cells = sum(len(rows) * split.lengths[rows].max(axis=0).sum() for rows in plan)
    assert split.lengths.sum() / cells > 0.9
    filled = [len(rows) * split.lengths[rows].max() for rows in plan]
    assert np.median(filled) > 0.9 * tokens


def test_neither_rows_nor_batches_come_by_length():
    split = sentences(20_000)
    plan = Batches(split, tokens=2000, seed=1).plan(0)
    means = np.array([split.lengths[rows].mean() for rows in plan])
    assert abs(np.corrcoef(np.arange(len(means)), means)[0, 1]) < 0.2
    ordered = np.array([split.lengths[rows][:, 1].mean() for rows in in_order(split, 2000)])
    assert (np.diff(ordered) >= 0).all()


def test_batches_of_another_epoch_hold_other_rows():
    split = sentences(20_000)
    batches = Batches(split, tokens=500, seed=1)
    first = {frozenset(rows.tolist()) for rows in batches.plan(0)}
    second = {frozenset(rows.tolist()) for rows in batches.plan(1)}
    assert len(first & second) < 0.2 * len(first)


def test_planning_many_rows_takes_little_memory():
    split = sentences(500_000)
    batches = Batches(split, tokens=4096, seed=1)
    tracemalloc.start()
    batches.plan(0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 500_000  # so 10 million rows take less than 100 MB


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("batching")
    task = {"kind": "reverse", "rows": 300, "symbols": 5}
    # subwords, because their library warns when a process forks after it
    side = {"unit": "bpe", "size": 40}
    return prepare(Recipe({"data": {"task": task, "source": side, "target": side}}, "r"), folder, root=folder).splits["train"]


def equal(first, second) -> bool:
    return (
        first.rows == second.rows
        and first.source.values.equal(second.source.values)
        and first.source.mask_BS.equal(second.source.mask_BS)
        and first.target.values.equal(second.target.values)
        and first.target.mask_BS.equal(second.target.mask_BS)
    )


@pytest.mark.parametrize("start", [0, 5])
def test_workers_give_the_same_batches_in_the_same_order(split, start, capfd):
    plan = Batches(split, tokens=100, seed=1).plan(0)
    here = list(loader(split, plan, start, workers=0))
    there = list(loader(split, plan, start, workers=2))
    assert [batch.rows for batch in here] == [tuple(rows.tolist()) for rows in plan[start:]]
    assert len(here) == len(there)
    assert all(equal(a, b) for a, b in zip(here, there, strict=True))
    assert multiprocessing.active_children() == []
    assert "forked" not in capfd.readouterr().err


@pytest.mark.parametrize("workers", [0, 2])
def test_loading_leaves_random_states_alone_and_ends_its_workers(split, workers):
    plan = Batches(split, tokens=100, seed=1).plan(0)
    torch.manual_seed(7)
    random.seed(7)
    before = torch.get_rng_state(), random.getstate()
    batches = loader(split, plan, 0, workers=workers)
    next(batches)
    assert len(multiprocessing.active_children()) == workers
    batches.close()  # in the middle, as an interrupted run does
    assert multiprocessing.active_children() == []
    assert torch.get_rng_state().equal(before[0])
    assert random.getstate() == before[1]
