"""What a training would cost, measured: a few real updates on real batches, and then a rule of three.

The largest batch comes first: it sets the peak of memory, and warms everything up. Batches are in random order, so the
next ones are a fair sample for the time of an update.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass

import torch

from xattend.data.batching import Batches
from xattend.data.split import Split
from xattend.recipe import Recipe
from xattend.systems.base import System
from xattend.training.budget import Budget
from xattend.training.distributed import Group
from xattend.training.update import Updater

SAMPLE = 200  # batches looked at for the share of padding
UPDATES, SECONDS = 10, 15.0  # so many updates are timed, or for so long


@dataclass(frozen=True)
class Estimate:
    """updates    of a pass over the data
    padding    share of the positions of a batch
    oversized  rows longer than the budget of a batch
    seconds    of an update
    minutes    of the whole training, and the limit that ends it
    memory     bytes this process had at its peak
    """

    updates: int
    padding: float
    oversized: int
    seconds: float
    minutes: float
    limit: str
    memory: int


def estimate(system: System, recipe: Recipe, split: Split) -> Estimate:
    """Trains `system` for a moment: give one that is not needed afterwards."""
    settings = recipe.training
    batches = Batches.of(split, settings)
    plan = batches.plan(0)
    sample = plan[:SAMPLE]
    widths = [split.lengths[rows].max(axis=0) for rows in sample]
    positions = sum(len(rows) * int(width.sum()) for rows, width in zip(sample, widths, strict=True))
    real = sum(int(split.lengths[rows].sum()) for rows in sample)
    largest = max(range(len(sample)), key=lambda n: len(sample[n]) * int(widths[n].sum()))

    updater = Updater.of(system, recipe, Group())
    threads = torch.get_num_threads()
    torch.set_num_threads(settings.threads or threads)
    system.train()
    updater.update(split.batch(sample[largest].tolist()))
    began, done = time.perf_counter(), 0
    while done < UPDATES and time.perf_counter() - began < SECONDS:
        updater.update(split.batch(sample[done % len(sample)].tolist()))
        done += 1
    seconds = (time.perf_counter() - began) / done
    torch.set_num_threads(threads)

    budget, _ = Budget.of(settings)
    limits = [
        (None if budget.steps is None else budget.steps * seconds / 60, f"{budget.steps} steps"),
        (None if budget.epochs is None else budget.epochs * len(plan) * seconds / 60, f"{budget.epochs:g} epochs" if budget.epochs else ""),
        (budget.minutes, "training.minutes"),
    ]  # fmt: skip
    minutes, limit = min((minutes, said) for minutes, said in limits if minutes is not None)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Estimate(len(plan), 1 - real / positions, batches.oversized, seconds, minutes, limit, peak)
