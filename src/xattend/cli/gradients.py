"""`xattend gradients`: hard attention's bound and its gradients, exact and estimated, on a model so small that every path can be summed."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend.cli import options
from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.laboratory.estimators import Measure
    from xattend.laboratory.quantities import Quantities

GROUPS = 20  # of estimates, for their spread
DRAWN = ("none", "moving", "learned", "self-critical", "leave-one-out", "leave-one-out, rest", "gumbel")  # as many as there are colours


@click.command()
@click.argument("recipe")
@options.settings
@click.option("--places", type=click.IntRange(min=2), default=4, show_default=True, metavar="L", help="Source places a row.")
@click.option("--steps", type=click.IntRange(min=1), default=3, show_default=True, metavar="T", help="Target steps a row; L^T paths are summed.")
@click.option("--rows", type=click.IntRange(min=1), default=2, show_default=True, metavar="B", help="Rows of the data.")
@click.option("--width", type=click.IntRange(min=0), default=16, show_default=True, metavar="W",
              help="The decoder's width, all else in proportion; 0: the recipe's own.")  # fmt: skip
@click.option("--scale", type=click.FloatRange(min=0, min_open=True), default=4.0, show_default=True, metavar="X",
              help="Multiplies a recipe's initial matrices, so that it matters where the model looks.")  # fmt: skip
@click.option("--samples", default="1,4,16,64", show_default=True, metavar="N,N", help="Paths a row of one estimate.")
@click.option("--repeats", type=click.IntRange(min=2), default=200, show_default=True, metavar="R", help="Estimates, for each estimator and N; beyond 20 a multiple of 20.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the weights and of the draws.")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw the variance against N: .svg or .png.")
@options.data
@options.as_json
@options.plugin
def command(
    recipe: str, overrides: tuple[str, ...], places: int, steps: int, rows: int, width: int, scale: float, samples: str, repeats: int,
    seed: int, figure: Path | None, data_dir: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Measure the gradients of hard attention on RECIPE, made narrow, or on a run directory with its trained weights.

    For one of each estimator's gradients: cosine of its mean to the exact gradient of the bound L_s, its bias in standard errors
    (about 1 if there is none) and its variance in units of the exact gradient's squared length.

    \b
    xattend gradients copy -s attention.kind=hard
    xattend gradients runs/hard --samples 1,16 --figure variance.svg
    """
    counts, repeats = _counts(samples), repeats if repeats <= GROUPS else GROUPS * math.ceil(repeats / GROUPS)
    import torch

    from xattend.cli.progress import progress
    from xattend.laboratory.bench import prepare
    from xattend.laboratory.estimators import ESTIMATORS, exact_gradient, measure
    from xattend.laboratory.quantities import quantities

    bench = prepare(
        recipe, overrides=overrides, data_dir=data_dir, rows=rows, places=places, steps=steps, width=width, scale=scale, seed=seed
    )
    torch.manual_seed(seed)
    known, true = quantities(bench), exact_gradient(bench)
    todo = [(estimator, count) for estimator in ESTIMATORS for count in counts if estimator.takes(count)]
    found: list[Measure] = []
    with progress("estimating", len(todo)) as tick:
        for estimator, count in todo:
            found += measure(bench, estimator, count, true, repeats=repeats, groups=GROUPS)
            tick(1)
    weights, own = bench.weights()
    sizes = {"all": sum(weight.numel() for weight in weights), "attention": sum(weight.numel() for weight in weights[:own])}
    if figure is not None:
        _draw(found, figure)
    if as_json:
        click.echo(json.dumps({
            "recipe": recipe, "rows": len(bench.batch), "places": places, "steps": steps, "seed": seed, "weights": sizes,
            "quantities": {**asdict(known), "gap": known.gap}, "repeats": repeats, "gradients": [asdict(one) for one in found],
        }))  # fmt: skip
        return
    click.echo(
        f"{recipe}: {len(bench.batch)} rows, cut to {places} places and {steps} steps: {known.paths:,} paths a row; "
        f"{sizes['all']:,} weights, {sizes['attention']:,} of them attention's"
    )
    _show(known)
    for of, whose in (("attention", "attention's"), ("all", "all")):
        click.echo(f"\ngradient of {whose} weights; variance of one estimate with N paths a row")
        click.echo(_table([one for one in found if one.of == of], counts))
    click.echo(f"cosine and bias (in standard errors; about 1 if there is none) of {repeats} estimates with {max(counts)} paths a row")


def _counts(given: str) -> list[int]:
    words = [word.strip() for word in given.split(",")]
    if not all(word.isdigit() and int(word) > 0 for word in words) or len(set(words)) < len(words):
        raise UserError(f"--samples {given}: write different whole numbers with commas between, as in 1,4,16")
    return sorted(map(int, words))


def _show(known: Quantities) -> None:
    from xattend.report.table import table

    click.echo(table(["nats a row", "value"], [
        ["log p(y | a), every path summed", known.likelihood],
        ["bound L_s, every path summed", known.bound],
        ["gap = KL(p(s | a) || p(s | y, a))", known.gap],
        [f"bound from drawn paths, standard error {known.drawn_error:.4f}", known.drawn],
        ["soft attention with the same weights", known.soft],
        ["places summed step by step, states of soft attention", known.by_step],
    ], decimals=4))  # fmt: skip
    states = "-" if known.states is None else f"{known.states:.1e}"
    click.echo("\n" + table(["largest difference", ""], [
        ["NWGM, a product of powers, and softmax of the expected logits", f"{known.identity:.1e}"],
        ["NWGM and soft attention, logits linear in the context", f"{known.linear:.1e}"],
        ["NWGM and soft attention, this decoder's readout", f"{known.readout:.1e}"],
        ["E[h] and h(E[z]) after the last step, relative", states],
    ]))  # fmt: skip


def _table(found: list[Measure], counts: list[int]) -> str:
    """One row an estimator, its variances side by side."""
    from xattend.report.table import table

    rows: dict[str, dict[int, Measure]] = {}
    for one in found:
        rows.setdefault(one.estimator, {})[one.samples] = one
    lines: list[list[Any]] = [
        [name, "no" if by[max(by)].unbiased else "yes", by[max(by)].cosine, by[max(by)].bias,
         *(f"{by[count].variance:.3g}" if count in by else None for count in counts)]
        for name, by in rows.items()
    ]  # fmt: skip
    return table(["estimator", "biased by design", "cosine", "bias", *(f"N = {count}" for count in counts)], lines)


def _draw(found: list[Measure], file: Path) -> None:
    from xattend.report.plot import Plot, save

    lines = {
        name: [(math.log2(one.samples), one.variance) for one in found if one.estimator == name and one.of == "attention"] for name in DRAWN
    }
    title = "Variance of the gradient of attention's weights"
    save(Plot(title, "log2 of the paths a row", "variance / squared length of the exact gradient",
              lines={name: line for name, line in lines.items() if line}, log_y=True), file)  # fmt: skip
