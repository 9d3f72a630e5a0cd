"""`xattend grid`: every combination of parts, trained alike and compared in one table."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend.cli import options
from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.trial import Trial

AXES = ("attention", "encoder", "decoder", "cell")


def _axis(name: str, help: str) -> Callable[[options.Command], options.Command]:
    return click.option(f"--{name}", metavar="a,b,c", help=help)


@dataclass(frozen=True)
class Cell:
    """One training of the grid and its place in the table."""

    parts: dict[str, str]
    trial: Trial

    @property
    def seed(self) -> int:
        return self.trial.recipe.training.seed


@click.command()
@click.argument("recipe")
@_axis("attention", "Attention mechanisms to compare.")
@_axis("encoder", "Encoders to compare.")
@_axis("decoder", "Decoders to compare.")
@_axis("cell", "Recurrent cells to compare, in encoder and decoder.")
@options.settings
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), metavar="M", help="Sets training.minutes of each training.")
@click.option("--seeds", metavar="1,2,3", help="Train each combination with each seed; the table has mean ± standard deviation.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Where the runs go. Default: runs/grid-RECIPE.")
@options.data
@options.as_json
@options.plugin
def command(
    recipe: str, attention: str | None, encoder: str | None, decoder: str | None, cell: str | None, overrides: tuple[str, ...],
    minutes: float | None, seeds: str | None, out: Path | None, data_dir: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Train every combination of the given parts of RECIPE, and print one row a combination, scored on validation.

    A part that takes another's place has its own default settings; the recipe's own part keeps the recipe's. The same
    command goes on where it was stopped: a finished training is not done again. DIR/grid.json has every number.

    \b
    xattend grid transliterate --attention additive,dot,none --minutes 2 --seeds 1,2
    """
    chosen = {name: _words(f"--{name}", given) for name, given in zip(AXES, (attention, encoder, decoder, cell)) if given is not None}
    out = out or Path("runs") / f"grid-{Path(recipe).stem}"
    from rich.console import Console

    cells = _cells(recipe, chosen, _seeds(seeds), overrides, minutes, out, data_dir)
    console = Console(stderr=True)
    data = cells[0].trial.data
    if "validation" not in data.splits:
        raise UserError("a grid is compared on validation rows, and this data has none: set data.validation or data.split")
    weights = {one.trial.name: one.trial.weights() for one in cells}
    for one in cells:
        one.trial.check_place()
    results: list[dict[str, Any]] = []
    for number, one in enumerate(cells, 1):
        name = one.trial.name
        console.print(f"{number} of {len(cells)}: {name}, seed {one.seed}", highlight=False, markup=False)
        one.trial.train(console)
        results.append({**one.parts, "seed": one.seed, "run": str(one.trial.path), "weights": weights[name], **_scores(one)})
        _write(out / "grid.json", recipe, results)
    columns, rows = _table(cells[0], results)
    if as_json:
        click.echo((out / "grid.json").read_text("utf-8").rstrip())
    else:
        from xattend.report.table import table

        click.echo(table(columns, rows, decimals=4))
        many = f"; mean ± standard deviation of {len(_seeds(seeds))} seeds" if len(_seeds(seeds)) > 1 else ""
        click.echo(f"scored on {len(data.splits['validation'])} validation rows{many}; every number is in {out / 'grid.json'}")


def _words(option: str, given: str) -> list[str]:
    words = [word.strip() for word in given.split(",")]
    if not all(words) or len(set(words)) < len(words):
        raise UserError(f"{option} {given}: write different names with commas between, as in a,b,c")
    return words


def _seeds(given: str | None) -> list[int | None]:
    if given is None:
        return [None]  # the recipe's own
    words = _words("--seeds", given)
    if not all(word.isdigit() for word in words):
        raise UserError(f"--seeds {given}: seeds are whole numbers, as in 1,2,3")
    return [int(word) for word in words]


def _cells(
    name: str, chosen: dict[str, list[str]], seeds: list[int | None], given: tuple[str, ...], minutes: float | None, out: Path,
    data_dir: Path | None,
) -> list[Cell]:  # fmt: skip
    """Every combination, resolved, so that a mistake shows before anything is trained."""
    from xattend import recipe as recipes
    from xattend.trial import Trial

    for word in given:
        part = word.partition("=")[0].removesuffix(".kind")
        if part in chosen:
            raise UserError(f"-s {word}: --{part} sets this too; give one of them")
    own = recipes.load(name, given).resolve()
    more = () if minutes is None else (f"training.minutes={float(minutes)!r}",)
    cells = []
    for values in product(*chosen.values()):
        parts = dict(zip(chosen, values, strict=True))
        swaps = [f"{axis}.kind={kind}" for axis, kind in parts.items() if axis != "cell" and own.part(axis)[0] != kind]
        for seed in seeds:
            overrides = (*swaps, *given, *more, *([] if seed is None else [f"training.seed={seed}"]))
            resolved = recipes.load(name, overrides).resolve()
            if "cell" in parts:
                with_cell = [section for section in ("encoder", "decoder") if "cell" in resolved.section(section)]
                if not with_cell:
                    raise UserError("--cell: neither the encoder nor the decoder has a cell")
                overrides = (*overrides, *(f"{section}.cell={parts['cell']}" for section in with_cell))
            folder = "_".join([*values, f"seed{resolved.training.seed}"])
            cells.append(Cell(parts, Trial(" + ".join(values) or "the recipe itself", name, overrides, out / folder, data_dir)))
            _ = cells[-1].trial.recipe  # a mistake shows before anything is trained
    return cells


def _scores(cell: Cell) -> dict[str, Any]:
    trial, data = cell.trial, cell.trial.data
    scores, lines = trial.scores("validation"), trial.log()
    rows = len(data.splits["train"])
    speeds = [line["tokens_per_second"] for line in lines if "tokens_per_second" in line]
    if speeds:  # of the updates alone
        speed = statistics.mean(speeds) * rows / (int(data.splits["train"].lengths[:, 1].sum()) - rows)
    else:
        speed = rows * max(line["epoch"] for line in lines if "epoch" in line) / max(trial.seconds, 1e-9)
    return {"metrics": scores.metrics, "examples_per_second": round(speed, 1), "minutes": round(trial.seconds / 60, 3)}


def _write(file: Path, recipe: str, results: list[dict[str, Any]]) -> None:
    from xattend.run import to_json, write_atomic
    from xattend.trial import finite

    plain = [{**one, "metrics": finite(one["metrics"])} for one in results]
    write_atomic(file, to_json({"recipe": recipe, "split": "validation", "cells": plain}))


def _table(cell: Cell, results: list[dict[str, Any]]) -> tuple[list[str], list[list[object]]]:
    """One row a combination, over its seeds."""
    metric = cell.trial.recipe.training.metric
    wanted = dict.fromkeys([*([] if metric == "loss" else [metric]), "cer", "exact", "perplexity"])
    metrics = [name for name in wanted if name in results[0]["metrics"]]
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for one in results:
        groups.setdefault(tuple(one[axis] for axis in cell.parts), []).append(one)
    rows: list[list[object]] = [
        [
            *parts, *(_spread([one["metrics"][name] for one in group], 4) for name in metrics), group[0]["weights"],
            _spread([one["examples_per_second"] for one in group], 0), _spread([one["minutes"] for one in group], 2),
        ]
        for parts, group in groups.items()
    ]  # fmt: skip
    return [*cell.parts, *metrics, "weights", "examples/s", "minutes"], rows


def _spread(values: list[float], decimals: int) -> str:
    mean = f"{statistics.mean(values):.{decimals}f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.{decimals}f}"
