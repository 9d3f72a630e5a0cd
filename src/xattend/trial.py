"""A trial: one training among several that are compared, in a place of its own, so that the same command can go on where it stopped.

`xattend grid` compares trials of one recipe with other parts; `xattend reproduce` those of a paper's table.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend import recipe as recipes
from xattend.errors import UserError
from xattend.recipe import Recipe

if TYPE_CHECKING:
    from xattend.cli.scores import Scores
    from xattend.data.corpus import Data
    from xattend.model import Model
    from xattend.search import Search


UNTRAINED = ("about", "search")  # sections of a recipe that do not change what is learned
UNSEEN = ("threads", "workers", "save_every", "log_every")  # and settings of training: with how much of a machine, and what is written down


@dataclass(frozen=True)
class Trial:
    """A recipe with the overrides that make it this trial, and the run directory that it is trained into."""

    name: str
    recipe_name: str
    overrides: tuple[str, ...]
    path: Path
    data_dir: Path | None = field(default=None, compare=False)

    @cached_property
    def recipe(self) -> Recipe:
        """Resolved, so that a mistake shows before anything is trained."""
        return recipes.load(self.recipe_name, self.overrides).resolve()

    @cached_property
    def data(self) -> Data:
        from xattend import job

        given = Path(self.recipe_name)
        return job.open_data(self.recipe, given.parent.resolve() if given.is_file() else Path.cwd(), self.data_dir)

    def weights(self) -> int:
        """How many there are; parts that do not go together show here, before anything is trained."""
        from xattend.systems import assemble

        try:
            return sum(weight.numel() for weight in assemble(self.recipe, self.data.source, self.data.target).parameters())
        except UserError as error:
            raise UserError(f"{self.name}: {error}") from None

    def check_place(self) -> None:
        """A run that is there already must be of the same training and data, or different things would be compared."""
        from xattend.run import Run

        run = Run(self.path)
        if run.manifest.exists():
            run.verify(weights=False)
            there = recipes.load(run.recipe).resolve()  # with settings that are newer than the run
            if learning(there) != learning(self.recipe) or run.fingerprint != self.data.fingerprint:
                raise UserError("holds a run of another recipe or other data: choose another --out, or remove it", file=self.path)

    def train(self, console: Any) -> None:
        """To its end, from wherever it stands. Stopped by the user: says so and leaves with training's exit code."""
        from xattend import job
        from xattend.run import Run

        run = Run(self.path)
        if not run.manifest.exists():
            _, result = job.start(self.recipe_name, out=self.path, overrides=self.overrides, data_dir=self.data_dir, console=console)
        elif not run.finished:
            result = job.resume(self.path, data_dir=self.data_dir, console=console)
        else:
            console.print("trained before", highlight=False)
            return
        if result.exit_code:
            click.echo("xattend: stopped; the same command goes on from here", err=True)
            sys.exit(result.exit_code)

    def model(self) -> Model:
        from xattend.model import Model

        return Model.load(self.path)

    def search(self, model: Model) -> Search:
        """As this trial's recipe says: the run's may be older, and other outputs need no other training."""
        kind, settings = self.recipe.part("search")
        return model.search(kind=kind, **settings)

    def scores(self, split: str, *, variants: bool = False) -> Scores:
        """Every metric on a split, decoded as the recipe says. With `variants`, rows of one source are one question."""
        from xattend.cli.evaluate import rows_of
        from xattend.cli.scores import score_rows

        if split not in self.data.splits:
            raise UserError(f"{self.name}: the data has no {split} rows")
        model, held_out = self.model(), self.data.splits[split]
        return score_rows(model, lambda: rows_of(held_out), self.search(model), variants=variants, total=len(held_out))

    def outputs(self, split: str) -> tuple[list[str], list[str], list[str]]:
        """Sources, what the model writes, and what it should have written; decoded once and kept beside the run."""
        from xattend.cli.evaluate import rows_of

        def decoded() -> list[list[str | None]]:
            model, rows = self.model(), list(rows_of(self.data.splits[split]))
            written = [found.text for found in model.predict_rows(iter(rows), self.search(model))]
            return [[row.source, text, row.target] for row, text in zip(rows, written, strict=True)]

        sources, written, references = (list(column) for column in zip(*self.kept(split, decoded), strict=True))
        return sources, written, references

    def answers(self, texts: Sequence[str]) -> dict[str, str]:
        """What the model writes for texts of anybody's own."""
        from xattend.data.readers.base import Row

        model, rows = self.model(), [Row(text, None, "text", number) for number, text in enumerate(texts, 1)]
        return {row.source: found.text for row, found in zip(rows, model.predict_rows(rows, self.search(model)), strict=True)}

    def kept(self, name: str, find: Callable[[], Any]) -> Any:
        """What was found with this search before, from beside the run; found now and kept there if it was not."""
        from xattend.run import to_json, write_atomic

        file, search = self.path.with_name(f"{self.path.name}.{name}.json"), self.recipe.sections["search"]
        before = json.loads(file.read_text("utf-8")) if file.exists() else None
        if isinstance(before, dict) and before.get("search") == search:
            return before["found"]
        found = find()
        write_atomic(file, to_json({"search": search, "found": found}))
        return found

    def log(self) -> list[dict[str, Any]]:
        """What training wrote down, line by line."""
        from xattend.run import Run

        return [json.loads(line) for line in Run(self.path).metrics.read_text("utf-8").splitlines()]

    @property
    def seconds(self) -> float:
        """Of training, validations included; 0 if it ended before anything was written down."""
        return max((float(line["seconds"]) for line in self.log()), default=0.0)


def learning(recipe: Recipe, but: Sequence[str] = ()) -> str:
    """What of a recipe says what is learned, but some settings of training."""
    kept = {name: values for name, values in recipe.sections.items() if name not in UNTRAINED}
    return recipes.toml_value({**kept, "training": {key: value for key, value in recipe.section("training").items() if key not in (*UNSEEN, *but)}})


def finite(metrics: dict[str, float]) -> dict[str, float | None]:
    """JSON has no infinity: None stands for it."""
    return {name: value if math.isfinite(value) else None for name, value in metrics.items()}
