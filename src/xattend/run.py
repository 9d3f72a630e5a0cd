"""A run: the directory that holds everything one training made, and proof that none of it was damaged.

    RUN/recipe.toml          every default filled in
    RUN/fields/*.json        vocabularies, one file a side
    RUN/model.safetensors    the weights to predict with
    RUN/manifest.json        sha256 of the files above, versions, data fingerprint; sealed with its own sha256
    RUN/places.json          where the recipe and the data lay (see job.py)
    RUN/metrics.jsonl        what training wrote down
    RUN/state/               enough to go on bit for bit (see training/checkpoint.py)
    RUN/bad/                 batches whose loss or gradient was not finite
    RUN/lock                 held while a training writes here

A file of the manifest is exchanged in three atomic writes: the manifest accepts the old and the new file; the new file
takes its place; the manifest accepts the new one alone. Whenever the power fails, the file on disk is one that the
manifest accepts.

>>> import tempfile
>>> run = Run.create(Path(tempfile.mkdtemp()) / "x", recipe="[data]\\n", fields={"target": {"kind": "text"}}, fingerprint="f")
>>> run.publish(b"weights")
>>> run.verify()
>>> _ = run.model.write_bytes(b"wieghts")
>>> run.verify()
Traceback (most recent call last):
xattend.errors.UserError: .../x/model.safetensors: does not match manifest.json (sha256): the file is damaged; ...
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import hashlib
import json
import os
import platform
import shutil
import weakref
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from xattend.errors import UserError

_OURS = {
    "recipe.toml", "fields", "model.safetensors", "manifest.json", "places.json", "metrics.jsonl", "state", "bad",
    "report.html", "lock",
}  # fmt: skip
_held: weakref.WeakSet[IO[str]] = weakref.WeakSet()


def _let_go() -> None:
    """In a forked data worker: a lock inherited from a killed training would outlive it."""
    for lock in list(_held):
        lock.close()


os.register_at_fork(after_in_child=_let_go)


def digest(data: bytes) -> str:
    """sha256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def to_json(value: Any) -> bytes:
    """JSON with sorted keys; a number that is not finite is a mistake, as other readers would stumble over it."""
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


def seal(body: dict[str, Any]) -> bytes:
    """JSON that carries its own sha256, so that any change shows.

    >>> unseal(seal({"step": 7}))
    {'step': 7}
    >>> unseal(seal({"step": 7}).replace(b"7", b"8"))
    Traceback (most recent call last):
    ValueError: the seal does not match
    """
    return to_json(body | {"seal": digest(to_json(body))})


def unseal(data: bytes) -> dict[str, Any]:
    """The opposite of `seal`; a ValueError if a single byte is not as it was."""
    body = json.loads(data)
    if not isinstance(body, dict) or seal({key: value for key, value in body.items() if key != "seal"}) != data:
        raise ValueError("the seal does not match")
    del body["seal"]
    return body


def sync_folder(folder: Path) -> None:
    """Makes names written into a folder survive a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what the file system says (disk full, no permission) into one line for the user."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError("the disk is full: not written, what was there before stays; free some space and resume", file=path) from error
        raise UserError(f"cannot be written: {error.strerror or error}", file=path) from error


def write_synced(path: Path, data: bytes) -> None:
    """Writes a file and waits until it is on the disk. Not atomic: for files in a folder that is renamed afterwards."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_atomic(path: Path, data: bytes) -> None:
    """All or nothing: a temporary file in the same folder, fsync, rename, fsync of the folder."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with writing(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_synced(temporary, data)
            os.replace(temporary, path)
            sync_folder(path.parent)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()


class Run:
    """A run directory. Making the object touches nothing; `create` makes a new run, `verify` checks an old one."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.recipe = self.path / "recipe.toml"
        self.model = self.path / "model.safetensors"
        self.manifest = self.path / "manifest.json"
        self.metrics = self.path / "metrics.jsonl"
        self.state = self.path / "state"
        self.bad = self.path / "bad"

    def field(self, side: str) -> Path:
        """Where the vocabulary of `source` or `target` lies."""
        return self.path / "fields" / f"{side}.json"

    @staticmethod
    def create(
        path: str | Path, *, recipe: str, fields: dict[str, Any], fingerprint: str, overwrite: bool = False
    ) -> Run:
        """A new run: the resolved recipe's text, each side's field as JSON, and the fingerprint of the data.

        A folder that holds anything else is never touched; one that holds a run only when told to overwrite it.
        """
        run = Run(path)
        if run.path.exists() and not run.path.is_dir():
            raise UserError("is a file: choose another --out", file=run.path)
        found = {entry.name for entry in run.path.iterdir()} if run.path.is_dir() else set()
        strange = sorted(name for name in found if name not in _OURS and not name.endswith(".tmp"))
        if strange and not run.manifest.exists():
            raise UserError(f"is not empty and not a run (it holds {strange[0]}): choose another --out", file=run.path)
        if run.manifest.exists() and not overwrite:
            raise UserError(f"holds {run._what_it_holds()}", file=run.path)
        with run.locked():
            for name in sorted(_OURS - {"lock"}):
                shutil.rmtree(run.path / name) if (run.path / name).is_dir() else (run.path / name).unlink(missing_ok=True)
            files = {"recipe.toml": recipe.encode()} | {f"fields/{side}.json": to_json(field) for side, field in fields.items()}
            for name, data in files.items():
                write_atomic(run.path / name, data)
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            run._write_manifest({
                "created": now, "finished": False, "data": fingerprint,
                "files": {name: [digest(data)] for name, data in files.items()} | {"model.safetensors": [None]},
            })  # fmt: skip
        return run

    def _what_it_holds(self) -> str:
        try:
            finished = self._read_manifest()["finished"]
        except UserError:
            return "a damaged run: choose another --out, or remove it"
        if finished:
            return "a finished run: choose another --out, or overwrite it"
        return f"an unfinished run: go on with `xattend train --resume {self.path}`, or choose another --out"

    def publish(self, weights: bytes) -> None:
        """New weights to predict with."""
        self.exchange("model.safetensors", weights)

    def exchange(self, name: str, data: bytes) -> None:
        """Puts a new file of the manifest in the place of the old one; safe at any moment (see above)."""
        manifest, new = self._read_manifest(), digest(data)
        accepted = manifest["files"].get(name, [None])
        if accepted == [new] and self._digest_of(name) == new:
            return
        manifest["files"][name] = [*(old for old in accepted if old != new), new]
        self._write_manifest(manifest)
        write_atomic(self.path / name, data)
        manifest["files"][name] = [new]
        self._write_manifest(manifest)

    def mark_finished(self, finished: bool) -> None:
        """Whether training came to its end, or is to be resumed."""
        manifest = self._read_manifest()
        if manifest["finished"] != finished:
            self._write_manifest(manifest | {"finished": finished})

    @property
    def fingerprint(self) -> str:
        """Of the data it was trained on."""
        return str(self._read_manifest()["data"])

    @property
    def finished(self) -> bool:
        return bool(self._read_manifest()["finished"])

    def verify(self, *, weights: bool = True) -> None:
        """Raises a UserError that names the first file that is missing or not as it was written.

        weights   False before resuming, which needs no model and writes a new one
        """
        for name, accepted in self._read_manifest()["files"].items():
            if name == "model.safetensors" and not weights:
                continue
            found = self._digest_of(name)
            if found is None and name == "model.safetensors" and None in accepted:
                raise UserError(
                    f"has no model yet: go on with `xattend train --resume {self.path}`", file=self.path
                )  # fmt: skip
            if found is None:
                raise UserError("is missing; restore it or train again", file=self.path / name)
            if found not in accepted:
                raise UserError(
                    "does not match manifest.json (sha256): the file is damaged; restore it or train again", file=self.path / name
                )  # fmt: skip

    def _digest_of(self, name: str) -> str | None:
        try:
            return digest((self.path / name).read_bytes())
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def _write_manifest(self, manifest: dict[str, Any]) -> None:
        versions = {name: metadata.version(name) for name in ("xattend", "torch")} | {"python": platform.python_version()}
        write_atomic(self.manifest, seal(manifest | {"versions": versions}))

    def _read_manifest(self) -> dict[str, Any]:
        try:
            return unseal(self.manifest.read_bytes())
        except FileNotFoundError:
            reason = "there is no manifest.json" if self.path.is_dir() else "there is no such directory"
            raise UserError(f"not a run: {reason}", file=self.path) from None
        except ValueError:
            raise UserError("is damaged or was edited (its seal does not match); restore it or train again", file=self.manifest) from None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds RUN/lock, so that no two trainings write to one run. The lock dies with the process."""
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = open(self.path / "lock", "w")  # noqa: SIM115 - closed below; `with` cannot tell who failed
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UserError("another training is writing to this run: wait for it, or choose another --out", file=self.path) from None
            _held.add(lock)
            for left in [*self.path.glob(".*.tmp"), *self.path.glob("*/.*.tmp")]:
                # of a training that was killed while it wrote
                shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
            yield
        finally:
            _held.discard(lock)
            lock.close()
