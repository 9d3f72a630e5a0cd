"""What the tests of tasks that draw share."""

from __future__ import annotations

import hashlib

import numpy as np

from xattend import registry

TASKS = ["scenes", "questions", "words", "moving-digits", "passing-digits"]
PAIR = "red circle 20 12 9;blue square 24 44 5"


def rows_of(name, **given):
    return {split: list(rows) for split, rows in registry.build("task", name, **given).splits().items()}


def picture(source):
    name, _, spec = source.partition(":")
    return registry.find("task", name).draw(spec)


def digest(frames):
    return hashlib.sha256(np.stack(frames).tobytes()).hexdigest()[:16]
