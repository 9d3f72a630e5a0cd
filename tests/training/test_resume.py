"""A training that is killed, at whatever moment, and resumed ends with the very bytes of one that was not."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.toy import die_at, new_run, train_toy
from xattend.errors import UserError
from xattend.run import Run
from xattend.training.checkpoint import States

FULL = ("training.average=2", "training.ema=0.5", "schedule.kind=plateau")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Run]:
    """Uninterrupted trainings to compare with."""
    runs = {}
    for number, settings in enumerate([(), FULL]):
        runs[settings] = new_run(tmp_path_factory.mktemp("whole") / str(number))
        train_toy(runs[settings], *settings)
    return runs


def in_child(work: Any) -> int:
    """Runs `work` in a forked process, which is much faster than a new one. Gives its wait status."""
    child = os.fork()
    if child == 0:
        try:
            torch.set_num_threads(1)  # the parent's threads do not exist here
            work()
            os._exit(0)
        except BaseException as error:
            os.write(2, f"child: {error!r}\n".encode())
            os._exit(1)
    return os.waitpid(child, 0)[1]


def resume(run: Run, *settings: str) -> None:
    train_toy(run, *settings, resume=True)


def log_without_times(run: Run) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    return [{k: v for k, v in line.items() if k not in ("seconds", "tokens_per_second")} for line in lines]


def assert_equal(run: Run, other: Run) -> None:
    run.verify()
    assert run.finished
    assert run.model.read_bytes() == other.model.read_bytes()
    for name in ("model.safetensors", "optimiser.safetensors"):
        assert (run.state / "30" / name).read_bytes() == (other.state / "30" / name).read_bytes()
    litter = [p for p in run.path.rglob("*") if p.name.endswith(".tmp")]
    assert not litter


@pytest.mark.parametrize("settings", [(), FULL])
def test_stopping_and_going_on_in_one_process(whole: dict[tuple[str, ...], Run], tmp_path: Path, settings: tuple[str, ...]) -> None:
    run = new_run(tmp_path / "run")
    train_toy(run, *settings, "training.steps=8", "training.validate_every=5000")  # no validation that the whole one lacks
    (run.state / "8").rename(run.state / "gone")  # go on from 7, which is not a validation and in mid-pass
    shutil.rmtree(run.state / "gone")
    resume(run, *settings)
    other = whole[settings]
    assert (run.state / "30" / "optimiser.safetensors").read_bytes() == (other.state / "30" / "optimiser.safetensors").read_bytes()


# spread over all the moments at which such a training changes the disk
@pytest.mark.parametrize("moment", [1, 2, 10, 25, 36, 47, 58, 69, 80, 91, 102, 113, 124, 138, 150, 161, 177])
def test_killed_while_writing(whole: dict[tuple[str, ...], Run], tmp_path: Path, moment: int) -> None:
    run = new_run(tmp_path / "run")

    def work() -> None:
        die_at(moment)
        train_toy(run, *FULL)

    assert os.WIFSIGNALED(in_child(work))
    if run.model.exists():
        run.verify()  # a killed run predicts with what it had
    resume(run, *FULL)
    assert_equal(run, whole[FULL])
    assert log_without_times(run) == log_without_times(whole[FULL])


@pytest.mark.parametrize("workers", [0, 2])
def test_killed_at_random_again_and_again(whole: dict[tuple[str, ...], Run], tmp_path: Path, workers: int) -> None:
    run, chance, killed = new_run(tmp_path / "run"), random.Random(workers), 0
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            torch.set_num_threads(1)
            resume(run, f"training.workers={workers}", "training.save_every=2")
            os._exit(0)
        children.append(child)
        time.sleep(chance.uniform(0.01, 0.1))
        os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert killed
    resume(run, f"training.workers={workers}")  # while workers of the killed may still be about
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    assert_equal(run, whole[()])


def test_metrics_have_no_repeats(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    train_toy(run, "training.steps=14")
    with run.metrics.open("a") as file:  # what a process wrote before it was killed, the last line torn
        file.write('{"step": 16, "loss": 1.0, "lr": 0.01}\n{"step": 20, "lo')
    train_toy(run, resume=True)
    steps = [line["step"] for line in log_without_times(run) if "lr" in line]
    assert steps == [4, 8, 12, 16, 20, 24, 28]


@pytest.mark.parametrize("name", ["model.safetensors", "optimiser.safetensors", "trainer.json", "sums.json", "weights"])
@pytest.mark.parametrize("how", ["flipped", "truncated", "gone"])
def test_a_damaged_state_is_named_and_the_one_before_it_used(
    whole: dict[tuple[str, ...], Run], tmp_path: Path, name: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = new_run(tmp_path / "run")
    train_toy(run, "training.steps=28", "training.patience=100", "training.validate_every=10")
    newest = run.state / "28"
    file = run.state / "weights" / "28.safetensors" if name == "weights" else newest / name
    good = file.read_bytes()
    if how == "gone":
        file.unlink()
    else:
        middle = len(good) // 2
        file.write_bytes(good[:middle] if how == "truncated" else good[:middle] + bytes([good[middle] ^ 4]) + good[middle + 1 :])
    train_toy(run, "training.validate_every=10", resume=True)
    said = capsys.readouterr().err
    assert str(file) in said
    assert "going on from step 21" in said
    assert (run.state / "30" / "model.safetensors").read_bytes() == (whole[()].state / "30" / "model.safetensors").read_bytes()


def test_no_good_state_is_the_users_problem(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    train_toy(run, "training.steps=14")
    for file in run.state.glob("*/model.safetensors"):
        file.write_bytes(b"")
    with pytest.raises(UserError, match="no saved state is whole"):
        resume(run)


def test_a_damaged_pointer_does_not_matter(whole: dict[tuple[str, ...], Run], tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    train_toy(run, "training.steps=20")
    (run.state / "current.json").write_text("{")
    resume(run)
    assert_equal(run, whole[()])


def test_a_start_on_top_of_a_state_is_refused(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    train_toy(run, "training.steps=7")
    with pytest.raises(UserError, match="--resume"):
        train_toy(run)


def test_a_full_disk_keeps_the_old_state(whole: dict[tuple[str, ...], Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(tmp_path / "run")
    real = States.save

    def full(self: States, step: int, *args: Any, **named: Any) -> None:
        if step != 21:
            real(self, step, *args, **named)
            return

        def no_space(handle: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", no_space)
            real(self, step, *args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(States, "save", full)
        with pytest.raises(UserError, match="disk is full") as caught:
            train_toy(run)
    assert "\n" not in str(caught.value)
    assert sorted(p.name for p in run.state.iterdir() if p.is_dir()) == ["14", "7", "weights"]
    resume(run)
    assert_equal(run, whole[()])


def test_only_two_states_and_their_weights_are_kept(whole: dict[tuple[str, ...], Run]) -> None:
    state = whole[FULL].state
    assert sorted(p.name for p in state.iterdir()) == ["28", "30", "current.json", "weights"]
    needed = set()
    for step in (28, 30):
        needed |= json.loads((state / str(step) / "sums.json").read_text())["weights"].keys()
    assert {p.stem for p in (state / "weights").iterdir()} == needed
