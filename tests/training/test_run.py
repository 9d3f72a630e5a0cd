"""The run directory: damage is named, exchange is safe at every moment, two trainings cannot share it."""

from __future__ import annotations

import errno
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from xattend.errors import UserError
from xattend.run import Run, write_atomic


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run.create(tmp_path / "run", recipe="[data]\n", fields={"source": {"a": 1}, "target": {"b": 2}}, fingerprint="abc")
    run.publish(b"first weights")
    return run


def test_a_good_run_is_good(run: Run) -> None:
    run.verify()
    assert run.fingerprint == "abc"
    assert not run.finished
    run.mark_finished(True)
    assert run.finished
    run.verify()


@pytest.mark.parametrize("name", ["recipe.toml", "fields/source.json", "fields/target.json", "model.safetensors", "manifest.json"])
def test_every_flipped_byte_is_found(run: Run, name: str) -> None:
    file = run.path / name
    good = file.read_bytes()
    for place in range(len(good)):
        file.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        with pytest.raises(UserError, match=name):
            run.verify()
    file.write_bytes(good)
    run.verify()


@pytest.mark.parametrize("name", ["recipe.toml", "fields/source.json", "model.safetensors", "manifest.json"])
def test_a_truncated_or_missing_file_is_named(run: Run, name: str) -> None:
    file = run.path / name
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(UserError, match=name):
        run.verify()
    file.unlink()
    with pytest.raises(UserError, match=name):
        run.verify()


def test_no_model_yet(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", recipe="", fields={}, fingerprint="")
    with pytest.raises(UserError, match="no model yet"):
        run.verify()


def test_resuming_needs_no_model(run: Run) -> None:
    run.model.write_bytes(b"damaged")
    run.verify(weights=False)
    run.recipe.write_bytes(b"damaged")
    with pytest.raises(UserError, match=r"recipe\.toml"):
        run.verify(weights=False)


def test_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such directory"):
        Run(tmp_path / "nowhere").verify()
    with pytest.raises(UserError, match=r"no manifest\.json"):
        Run(tmp_path).verify()


class Killed(BaseException):
    """In place of SIGKILL: nothing may catch it."""


def test_exchange_is_safe_at_every_moment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = {name: getattr(os, name) for name in ("replace", "fsync", "open", "unlink")}
    moments = 0
    while True:
        moments += 1
        calls = 0

        def dying(name: str, moment: int) -> Any:
            def call(*args: Any, **named: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls >= moment:  # a dead process does nothing more
                    raise Killed
                return real[name](*args, **named)

            return call

        with monkeypatch.context() as patch:
            for name in real:
                patch.setattr(os, name, dying(name, moments))
            try:
                run.publish(f"weights {moments}".encode())
            except Killed:
                dead = True
            else:
                dead = False
        run.verify()
        assert run.model.read_bytes() == b"first weights" or run.model.read_bytes().startswith(b"weights ")
        if not dead:
            break
    assert moments > 9  # three writes of at least three calls each
    assert run.model.read_bytes() == f"weights {moments}".encode()


def test_the_first_publish_is_safe_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.create(tmp_path / "run", recipe="", fields={}, fingerprint="")
    real, calls = os.replace, 0

    def dying(a: Any, b: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise Killed
        real(a, b)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying)
        with pytest.raises(Killed):
            run.publish(b"x")
    with pytest.raises(UserError, match="no model yet"):  # not "damaged"
        run.verify()
    run.publish(b"y")
    run.verify()


def test_create_never_touches_what_is_not_a_run(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match=r"thesis\.tex"):
        Run.create(tmp_path, recipe="", fields={}, fingerprint="", overwrite=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file"):
        Run.create(tmp_path / "file", recipe="", fields={}, fingerprint="")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_create_refuses_a_run_unless_told(run: Run) -> None:
    again: dict[str, Any] = {"recipe": "new", "fields": {}, "fingerprint": "def"}
    with pytest.raises(UserError, match=r"unfinished run.*--resume"):
        Run.create(run.path, **again)
    run.mark_finished(True)
    with pytest.raises(UserError, match="finished run"):
        Run.create(run.path, **again)
    new = Run.create(run.path, **again, overwrite=True)
    assert new.recipe.read_text() == "new"
    assert not new.model.exists()
    assert not new.field("source").exists()


def test_a_creation_that_was_killed_can_be_done_again(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("half")
    (tmp_path / ".recipe.toml.1.tmp").write_text("quarter")
    run = Run.create(tmp_path, recipe="whole", fields={}, fingerprint="")
    assert run.recipe.read_text() == "whole"
    assert not (tmp_path / ".recipe.toml.1.tmp").exists()


def test_one_training_at_a_time(run: Run) -> None:
    with run.locked(), pytest.raises(UserError, match="another training"), Run(run.path).locked():
        pass
    with run.locked():
        pass


def _sleep(ready: Any, stop: Any) -> None:
    ready.set()
    stop.wait(20)


def test_a_worker_that_outlives_its_training_holds_no_lock(run: Run) -> None:
    fork = multiprocessing.get_context("fork")
    ready, stop = fork.Event(), fork.Event()
    with run.locked():
        worker = fork.Process(target=_sleep, args=(ready, stop))
        worker.start()
        assert ready.wait(20)
    try:
        with run.locked():
            pass
    finally:
        stop.set()
        worker.join()


def test_a_full_disk_is_one_line_and_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x"
    write_atomic(file, b"old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="disk is full") as caught:
        write_atomic(file, b"new")
    assert "\n" not in str(caught.value)
    assert file.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]
