"""What a report says of a model and its data in words and counts: the model card, the table of lengths, what is known to be weak.

>>> length_of(3700.0), length_of(95.0), length_of(12.0)
('62 minutes', '95 seconds', '12 seconds')
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xattend.data.corpus import Data
from xattend.data.fields.story import Story
from xattend.data.split import SIDES
from xattend.model import Model
from xattend.recipe import Recipe
from xattend.run import Run

PARTS = ("system", "encoder", "attention", "decoder", "objective", "search")


def card(model: Model, run: Run, data: Data, log: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What it is, line by line."""
    recipe = model.recipe
    about, last = recipe.about, log[-1] if log else {}
    trained = [f"{last['step']:,} updates", f"{float(last.get('epoch', 0)):.1f} passes over the data"] if last else ["nothing was written down"]
    seconds = [float(one["seconds"]) for one in log if isinstance(one.get("seconds"), (int, float))]
    trained += [length_of(max(seconds))] if seconds else []
    weights = sum(weight.numel() for weight in model.system.parameters())
    lines = [
        ("what it is", about.title or "a recipe without a title"),
        ("paper", about.paper), ("task", about.task),
        ("made of", ", ".join(f"{section} {recipe.part(section)[0]}" for section in PARTS if section in recipe.sections)),
        ("size", f"{weights:,} weights, {run.model.stat().st_size / 1e6:.1f} MB on disk"),
        ("reads", _side(model.source)), ("writes", _side(model.target)),
        ("rows", ", ".join(f"{name} {len(split):,}" for name, split in data.splits.items())),
        ("trained", ", ".join(trained) + f", seed {recipe.training.seed}"),
        ("state", "finished" if run.finished else "not finished: these are the best weights so far"),
        ("data", f"fingerprint {run.fingerprint[:16]}"),
    ]  # fmt: skip
    return [(name, said) for name, said in lines if said]


def _side(field: Any) -> str:
    if field is None:
        return ""
    space = field.space.beside or field.space
    if field.media or space.vocabulary is None:
        shape = " x ".join(map(str, field.space.features or ()))
        return f"{field.registered_name}, {shape}" + (f", {field.space.grid} places" if field.space.grid else "")
    settings = field.to_json().get("settings", {})
    return f"{field.registered_name}, unit {settings.get('unit', '?')}, {space.symbols():,} symbols (4 of them special)"


def length_of(seconds: float) -> str:
    """A time in words."""
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"


def lengths(data: Data) -> list[list[object]]:
    """A row a split and side: rows, and how long they are. Pictures have no length: only their rows are counted."""
    found: list[list[object]] = []
    for name, split in data.splits.items():
        for side, field in zip(SIDES, data.fields, strict=True):
            if field is None:
                continue
            if field.media or not len(split):
                found.append([name, side, len(split), None, None, None, None])
                continue
            marks = np.quantile(split.told(side, field), [0.0, 0.5, 0.9, 1.0], method="nearest").tolist()
            found.append([name, side, len(split), *map(int, marks)])
    return found


def limits(model: Model, data: Data, unknown: int, cut: int, rows: int) -> list[str]:
    """What is known to be weak, from counts alone."""
    recipe: Recipe = model.recipe
    found = [f"It has seen rows of this kind only: {recipe.about.task or 'see Data'}. What it does with anything else was not measured."]
    for side, field in zip(SIDES, data.fields, strict=True):
        train = data.splits.get("train")
        if train is not None and len(train) and field is not None and not field.media:
            found.append(f"The longest {side} in training has {int(train.told(side, field).max())} {'sentences' if isinstance(field, Story) else 'units'}; longer ones are unlike all that it knows.")
    if unknown:
        found.append(f"{unknown:,} target units of the measured rows are not in its vocabulary: it cannot write them.")
    if cut:
        found.append(f"{cut:,} of {rows:,} outputs were cut by the length limit.")
    if "validation" not in data.splits:
        found.append("There were no validation rows: the last weights were kept, whatever they are worth.")
    found.append("Weights show where it looked, which is not the same as why it wrote what it wrote.")
    return found
