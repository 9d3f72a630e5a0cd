"""A waveform to be written down by heart from silence, sample by sample (Koutnik et al. 2014, section 4.1).

A wave is a sum of sines of many periods, from a few samples to the whole length, scaled to [-1, 1]; `number` says which. There is nothing
to generalise to: a network is trained on the one wave that it must give. As no two splits may have a source in common, validation and
test ask for the same wave without its last one and two samples.

>>> source, target = next(Waveform(length=6).splits()["train"])
>>> source, len(target.split())
('. . . . . .', 6)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import numpy as np
import pydantic

from xattend.data.fields.bits import write
from xattend.data.tasks.base import Task
from xattend.registry import register

PARTS = 12  # sines of a wave


def wave(number: int, length: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """samples_T in [-1, 1], the largest of them 1 in size."""
    random = np.random.Generator(np.random.PCG64([320, number]))
    periods = np.exp(random.uniform(np.log(6.0), np.log(length), size=PARTS))
    sizes, phases = random.uniform(0.3, 1.0, size=PARTS), random.uniform(0, 2 * np.pi, size=PARTS)
    samples_T = (sizes * np.sin(2 * np.pi * np.arange(length)[:, None] / periods + phases)).sum(axis=1)
    found: np.ndarray[Any, np.dtype[np.float64]] = samples_T / np.abs(samples_T).max()
    return found


@register("task", "waveform")
class Waveform(Task):
    """One row: silence -> numbers."""

    source: ClassVar[dict[str, Any]] = {"kind": "bits"}
    target: ClassVar[dict[str, Any]] = {"kind": "bits"}

    def __init__(
        self, *,
        number: Annotated[int, pydantic.Field(ge=1), "which wave"] = 1,
        length: Annotated[int, pydantic.Field(ge=4, le=4000), "its samples"] = 320,
    ) -> None:  # fmt: skip
        self.number, self.length = number, length

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        samples = [round(1000 * sample) for sample in wave(self.number, self.length).tolist()]
        lengths = {"train": self.length, "validation": self.length - 1, "test": self.length - 2}
        return {
            split: iter([(" ".join("." * length), " ".join(write("", "", sample) for sample in samples[:length]))])
            for split, length in lengths.items()
        }  # fmt: skip
