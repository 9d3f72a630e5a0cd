"""The store of features: what is written comes back, whatever moment the writer dies at and whichever bit flips."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from xattend.data.features import KEY, Damaged, FeatureStore
from xattend.errors import UserError

SHAPE = (3, 2)


def key(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def record(number: int) -> np.ndarray:
    return np.full(SHAPE, number, np.float16)


def filled(folder: Path, count: int, start: int = 0) -> FeatureStore:
    store = FeatureStore(folder, SHAPE, np.float16)
    numbers = range(start, start + count)
    with store.writer({"what": "test"}) as writer:
        writer.add([key(n) for n in numbers], np.stack([record(n) for n in numbers]))
    return store


def test_what_is_written_comes_back(tmp_path):
    store = filled(tmp_path / "s", 5)
    assert [store[key(n)].tolist() for n in range(5)] == [record(n).tolist() for n in range(5)]
    assert store[key(0)].dtype == np.float16
    assert key(5) not in store
    with pytest.raises(KeyError):
        store[key(5)]
    filled(tmp_path / "s", 2, start=5)  # another process adds: it is found without opening anew
    assert store[key(6)].tolist() == record(6).tolist()
    assert len(store) == 7
    assert '"what": "test"' in (tmp_path / "s" / "about.json").read_text()
    with pytest.raises(ValueError, match="do not fit"), store.writer({}) as writer:
        writer.add([key(9)], np.zeros((1, 2, 3), np.float16))


def test_nothing_is_there_before_anything_is_written(tmp_path):
    store = FeatureStore(tmp_path / "no", SHAPE, np.float16)
    assert key(0) not in store
    assert not (tmp_path / "no").exists()


def test_it_goes_on_whatever_was_cut_off(tmp_path):
    """Every state that dying in the middle of a write can leave: the files cut at any byte, the keys never ahead of the values."""
    whole = filled(tmp_path / "whole", 4)
    values, keys = (tmp_path / "whole" / "values").read_bytes(), (tmp_path / "whole" / "keys").read_bytes()
    states = [(cut, 2 * KEY.size) for cut in range(2 * whole.size, 4 * whole.size + 1)]
    states += [(4 * whole.size, cut) for cut in range(2 * KEY.size, 4 * KEY.size + 1)]
    states += [(3 * whole.size - 1, 4 * KEY.size)]  # a disk that lost what it had promised
    for number, (v, k) in enumerate(states):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "values").write_bytes(values[:v])
        (folder / "keys").write_bytes(keys[:k])
        (folder / "seen").write_bytes(b"half")
        left = min(v // whole.size, k // KEY.size)
        store = FeatureStore(folder, SHAPE, np.float16)
        assert [key(n) in store for n in range(4)] == [n < left for n in range(4)]
        filled(folder, 3, start=left)
        again = FeatureStore(folder, SHAPE, np.float16)
        assert [again[key(n)].tolist() for n in range(left + 3)] == [record(n).tolist() for n in range(left + 3)]
        assert os.path.getsize(folder / "values") == (left + 3) * whole.size


KILLED = """
import sys, numpy as np
sys.path.insert(0, {root!r})
from tests.data.test_features import SHAPE, key, record
from xattend.data.features import FeatureStore
store = FeatureStore(__import__("pathlib").Path({folder!r}), SHAPE, np.float16)
with store.writer({{}}) as writer:
    for n in range(len(store), 1_000_000):
        writer.add([key(n)], record(n % 2000)[None])
        print(n, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_it_said_was_written(tmp_path):
    store, said = FeatureStore(tmp_path / "s", SHAPE, np.float16), -1
    program = KILLED.format(root=str(Path(__file__).parents[2]), folder=str(tmp_path / "s"))
    for _ in range(2):
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            first = int(process.stdout.readline())
            assert first >= said  # a key may be on the disk before it is said
            time.sleep(0.05)
            os.kill(process.pid, signal.SIGKILL)
            said = max([first, *[int(line) for line in process.stdout.read().split("\n")[:-1]]])
        assert all(np.array_equal(store[key(n)], record(n % 2000)) for n in range(said + 1))
    filled(tmp_path / "s", 1, start=60_000)  # the lock died with its owner


def test_a_flipped_bit_is_found_and_the_record_written_anew(tmp_path):
    store = filled(tmp_path / "s", 3)
    data = bytearray((tmp_path / "s" / "values").read_bytes())
    for bit in (0, 5, store.size * 8 - 1):
        wrong = bytearray(data)
        wrong[store.size + bit // 8] ^= 1 << bit % 8
        (tmp_path / "s" / "values").write_bytes(wrong)
        again = FeatureStore(tmp_path / "s", SHAPE, np.float16)
        with pytest.raises(Damaged, match=f"{tmp_path / 's'}: record 1 .* delete this folder"):
            again[key(1)]
        assert not again.intact(key(1))
        assert again.intact(key(0))
        assert again.intact(key(2))
    filled(tmp_path / "s", 1, start=1)
    assert FeatureStore(tmp_path / "s", SHAPE, np.float16)[key(1)].tolist() == record(1).tolist()


def test_a_flipped_bit_in_a_key_never_gives_another_record(tmp_path):
    filled(tmp_path / "s", 2)
    data = (tmp_path / "s" / "keys").read_bytes()
    for byte in range(len(data)):
        wrong = bytearray(data)
        wrong[byte] ^= 4
        (tmp_path / "s" / "keys").write_bytes(wrong)
        again = FeatureStore(tmp_path / "s", SHAPE, np.float16)
        for n in range(2):
            if again.intact(key(n)):
                assert again[key(n)].tolist() == record(n).tolist()
        assert sum(again.intact(key(n)) for n in range(2)) == 1


def test_one_writer_at_a_time(tmp_path):
    store, other, waited = filled(tmp_path / "s", 1), FeatureStore(tmp_path / "s", SHAPE, np.float16), []
    done = threading.Event()

    def second() -> None:
        with other.writer({}, waits=lambda: waited.append(True)) as writer:
            assert key(1) in other  # the first has finished
            writer.add([key(2)], record(2)[None])
        done.set()

    with store.writer({}) as writer:
        with (tmp_path / "s" / "lock").open("wb") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        thread = threading.Thread(target=second)
        thread.start()
        while not waited:
            time.sleep(0.005)
        assert not done.is_set()
        writer.add([key(1)], record(1)[None])
    thread.join(timeout=10)
    assert done.is_set()
    assert [store[key(n)][0, 0] for n in range(3)] == [0, 1, 2]


def test_a_full_disk_is_said(tmp_path, monkeypatch):
    store = filled(tmp_path / "s", 1)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="cannot be stored: No space left"), store.writer({}) as writer:
        writer.add([key(1)], record(1)[None])
    monkeypatch.undo()
    filled(tmp_path / "s", 1, start=1)
    assert store[key(1)].tolist() == record(1).tolist()


def test_a_file_that_did_not_change_is_known_without_reading_it(tmp_path):
    file = tmp_path / "a.jpg"
    file.write_bytes(b"one")
    os.utime(file, (1, 1))
    store = FeatureStore(tmp_path / "s", SHAPE, np.float16)
    with store.writer({}) as writer:
        assert writer.recall(file, file.stat()) is None
        writer.remember(file, file.stat(), key(1))
        assert writer.recall(file, file.stat()) == key(1)
    with store.writer({}) as writer:
        assert writer.recall(file, file.stat()) == key(1)
        for change in (lambda: os.utime(file, (1, 2)), lambda: file.write_bytes(b"two!")):
            change()
            assert writer.recall(file, file.stat()) is None
        # written a moment ago: it could change again within the same tick of the clock, so it is not trusted
        writer.remember(file, file.stat(), key(2))
        assert writer.recall(file, file.stat()) is None
    os.utime(file, (1, 1))
    file.write_bytes(b"one")
    os.utime(file, (1, 1))
    seen = bytearray((tmp_path / "s" / "seen").read_bytes())
    seen[20] ^= 1  # a damaged note is no note
    (tmp_path / "s" / "seen").write_bytes(seen)
    with store.writer({}) as writer:
        assert writer.recall(file, file.stat()) is None


def test_it_is_cheap_to_send(tmp_path):
    store = filled(tmp_path / "s", 100)
    assert store.intact(key(3))
    sent = pickle.dumps(store)
    assert len(sent) < 600
    assert pickle.loads(sent)[key(3)].tolist() == record(3).tolist()


def test_memory_stays_flat(tmp_path):
    store = FeatureStore(tmp_path / "s", (1000, 100), np.uint8)
    with store.writer({}) as writer:
        for n in range(100):  # ten megabytes
            writer.add([key(n)], np.full((1, 1000, 100), n, np.uint8))
    again = FeatureStore(tmp_path / "s", (1000, 100), np.uint8)
    tracemalloc.start()
    assert sum(int(again[key(n)][0, 0]) for n in range(100)) == sum(range(100))
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
