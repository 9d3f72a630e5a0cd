"""One update: the gradient of a global batch, over micro-batches and processes, clipped; or nothing if it is not finite.

A system's loss is a sum. Its gradient is added up over all parts of the global batch and divided once by the global
count of tokens (or sentences), so neither the number of micro-batches nor that of processes changes the update.
Clipping (Pascanu et al. 2013, algorithm 1): if |g| > c then g = g c / |g|.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from xattend import registry
from xattend.layers.precision import at_hand, products_in
from xattend.recipe import Recipe
from xattend.systems.base import System
from xattend.training.distributed import Group
from xattend.training.weights import freeze
from xattend.types import Batch


@dataclass
class Tally:
    """Sums of a loss over batches, for the log. A plain record, so that it goes into a saved state."""

    total: float = 0.0
    tokens: int = 0
    sentences: int = 0
    updates: int = 0
    seconds: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        self.total += other.total
        self.tokens += other.tokens
        self.sentences += other.sentences
        self.updates += other.updates
        self.seconds += other.seconds
        for name, value in other.parts.items():
            self.parts[name] = self.parts.get(name, 0.0) + value

    def count(self, normalise: str) -> int:
        """What sums are divided by: tokens or sentences."""
        return max(1, self.tokens if normalise == "tokens" else self.sentences)


@dataclass(frozen=True)
class Outcome:
    """What became of an update. `own` is this process's share; the rest is global."""

    own: Tally
    loss: float
    norm: float
    finite: bool
    stop: bool
    clock: float


class Updater:
    """Turns batches into updates of a system's weights."""

    def __init__(
        self, system: System, optimiser: torch.optim.Optimizer, group: Group, *, accumulate: int, clip: float, normalise: str,
        precision: str = "float32",
    ) -> None:  # fmt: skip
        self.system, self.optimiser, self.group = system, optimiser, group
        self.accumulate, self.clip, self.normalise, self.precision = accumulate, clip, normalise, precision
        self.parameters = [parameter for parameter in system.parameters() if parameter.requires_grad]

    @classmethod
    def of(cls, system: System, recipe: Recipe, group: Group) -> Updater:
        """With the optimiser and the settings that a recipe names."""
        freeze(system, recipe.training.frozen or ())
        name, given = recipe.part("optimiser")
        optimiser = registry.build("optimiser", name, [weight for weight in system.parameters() if weight.requires_grad], **given)
        settings = recipe.training
        return cls(
            system, optimiser, group, accumulate=settings.accumulate, clip=settings.clip, normalise=settings.normalise,
            precision=at_hand(settings.precision),
        )  # fmt: skip

    def update(self, batch: Batch | None, *, stop: bool = False, clock: float = 0.0) -> Outcome:
        """One update with this process's rows of the global batch (None: it has none).

        stop    whether this process was asked to stop: after the update, all know if any was
        clock   seconds trained; after the update, all know that of the first process
        """
        self.optimiser.zero_grad(set_to_none=True)
        own = Tally(updates=1) if self.group.first else Tally()
        for part in [] if batch is None else parts(batch, self.accumulate):
            with products_in(self.precision):
                loss = self.system.loss(part)
            loss.total.backward()  # type: ignore[no-untyped-call]
            own.add(Tally(float(loss.total.detach()), loss.tokens, loss.sentences, parts=dict(loss.parts)))
        total, tokens, sentences, asked, clock = self._add_up(own, stop, clock)
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        if not gradients:
            raise RuntimeError("the loss depends on no weight that may be trained")
        scale = 1.0 / max(1.0, tokens if self.normalise == "tokens" else sentences)
        norm = float(torch.nn.utils.get_total_norm(gradients)) * scale
        finite = math.isfinite(total) and math.isfinite(norm)
        if finite:
            clipped = scale * min(1.0, self.clip / (norm + 1e-6)) if self.clip else scale
            torch._foreach_mul_(gradients, clipped)
            self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return Outcome(own, total * scale, norm, finite, asked > 0, clock)

    def _add_up(self, own: Tally, stop: bool, clock: float) -> list[float]:
        """Gradients and counts over all processes, in place; a weight that no process used keeps no gradient."""
        if self.group.world == 1:
            return [own.total, float(own.tokens), float(own.sentences), float(stop), clock]
        said = [own.total, own.tokens, own.sentences, stop, clock if self.group.first else 0.0]
        numbers = torch.tensor(said + [p.grad is not None for p in self.parameters], dtype=torch.float64)
        self.group.add_up([numbers])
        used = [parameter for parameter, flag in zip(self.parameters, numbers[len(said) :], strict=True) if flag > 0]
        for parameter in used:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        gradients: list[Tensor] = [parameter.grad for parameter in used if parameter.grad is not None]
        self.group.add_up(gradients)
        return [float(number) for number in numbers[: len(said)]]


def parts(batch: Batch, count: int) -> list[Batch]:
    """The batch in so many micro-batches, by stride; fewer if it has fewer rows."""
    if count == 1:
        return [batch]
    return [batch.part(slice(first, None, count)) for first in range(min(count, len(batch)))]
