"""From a recipe to a trained run: what `xattend train`, `xattend grid` and a Python script do alike.

    run, result = start("transliterate", out="runs/x", overrides=["training.minutes=2"])
    result = resume("runs/x")

RUN/places.json remembers where the recipe and the data lay, so that a run can be resumed and evaluated from anywhere. A training may begin with
what another has learnt (`training.start = "runs/x"`): on other rows, or by another objective.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from xattend import recipe as recipes
from xattend import registry
from xattend.data.cache import cache_folder
from xattend.data.corpus import Data, prepare
from xattend.data.fields.base import Field
from xattend.data.wanted import Fields, Wanted
from xattend.errors import UserError
from xattend.kept import fields_of, places_of
from xattend.recipe import Recipe
from xattend.run import Run, to_json, write_atomic
from xattend.systems import assemble
from xattend.training import Result, train
from xattend.training.distributed import Group, joined
from xattend.training.weights import begin

Made = TypeVar("Made")
PATIENCE = 10.0  # seconds without a word


class Telling:
    """Says on stderr how far reading is, once it takes long: features of many pictures take minutes."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.last = time.monotonic()

    def __call__(self, stage: str, rows: int) -> None:
        if time.monotonic() - self.last >= PATIENCE or stage.startswith("waiting"):
            self.last = time.monotonic()
            self.console.print(f"{stage}: {rows:,}" if rows else stage, highlight=False, soft_wrap=True)


def open_data(recipe: Recipe, root: Path, data_dir: Path | None, fields: Fields | None = None) -> Data:
    """The data of a resolved recipe; that of a training which begins with another run has the vocabularies of that."""
    system, _ = recipe.part("system")
    needs_source = registry.find("system", system).needs_source
    if fields is None and recipe.training.start is not None:
        fields = _with_vocabularies(Wanted(recipe, root, data_dir, needs_source).fields, fields_of(_begun(recipe.training.start)))
    return prepare(
        recipe, cache_folder(), root=root, data_dir=data_dir, fields=fields, needs_source=needs_source, progress=Telling()
    )


def _begun(path: str) -> Run:
    """The run of `training.start`."""
    run = Run(path)
    try:
        run.verify()
    except UserError as error:
        raise UserError(f"training.start: {error}") from None
    return run


def _with_vocabularies(own: Fields, begun: Fields) -> Fields:
    """A recipe's fields, with what those of the run found that it begins with."""
    for mine, theirs in zip(own, begun, strict=True):
        if mine is not None:
            if theirs is None or _units(mine) != _units(theirs):
                raise UserError(f"training.start: that run reads or writes {_units(theirs)}, this recipe {_units(mine)}")
            mine.restore(theirs.to_json())
    return own


def _units(field: Field | None) -> str:
    """What a field's vocabulary is of, in words."""
    if field is None:
        return "nothing"
    described = field.to_json()
    unit = described["settings"].get("unit")
    return f"{unit} of {described['kind']}" if unit else str(described["kind"])


def _prepared(group: Group, make: Callable[[], Made]) -> Made:
    """With several processes, the first prepares the data while the others wait, and then find it in the cache."""
    if group.first:
        made = make()
        group.tell(None)
        return made
    group.tell(None)
    return make()


def start(
    recipe_name: str | Path, *, out: str | Path, overrides: Iterable[str] = (), data_dir: Path | None = None,
    overwrite: bool = False, console: Console | None = None,
) -> tuple[Run, Result]:  # fmt: skip
    """Trains a recipe into a new run directory."""
    given = recipes.load(recipe_name, overrides)
    recipe = given.resolve()
    if recipe.training.start_parts is not None and recipe.training.start is None:
        raise UserError("training.start_parts says what to take over, but there is no training.start to take it from: set it to a run, or leave start_parts out")
    root = Path(recipe_name).parent.resolve() if Path(recipe_name).is_file() else Path.cwd()
    with joined() as group:
        data = _prepared(group, lambda: open_data(recipe, root, data_dir))
        _tell(console if group.first else None, data.report.lines())
        system = assemble(recipe, data.source, data.target)
        if recipe.training.start is not None:
            begin(system, _begun(recipe.training.start).model, recipe.training.start_parts)
        if group.first:
            fields = {side: field.to_json() for side, field in zip(("source", "target"), data.fields, strict=True) if field}
            run = Run.create(out, recipe=recipe.dump(), fields=fields, fingerprint=data.fingerprint, overwrite=overwrite)
            places = {"root": str(root), "data": None if data_dir is None else str(data_dir.resolve())}
            write_atomic(run.path / "places.json", to_json(places))
        group.tell(None)  # nobody opens the run before it is there
        run = Run(out)
        return run, train(system, data, recipe, run, console=console)


def resume(path: str | Path, *, overrides: Iterable[str] = (), data_dir: Path | None = None, console: Console | None = None) -> Result:
    """Goes on with a run from its last saved state, on the same data."""
    with joined() as group:
        run, recipe, data = _prepared(group, lambda: reopen(path, overrides=overrides, data_dir=data_dir))
        if data.fingerprint != run.fingerprint:
            raise UserError("the data has changed since this run began: restore it, or train anew", file=run.path)
        system = assemble(recipe, data.source, data.target)
        return train(system, data, recipe, run, resume=True, console=console)


def reopen(path: str | Path, *, overrides: Iterable[str] = (), data_dir: Path | None = None) -> tuple[Run, Recipe, Data]:
    """A run with its recipe and its data, encoded by its own fields."""
    run = Run(path)
    run.verify(weights=False)
    recipe = recipes.load(run.recipe, overrides).resolve()
    root, where = places_of(run)
    return run, recipe, open_data(recipe, root, data_dir or where, fields_of(run))


def _tell(console: Console | None, lines: list[str]) -> None:
    if console is not None:
        for line in lines:
            console.print(line, highlight=False, soft_wrap=True)
