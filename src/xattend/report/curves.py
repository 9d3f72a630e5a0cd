"""Learning curves: what a training wrote into metrics.jsonl, as charts for the viewer.

>>> log = [{"step": 50, "nll": 3.0, "lr": 0.1}, {"step": 50, "event": "validation", "validation_loss": 2.5, "validation_cer": 0.9}]
>>> [(chart["title"], [line["name"] for line in chart["lines"]]) for chart in charts(log)]
[('nats a token', ['training', 'validation']), ('validation cer', ['cer']), ('learning rate', ['rate'])]
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

POINTS = 400  # of a line
_PARTS = ("picture", "code")  # systems that paint: what the canvas misses, and what the code says
_LOSS, _PERPLEXITY = "validation_loss", "validation_perplexity"  # the second says the same as the first


def read_log(file: Path) -> tuple[list[dict[str, Any]], int]:
    """The lines of metrics.jsonl, and how many of them could not be read; a killed training may leave half a line."""
    found: list[dict[str, Any]] = []
    bad = 0
    try:
        lines = file.read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    for line in lines:
        try:
            one = json.loads(line)
        except ValueError:
            one = None
        if isinstance(one, dict) and isinstance(one.get("step"), int):
            found.append(one)
        else:
            bad += 1
    return found, bad


def charts(log: list[dict[str, Any]], unit: str = "a token") -> list[dict[str, Any]]:
    """Loss of training and validation together (of what, `unit` says), each validation metric, the rate; those that have points."""
    metrics = dict.fromkeys(key for one in log for key in one if key.startswith("validation_") and key not in (_LOSS, _PERPLEXITY))
    likelihood = "loss" if any(_PARTS[0] in one for one in log) else "nll"  # of pictures there is a bound only, which is the loss itself
    found = [_chart(f"nats {unit}", {"training": likelihood, "validation": _LOSS}, log)]
    found.append(_chart("parts of the bound", {name: name for name in _PARTS}, log))
    found += [_chart(f"validation {key.removeprefix('validation_')}", {key.removeprefix("validation_"): key}, log) for key in metrics]
    found.append(_chart("learning rate", {"rate": "lr"}, log))
    return [chart for chart in found if chart["lines"]]


def _chart(title: str, keys: dict[str, str], log: list[dict[str, Any]]) -> dict[str, Any]:
    lines = [{"name": name, "points": _points(log, key)} for name, key in keys.items()]
    return {"title": title, "x": "updates", "y": title, "lines": [line for line in lines if line["points"]]}


def _points(log: list[dict[str, Any]], key: str) -> list[list[float]]:
    """At most POINTS of them, equally spaced, the last included."""
    found = [[one["step"], one[key]] for one in log if isinstance(one.get(key), (int, float)) and math.isfinite(one[key])]
    every = -(-len(found) // POINTS)
    return found if every < 2 else [*found[: -1 : every], found[-1]]
