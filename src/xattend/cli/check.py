"""`xattend check`: what a recipe and its data hold, what is wrong with them, and what training would cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from xattend.cli import options
from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.data.corpus import Data
    from xattend.data.fields.base import Field
    from xattend.data.report import Skipped
    from xattend.recipe import Recipe


@click.command()
@click.argument("recipe")
@options.settings
@options.data
@options.plugin
def command(recipe: str, overrides: tuple[str, ...], data_dir: Path | None) -> None:
    """Look for problems in RECIPE and its data, and estimate what training it takes.

    All rows are read. Problems that would stop training are listed by kind, the first hundred rows of each with file,
    line and what is wrong, and the exit code is 2. Minutes and memory are measured on a few real updates, and are estimates.
    """
    from xattend import recipe as recipes

    resolved = recipes.load(recipe, overrides).resolve()
    root = Path(recipe).parent.resolve() if Path(recipe).is_file() else Path.cwd()
    data, problems = _read(resolved, root, data_dir)
    _describe(data)
    if problems:
        for reason, found in problems.items():
            click.echo("\n".join([f"problem: {found.counted}: {reason}", *found.each()]))
        click.echo(
            f"xattend: {recipe}: {len(problems)} kind{'s' * (len(problems) > 1)} of bad rows would stop training: mend them, "
            "or set data.bad_rows = \"skip\"", err=True,
        )  # fmt: skip
        sys.exit(2)
    _cost(resolved, data)


def _read(recipe: Recipe, root: Path, data_dir: Path | None) -> tuple[Data, dict[str, Skipped]]:
    """The data; if a bad row stops it, the data without bad rows, and what was wrong with those."""
    from xattend import job
    from xattend.recipe import Recipe

    try:
        return job.open_data(recipe, root, data_dir), {}
    except UserError as first:
        if first.line is None or recipe.data.bad_rows == "skip":
            raise
        sections = {**recipe.sections, "data": {**recipe.sections["data"], "bad_rows": "skip"}}
        data = job.open_data(Recipe(sections, recipe.origin, recipe.text, recipe.overridden), root, data_dir)
        problems = dict(data.report.skipped)
        if not problems:  # it was not a bad row that stopped it
            raise first from None
        data.report.skipped.clear()
        return data, problems


def _describe(data: Data) -> None:
    import numpy as np

    from xattend.data.split import SIDES
    from xattend.report.table import table
    from xattend.types import EOS, UNK

    rows: list[list[object]] = []
    for name, split in data.splits.items():
        for side, field in zip(SIDES, data.fields, strict=True):
            if field is not None and not field.media:
                lengths = np.quantile(split.told(side, field), [0.0, 0.5, 0.9, 0.99, 1.0], method="nearest").tolist()
                rows.append([name, side, len(split), *map(int, lengths)])
    click.echo(table(["split", "side", "rows", "shortest", "median", "90 %", "99 %", "longest"], rows))
    click.echo("(lengths in units, start and end marks included; of stories in sentences)")
    for side, field in zip(SIDES, data.fields, strict=True):
        if field is not None and field.media:
            _describe_media(side, field, data)
        elif field is not None:
            space = field.space.beside or field.space
            if space.vocabulary is not None:
                click.echo(f"{side} vocabulary: {space.vocabulary} (4 of them special)")
            else:
                click.echo(f"{side}: {space.vector()} numbers a step")
    held_out = data.splits.get("validation")
    if held_out is None:
        click.echo("no validation rows: the last weights of a training would be kept, whatever they are worth")
    else:
        for side, field in zip(SIDES, data.fields, strict=True):
            if field is None:
                continue
            found = [id for ids in held_out.ids[side] for id in field.units(ids.tolist()) if id == UNK or id > EOS]
            unknown, units = found.count(UNK), len(found)
            if units:
                click.echo(f"{unknown} of {units} {side} units of validation are unknown ({100 * unknown / units:.2g} %)")
    for line in data.report.lines(each=True):
        if "units of validation are unknown" not in line:  # said above, even if there are none
            click.echo(line)
    if len(data.splits) > 1 and not any("in train too" in text for text in data.report.warnings):
        click.echo("no held-out source side is in train too")


def _describe_media(side: str, field: Field, data: Data) -> None:
    from xattend.data.fields.media import Media

    space = field.space
    assert space.features is not None
    shape = " x ".join(map(str, space.features))
    if space.grid is not None:
        shape = f"features of {' x '.join(map(str, space.grid))} places, {shape} wide"
    assert isinstance(field, Media)
    what = field.things if space.beside is None else f"questions about {field.things}"
    different = {name: len({split.texts(row)[0] for row in range(len(split))}) for name, split in data.splits.items()}
    click.echo(f"{side}: {what}, {', '.join(f'{count} different in {name}' for name, count in different.items())}; each {shape}")


def _cost(recipe: Recipe, data: Data) -> None:
    from xattend.cli.estimate import estimate
    from xattend.systems import assemble

    system = assemble(recipe, data.source, data.target)
    found = estimate(system, recipe, data.splits["train"])
    click.echo(f"{sum(weight.numel() for weight in system.parameters()):,} weights")
    click.echo(f"{found.updates:,} updates a pass over the data; {100 * found.padding:.1f} % of a batch is padding")
    if found.oversized:
        click.echo(f"{found.oversized} rows are longer than training.tokens; each is a batch of its own")
    steps = found.minutes * 60 / found.seconds
    click.echo(
        f"estimate: {found.minutes:.1f} minutes ({found.limit}), about {steps:,.0f} updates, {steps / found.updates:,.1f} passes over "
        f"the data; {1000 * found.seconds:.0f} ms an update, validation and saving not counted; {found.memory / 2**30:.1f} GiB of memory"
    )
