"""Two processes train as one: same curve, same weights, exact resume."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.toy import ToySystem, data, new_run, train_toy
from xattend.run import Run
from xattend.training.distributed import Group
from xattend.training.weights import from_bytes


def together(work: Callable[[int], None], world: int = 2) -> None:
    """Runs `work(rank)` in so many forked processes, with the environment that torchrun would give them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(world):
        child = os.fork()
        if child == 0:
            os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            try:
                torch.set_num_threads(1)
                work(rank)
                os._exit(0)
            except BaseException as error:
                os.write(2, f"process {rank}: {error!r}\n".encode())
                os._exit(1)
        children.append(child)
    failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
    assert not failed


def curve(run: Run) -> list[float]:
    lines = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    return [line.get("loss", line.get("validation_loss")) for line in lines]


def weights(run: Run) -> dict[str, torch.Tensor]:
    return from_bytes(run.model.read_bytes(), run.model)


@pytest.mark.parametrize("settings", [(), ("training.accumulate=2", "training.normalise=sentences", "training.clip=0.3")])
def test_two_processes_make_the_curve_of_one(tmp_path: Path, settings: tuple[str, ...]) -> None:
    one, two = new_run(tmp_path / "one"), new_run(tmp_path / "two")
    # 13 rows in fours: the last batch of each pass is a single row, and the second process has nothing to do
    common = ("training.steps=50", "training.log_every=1", "training.sentences=4", "training.tokens=1000", *settings)
    train_toy(one, *common, dropout=0.0, rows=data(13))
    together(lambda rank: void(train_toy(two, *common, dropout=0.0, rows=data(13))))
    two.verify()
    expected = curve(one)
    assert len(expected) == 60
    assert curve(two) == pytest.approx(expected, abs=1e-5)
    other = weights(two)
    for name, tensor in weights(one).items():
        if tensor.is_floating_point():
            assert (tensor - other[name]).abs().max() < 1e-5


def void(_: object) -> None:
    """A result that a forked process has no use for."""


def test_dropout_differs_between_processes_and_resume_is_exact(tmp_path: Path) -> None:
    whole, parts = new_run(tmp_path / "whole"), new_run(tmp_path / "parts")
    together(lambda rank: void(train_toy(whole)))
    together(lambda rank: void(train_toy(parts, "training.steps=15")))
    together(lambda rank: void(train_toy(parts, resume=True)))
    assert parts.model.read_bytes() == whole.model.read_bytes()
    alone = new_run(tmp_path / "alone")
    train_toy(alone)
    assert alone.model.read_bytes() != whole.model.read_bytes()


def test_weights_start_as_those_of_the_first_process(tmp_path: Path) -> None:
    """Even if the processes were seeded differently."""
    from tests.training.toy import recipe
    from xattend.training import seed, train

    run, one = new_run(tmp_path / "run"), new_run(tmp_path / "one")

    def work(rank: int) -> None:
        seed(1 + rank)
        train(ToySystem(dropout=0.0), data(), recipe(), run)

    together(work)
    train_toy(one, dropout=0.0)
    assert curve(run) == pytest.approx(curve(one), abs=1e-5)


def test_a_signal_to_one_process_stops_all_at_one_step(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    real = ToySystem.loss

    def work(rank: int) -> None:
        def signalled(self: ToySystem, batch: Any) -> Any:
            if rank == 1 and self.training and int(self.updates) == 11:
                os.kill(os.getpid(), signal.SIGINT)
            return real(self, batch)

        ToySystem.loss = signalled  # type: ignore[method-assign]
        result, _ = train_toy(run)
        assert (result.stopped_because, result.step) == ("interrupted", 13)  # heard with the next update

    together(work)
    assert (run.state / "13").is_dir()


def test_large_sums_travel_in_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xattend.training.distributed.BUCKET", 10)

    def work(rank: int) -> None:
        from xattend.training.distributed import joined

        with joined() as group:
            tensors = [torch.full((size,), float(rank + 1)) for size in (3, 25, 4, 4, 4, 1)]
            group.add_up(tensors)
            assert all((tensor == 3).all() for tensor in tensors)
            assert group.gather({"rank": rank}) == [{"rank": 0}, {"rank": 1}]
            assert group.tell("hello" if rank == 0 else None) == "hello"

    together(work)


def test_shares_are_by_stride_and_whole() -> None:
    rows = list(range(7))
    shares = [list(Group(rank, 3).share(rows)) for rank in range(3)]
    assert shares == [[0, 3, 6], [1, 4], [2, 5]]
