"""The saved state of a training: enough to go on bit for bit, whatever moment the process was killed at.

    state/current.json            which state is the newest, and the one before it
    state/1500/trainer.json       step, data position, best metric, schedule ...
    state/1500/*.safetensors      weights, optimiser, moving average
    state/1500/sums.json          sha256 of the files above, and of the kept weights this state refers to
    state/weights/1000.safetensors   weights of a validation: the best, or one to be averaged

A state is written into a hidden folder, synced, renamed, and only then named in current.json; what neither of the
two newest states needs is deleted last. Randomness needs no state: it is a function of seed, step and process
(see seeds.py).

>>> import tempfile
>>> states = States(Path(tempfile.mkdtemp()) / "state")
>>> states.save(7, {"model": {"w": torch.ones(2)}}, {"step": 7}, kept={})
>>> states.load(print).trainer
{'step': 7}
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from xattend.errors import UserError
from xattend.run import digest, seal, sync_folder, to_json, unseal, write_atomic, write_synced, writing
from xattend.training.weights import from_bytes, to_bytes


@dataclass(frozen=True)
class Saved:
    """A state as it was saved: what is JSON, and the tensors of each file."""

    trainer: dict[str, Any]
    tensors: dict[str, dict[str, Tensor]]


class Damaged(Exception):
    """A state that cannot be used, and which file is to blame."""


class States:
    """The state folder of a run: the two newest states and the weights they refer to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.newest: int | None = None  # the state this process loaded or saved last
        self.previous: int | None = None

    def keep(self, step: int, weights: bytes) -> str:
        """Writes the weights of a validation; the next state that is saved may refer to them. Gives their sha256."""
        write_atomic(self._weights(step), weights)
        return digest(weights)

    def kept(self, step: int) -> bytes:
        """Weights that `keep` wrote."""
        return self._weights(step).read_bytes()

    def save(
        self, step: int, tensors: dict[str, dict[str, Tensor]], trainer: dict[str, Any], kept: dict[int, str]
    ) -> None:
        """A new state. `kept` are the steps of the kept weights it refers to, with their sha256."""
        final, hidden = self.folder / str(step), self.folder / f".{step}.tmp"
        files = {f"{name}.safetensors": to_bytes(named) for name, named in tensors.items()}
        files["trainer.json"] = to_json(trainer)
        sums = {
            "files": {name: digest(data) for name, data in files.items()},
            "weights": {str(step): sum_ for step, sum_ in kept.items()},
        }
        with writing(final):
            try:
                shutil.rmtree(hidden, ignore_errors=True)
                hidden.mkdir(parents=True)
                for name, data in {**files, "sums.json": seal(sums)}.items():
                    write_synced(hidden / name, data)
                sync_folder(hidden)
                if final.exists():  # damaged, or written by a process that died before it could point to it
                    shutil.rmtree(final)
                os.replace(hidden, final)
                sync_folder(self.folder)
            finally:
                shutil.rmtree(hidden, ignore_errors=True)
        if self.newest != step:
            self.previous = self.newest
        write_atomic(self.folder / "current.json", seal({"current": step, "previous": self.previous}))
        self.newest = step
        self._sweep()

    def load(self, say: Callable[[str], None]) -> Saved | None:
        """The newest good state; None if none was ever saved. `say` hears of each damaged one."""
        candidates = self._candidates(say)
        for place, step in enumerate(candidates):
            try:
                saved = self._read(step)
            except Damaged as damage:
                say(f"{damage}: this state cannot be used")
                continue
            self.newest = step
            self.previous = next((s for s in candidates[place + 1 :] if (self.folder / str(s)).is_dir()), None)
            return saved
        if candidates:
            raise UserError("no saved state is whole: restore the folder or train again", file=self.folder)
        return None

    def _weights(self, step: int | str) -> Path:
        return self.folder / "weights" / f"{step}.safetensors"

    def _candidates(self, say: Callable[[str], None]) -> list[int]:
        try:
            pointer = unseal((self.folder / "current.json").read_bytes())
            return [step for step in (pointer["current"], pointer["previous"]) if step is not None]
        except FileNotFoundError:
            pass
        except ValueError:
            say(f"{self.folder / 'current.json'}: damaged; looking at the states themselves")
        found = [int(entry.name) for entry in self.folder.glob("[0-9]*") if entry.name.isdigit()]
        return sorted(found, reverse=True)

    def _read(self, step: int) -> Saved:
        folder = self.folder / str(step)
        sums = self._sums(step)
        named = {folder / name: expected for name, expected in sums["files"].items()}
        named |= {self._weights(kept): expected for kept, expected in sums["weights"].items()}
        contents: dict[Path, bytes] = {}
        for file, expected in named.items():
            try:
                contents[file] = file.read_bytes()
            except OSError:
                raise Damaged(f"{file}: missing") from None
            if digest(contents[file]) != expected:
                raise Damaged(f"{file}: damaged (sha256)")
        tensors = {f.stem: from_bytes(data, f) for f, data in contents.items() if f.suffix == ".safetensors" and f.parent == folder}
        return Saved(json.loads(contents[folder / "trainer.json"]), tensors)

    def _sums(self, step: int) -> dict[str, dict[str, str]]:
        file = self.folder / str(step) / "sums.json"
        try:
            return unseal(file.read_bytes())
        except OSError:
            raise Damaged(f"{file}: missing") from None
        except ValueError:
            raise Damaged(f"{file}: damaged") from None

    def _sweep(self) -> None:
        """Deletes what neither of the two newest states needs. Last, so that dying here leaves only litter."""
        needed: set[str] = set()
        for step in (self.newest, self.previous):
            try:
                needed |= set() if step is None else self._sums(step)["weights"].keys()
            except Damaged:
                continue
        for entry in self.folder.iterdir():
            if entry.is_dir() and entry.name not in {"weights", str(self.newest), str(self.previous)}:
                shutil.rmtree(entry, ignore_errors=True)
        for file in (self.folder / "weights").glob("*"):
            if file.stem not in needed or file.suffix != ".safetensors":
                file.unlink(missing_ok=True)


def optimiser_state(optimiser: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, float]]:
    """What an optimiser remembers: tensors and plain numbers, each named `parameter number.quantity`."""
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, float] = {}
    for index, parameter in enumerate(_parameters(optimiser)):
        for key, value in optimiser.state.get(parameter, {}).items():
            if isinstance(value, Tensor):
                tensors[f"{index}.{key}"] = value
            elif isinstance(value, int | float):
                numbers[f"{index}.{key}"] = value
            elif value is not None:
                raise TypeError(f"an optimiser's state is tensors and numbers, not {type(value).__name__} ('{key}')")
    return tensors, numbers


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor], numbers: dict[str, float]) -> None:
    """The opposite of `optimiser_state`."""
    parameters = _parameters(optimiser)
    optimiser.state.clear()
    for name, value in [*tensors.items(), *numbers.items()]:
        index, _, key = name.partition(".")
        if int(index) >= len(parameters):
            raise UserError("the saved optimiser belongs to another model: was the recipe changed?")
        optimiser.state[parameters[int(index)]][key] = value.clone() if isinstance(value, Tensor) else value


def _parameters(optimiser: torch.optim.Optimizer) -> list[Tensor]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]
