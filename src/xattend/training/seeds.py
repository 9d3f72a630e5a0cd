"""Randomness without state: every update draws from generators seeded by (seed, step, process).

A resumed training draws what the uninterrupted one would have drawn, validation cannot disturb it, and data workers may
draw what they like. torch's CPU generator takes 32 bits of seed, so the numbers are hashed into that many.

>>> import torch
>>> seed(1, 2); a = torch.rand(1); seed(1, 2); b = torch.rand(1); seed(2, 1); c = torch.rand(1)
>>> (a == b).item(), (a == c).item()
(True, False)
"""

from __future__ import annotations

import random

import numpy as np
import torch


def seed(*numbers: int) -> None:
    """Seeds torch, numpy and random from a few numbers that name this moment."""
    word = int(np.random.SeedSequence([number & 0xFFFFFFFF for number in numbers]).generate_state(1)[0])
    torch.default_generator.manual_seed(word)  # torch.manual_seed formats a stack trace each time, for devices not there
    np.random.seed(word)
    random.seed(word)
