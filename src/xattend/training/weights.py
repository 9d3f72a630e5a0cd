"""Weights as named tensors: taken from a system, put back, averaged, and written as safetensors bytes.

Two names for one tensor (tied embeddings) are written once, under the first name. The bytes depend on the weights
alone, so equal weights make equal files.

>>> from torch import nn
>>> tied = nn.ModuleDict({"a": nn.Linear(2, 2, bias=False), "b": nn.Linear(2, 2, bias=False)})
>>> tied["b"].weight = tied["a"].weight
>>> list(weights_of(tied))
['a.weight']
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from xattend.errors import UserError


def weights_of(system: nn.Module) -> dict[str, Tensor]:
    """Every parameter and saved buffer once, by name: the tensors themselves, not copies."""
    seen: dict[int, str] = {}
    found: dict[str, Tensor] = {}
    for name, tensor in system.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen[id(tensor)] = name
            found[name] = tensor.detach()
    return found


def to_bytes(weights: dict[str, Tensor]) -> bytes:
    """A safetensors file without metadata."""
    return bytes(safetensors.torch.save({name: tensor.detach().contiguous() for name, tensor in weights.items()}))


def from_bytes(data: bytes, file: Path) -> dict[str, Tensor]:
    """The opposite of `to_bytes`; `file` is what an error message calls it."""
    try:
        return dict(safetensors.torch.load(data))
    except safetensors.SafetensorError as error:
        raise UserError(f"not a safetensors file: {error}", file=file) from None


def put(system: nn.Module, weights: dict[str, Tensor], file: Path) -> None:
    """Copies weights into a system; names and shapes must be exactly its own."""
    own = weights_of(system)
    for name in [*own, *weights]:
        if name not in weights or name not in own:
            where = "in the recipe's model but not in the file" if name in own else "in the file but not in the recipe's model"
            raise UserError(f"these weights belong to another model: '{name}' is {where}", file=file)
        if own[name].shape != weights[name].shape:
            raise UserError(
                f"these weights belong to another model: '{name}' is {tuple(weights[name].shape)}, "
                f"and the recipe's model has {tuple(own[name].shape)}", file=file,
            )  # fmt: skip
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(weights[name])


def load(system: nn.Module, file: Path) -> None:
    """Weights from a safetensors file into a system."""
    put(system, _read(file), file)


def begin(system: nn.Module, file: Path, parts: Sequence[str] | None = None) -> None:
    """Weights of another training to begin with, or those of some parts of it: the others begin anew, and may be of another kind. What belongs to an
    objective (a baseline, a count of batches) always begins anew."""
    own, given = weights_of(system), _read(file)
    for part in parts or ():
        if not any(_within(name, part) for name in own) or not any(_within(name, part) for name in given):
            where = "this recipe's model" if any(_within(name, part) for name in given) else "that run's model"
            there = sorted({name.partition(".")[0] for name in own.keys() & given.keys()} - {"objective"})
            raise UserError(f"training.start_parts: {where} has no '{part}'; both have {', '.join(there) or 'no part in common'}", file=file)

    def taken(name: str) -> bool:
        return not _within(name, "objective") and (parts is None or any(_within(name, part) for part in parts))

    anew = {name: tensor for name, tensor in own.items() if not taken(name)}
    put(system, {**{name: tensor for name, tensor in given.items() if taken(name)}, **anew}, file)


def freeze(system: nn.Module, parts: Sequence[str]) -> None:
    """The weights of these parts may not be trained."""
    for part in parts:
        own = [weight for name, weight in system.named_parameters() if _within(name, part)]
        if not own:
            there = sorted({name.partition(".")[0] for name, _ in system.named_parameters()})
            raise UserError(f"training.frozen: this recipe's model has no weights of '{part}'; it has those of {', '.join(there)}")
        for weight in own:
            weight.requires_grad_(False)


def _within(name: str, part: str) -> bool:
    return name.startswith(f"{part}.")


def _read(file: Path) -> dict[str, Tensor]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", file=file) from None
    return from_bytes(data, file)


def mean(snapshots: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The average of several weights, summed in float64; what is not a real number (counters) is that of the last."""
    result: dict[str, Tensor] = {}
    for name, last in snapshots[-1].items():
        if last.is_floating_point():
            total = torch.zeros_like(last, dtype=torch.float64)
            for weights in snapshots:
                total += weights[name]
            result[name] = (total / len(snapshots)).to(last.dtype)
        else:
            result[name] = last.clone()
    return result


class MovingAverage:
    """Exponential moving average of the weights: average = d average + (1 - d) weights after each update.

    d = min(decay, (1 + n) / (10 + n)) at the n-th update, so that the first weights, which are noise, are soon forgotten.

    >>> one = nn.Linear(1, 1, bias=False)
    >>> average = MovingAverage(one, decay=0.5)
    >>> with torch.no_grad():
    ...     _ = one.weight.fill_(average.weights["weight"].item() + 1.0)
    >>> before = average.weights["weight"].item()
    >>> average.update(one, step=1)  # d = 2/11
    >>> round(average.weights["weight"].item() - before, 4)  # 9/11
    0.8182
    """

    def __init__(self, system: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {name: tensor.clone() for name, tensor in weights_of(system).items()}

    @torch.no_grad()
    def update(self, system: nn.Module, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        own = weights_of(system)
        real = [name for name, tensor in own.items() if tensor.is_floating_point()]
        torch._foreach_lerp_([self.weights[name] for name in real], [own[name] for name in real], 1 - decay)
        for name in own.keys() - set(real):
            self.weights[name].copy_(own[name])
