"""From stored frames to what a model hears: its tempo changed, deltas, normalised, parts hidden; the same for the same seed, pass and sound.

    speed       in training a sound is played faster or slower by up to this share: frames are interpolated, so its pitch stays
    normalise   sound: each band of each sound to mean 0 and variance 1; training: by the mean and variance of the training sounds; none
    noise       in training, drawn from a normal distribution and added to what is normalised (Graves et al. 2006)
    masks       in training some runs of frames and of bands are set to 0, which is the mean (SpecAugment: Park et al. 2019)

Outside of training there is no pass, and nothing is drawn.

>>> hears = Hearing(deltas=1, normalise="sound")
>>> heard_TD = hears(np.random.default_rng(0).normal(5, 3, (50, 4)).astype(np.float32), bytes(32))
>>> heard_TD.shape, np.allclose(heard_TD.mean(axis=0), 0, atol=1e-5)
((50, 8), True)
>>> hidden_TD = Hearing(normalise="none", time_masks=1, time_width=10).at(1)(np.ones((50, 4), np.float32), bytes(32))
>>> 0 <= int((hidden_TD == 0).all(axis=1).sum()) <= 10
True
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from xattend.data.spectrum import Frames, with_deltas

Normalise = Literal["sound", "training", "none"]


@dataclass(frozen=True, eq=False)
class Hearing:
    """`epoch` is the pass over the data, None outside of training."""

    deltas: int = 0
    normalise: Normalise = "sound"
    speed: float = 0.0
    noise: float = 0.0
    time_masks: int = 0
    time_width: int = 0
    band_masks: int = 0
    band_width: int = 0
    seed: int = 1
    mean_D: np.ndarray[Any, np.dtype[np.float32]] | None = None
    deviation_D: np.ndarray[Any, np.dtype[np.float32]] | None = None
    epoch: int | None = None

    def at(self, epoch: int) -> Hearing:
        return replace(self, epoch=epoch)

    def __call__(self, frames_TD: Frames, key: bytes) -> Frames:
        """Stored frames to what is heard; `key` makes a sound's draws its own."""
        random = None if self.epoch is None else self._random(key)
        frames_TD = frames_TD.astype(np.float32)
        if random is not None and self.speed:
            frames_TD = played(frames_TD, 1 + self.speed * random.uniform(-1, 1))
        heard_TD = with_deltas(frames_TD, self.deltas)
        if self.normalise == "sound":
            heard_TD = (heard_TD - heard_TD.mean(axis=0)) / np.maximum(heard_TD.std(axis=0), 1e-3)
        elif self.mean_D is not None and self.deviation_D is not None:
            heard_TD = (heard_TD - self.mean_D) / self.deviation_D
        if random is not None and self.noise:
            heard_TD = heard_TD + np.float32(self.noise) * random.standard_normal(heard_TD.shape, np.float32)
        if random is not None and (self.time_masks or self.band_masks):
            heard_TD = np.array(heard_TD)
            width = frames_TD.shape[1]
            for _ in range(self.time_masks):
                run = int(random.integers(0, min(self.time_width, len(heard_TD) // 5) + 1))  # never more than a fifth of a short sound
                begin = int(random.integers(0, len(heard_TD) - run + 1))
                heard_TD[begin : begin + run] = 0.0
            for _ in range(self.band_masks):
                run = int(random.integers(0, min(self.band_width, width) + 1))
                begin = int(random.integers(0, width - run + 1))
                for part in range(self.deltas + 1):
                    heard_TD[:, part * width + begin : part * width + begin + run] = 0.0
        return heard_TD

    def _random(self, key: bytes) -> np.random.Generator:
        moment = hashlib.blake2b(key + f"{self.seed} {self.epoch}".encode(), digest_size=16).digest()
        return np.random.Generator(np.random.PCG64(int.from_bytes(moment, "big")))


def played(frames_TD: Frames, speed: float) -> Frames:
    """Frames between frames: faster ones are fewer.

    >>> played(np.arange(9, dtype=np.float32)[:, None], 2.0)[:, 0].tolist()
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    count = max(1, round((len(frames_TD) - 1) / speed) + 1)
    at_T = np.minimum(np.arange(count) * speed, len(frames_TD) - 1)
    before_T = np.floor(at_T).astype(np.int64)
    share_T1 = (at_T - before_T).astype(np.float32)[:, None]
    after_T = np.minimum(before_T + 1, len(frames_TD) - 1)
    between: Frames = frames_TD[before_T] * (1 - share_T1) + frames_TD[after_T] * share_T1
    return between
