"""`xattend bench`: how fast this machine trains each recipe, and where the time goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend.cli import options
from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.data.corpus import Data
    from xattend.recipe import Recipe

SAMPLE = 8  # batches that are trained on, again and again


@click.command()
@click.argument("recipes", nargs=-1, metavar="[RECIPE]...")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=5.0, show_default=True, help="Time each recipe for so long.")
@options.as_json
@options.settings
@options.data
@options.plugin
def command(recipes: tuple[str, ...], seconds: float, as_json: bool, overrides: tuple[str, ...], data_dir: Path | None) -> None:
    """Time the training of every shipped recipe, or of those named.

    A recipe whose data set is not at hand is timed on made-up rows, marked *. "of peak" is the share of this machine's speed
    at a large matrix product that the products of training reach; the last columns say where the time goes.

    \b
    xattend bench transliterate --seconds 2
    """
    import torch

    from xattend import recipe as shipped
    from xattend.report.table import table
    from xattend.training.speed import product_speed

    names = list(recipes) or [name for name, _ in shipped.shipped()]
    peak = product_speed()
    click.echo(f"{torch.get_num_threads()} threads, {peak / 1e9:,.0f} GFLOP/s at a large product (torch {torch.__version__})", err=as_json)
    found = []
    for name in names:
        click.echo(f"timing {name}", err=True)
        found.append(_time(name, seconds, overrides, data_dir, peak))
    if as_json:
        click.echo(json.dumps({"peak_gflops": peak / 1e9, "threads": torch.get_num_threads(), "recipes": found}))
        return
    kinds = list(found[0]["shares"])
    rows = [
        [
            one["recipe"] + "*" * one["made_up"], one["weights"], round(one["tokens_per_second"]), f"{one['mflops_per_token']:.1f}",
            _percent(one["of_peak"]), _percent(one["padding"]), _percent(one["loading"]), *[_percent(one["shares"][kind]) for kind in kinds],
        ]
        for one in found
    ]  # fmt: skip
    click.echo(table(["recipe", "weights", "tokens/s", "MFLOP/token", "of peak", "padding", "loading", *kinds], rows))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _time(name: str, seconds: float, overrides: tuple[str, ...], data_dir: Path | None, peak: float) -> dict[str, Any]:
    from xattend.data.batching import Batches, loader
    from xattend.systems import assemble
    from xattend.training.distributed import Group
    from xattend.training.speed import measure
    from xattend.training.update import Updater

    recipe, data, made_up = _open(name, overrides, data_dir)
    split = data.splits["train"]
    plan = Batches.of(split, recipe.training).plan(0)[:SAMPLE]
    system = assemble(recipe, data.source, data.target).train()
    updater = Updater.of(system, recipe, Group())
    speed = measure(updater, [split.batch(rows.tolist()) for rows in plan], loader(split, plan), seconds=seconds, peak=peak)
    positions = sum(len(rows) * int(split.lengths[rows].max(axis=0).sum()) for rows in plan)
    return {
        "recipe": name, "made_up": made_up, "weights": sum(weight.numel() for weight in updater.parameters),
        "tokens_per_second": speed.tokens_per_second, "mflops_per_token": speed.flops_per_token / 1e6, "of_peak": speed.fraction,
        "padding": 1 - sum(int(split.lengths[rows].sum()) for rows in plan) / positions, "loading": speed.loading, "shares": speed.shares,
    }  # fmt: skip


def _open(name: str, overrides: tuple[str, ...], data_dir: Path | None) -> tuple[Recipe, Data, bool]:
    """The recipe with its data, or with made-up rows of the same kind if its files are not there."""
    from xattend import job
    from xattend import recipe as recipes

    given = recipes.load(name, overrides).resolve()
    root = Path(name).parent.resolve() if Path(name).is_file() else Path.cwd()
    try:
        return given, job.open_data(given, root, data_dir), False
    except UserError as error:
        if given.data.task is not None or Path(name).is_file():
            raise
        click.echo(f"{name} is timed on made-up rows: {error}", err=True)
    short = (given.data.source or given.data.target or {}).get("unit") == "character"
    unit = "character" if short else "word"
    shared = {key: value for key, value in (given.data.target or {}).items() if key == "share"}  # tied weights need it
    data: dict[str, Any] = {"task": "dates" if short else "sentences", "target": {"unit": unit, **shared}}
    if given.data.source is not None:
        data["source"] = {"unit": unit}
    made_up = recipes.Recipe({**given.sections, "data": data}, given.origin, given.text, given.overridden).resolve()
    return made_up, job.open_data(made_up, root, data_dir), True
