"""Training: `train` takes a system, data, a recipe and a run directory, and leaves the best weights in the run.

    with the weights seeded:  seed(recipe.training.seed); system = ...
    result = train(system, data, recipe, run)

The loop is in loop.py, one update in update.py, what is saved in checkpoint.py, several processes in distributed.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import rich.console
import torch

from xattend.data.corpus import Data
from xattend.recipe import Recipe
from xattend.run import Run
from xattend.systems.base import System
from xattend.training.distributed import joined
from xattend.training.interrupt import Interrupt
from xattend.training.loop import Result, Trainer
from xattend.training.progress import Progress
from xattend.training.seeds import seed

__all__ = ["Result", "seed", "train"]


def train(
    system: System, data: Data, recipe: Recipe, run: Run, *, resume: bool = False, console: rich.console.Console | None = None
) -> Result:
    """Trains, in this process or as one of those that torchrun started; only the first of them prints and saves.

    `run` is a run that `Run.create` made. Ctrl-C and SIGTERM finish the update, save the state and return; give
    `Result.exit_code` to the shell.
    """
    with joined() as group, _steady(recipe.training.threads), Interrupt() as interrupt:
        lock = run.locked() if group.first else contextlib.nullcontext()
        with lock, Progress(console, shown=group.first) as progress:
            return Trainer(system, data, recipe, run, group, progress, interrupt).train(resume)


@contextlib.contextmanager
def _steady(threads: int | None) -> Iterator[None]:
    """Equal sums for equal inputs (parallel scatter-adds otherwise race), and the number of threads asked for."""
    before = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    memory: Any = torch.utils.deterministic
    filled = memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    memory.fill_uninitialized_memory = False  # a debugging aid that costs time
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        memory.fill_uninitialized_memory = filled
        torch.set_num_threads(before[1])
