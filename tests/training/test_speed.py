"""Counting the work of an update, against a count by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from xattend import recipe as recipes
from xattend import registry
from xattend.data.corpus import prepare
from xattend.systems import assemble
from xattend.training.distributed import Group
from xattend.training.speed import count_flops
from xattend.training.update import Updater

MODEL = """
[data]
task = {{ kind = "copy", rows = 50 }}
[encoder]
kind = "rnn"
cell = "{cell}"
size = 32
embedding = 16
[attention]
kind = "dot"
[decoder]
kind = "rnn"
attend = "after"
cell = "{cell}"
size = 32
embedding = 16
readout = "luong"
[training]
steps = 1
"""


@pytest.mark.parametrize(("cell", "gates"), [("gru", 3), ("lstm", 4)])
def test_products_of_an_update(cell: str, gates: int, tmp_path: Path) -> None:
    recipe = recipes.parse(MODEL.format(cell=cell), "x.toml").resolve()
    data = prepare(recipe, tmp_path, root=tmp_path)
    system = assemble(recipe, data.source, data.target).train()
    updater = Updater(
        system, registry.build("optimiser", "sgd", list(system.parameters())), Group(), accumulate=1, clip=1.0, normalise="tokens"
    )
    batch = data.splits["train"].batch(list(range(20)))
    assert batch.source is not None
    assert batch.target is not None
    rows, source = batch.source.values.shape
    target = batch.target.values.shape[1] - 1
    cells = gates * 32 * (16 + 32) * (source + target)  # multiplications a row, forward
    look = 2 * target * source * 32
    read = target * 64 * 32 + 32 * 32  # readout, and the bridge
    words = int(batch.target.mask_BS[:, 1:].sum()) * 32 * data.target.space.symbols()  # only real ones are scored
    forward = rows * (cells + look + read) + words
    # forward once and backward twice; the first layer's inputs and the first states need less, hence a little room
    assert count_flops(updater, batch) == pytest.approx(2 * 3 * forward, rel=0.12)
