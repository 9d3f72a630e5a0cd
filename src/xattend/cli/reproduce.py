"""`xattend reproduce`: a paper's number, and ours."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend.cli import options
from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.reproductions import Outcome, Reproduction, Summary
    from xattend.reproductions.unfinished import Unfinished
    from xattend.trial import Trial


@click.command()
@click.argument("name", required=False)
@click.option("--trial", "only", multiple=True, metavar="T", help="Train and score only this one of its trainings; repeat for more.")
@click.option("--figures", type=click.Path(path_type=Path), metavar="DIR", help="Draw its pictures into DIR.")
@click.option("--figure-format", type=click.Choice(["svg", "png"]), default="svg", show_default=True, help="Of the pictures.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Where the runs go. Default: runs/reproduce-NAME.")
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True, metavar="DIR", help="Where NAME.json goes.")
@options.settings
@options.data
@options.as_json
@options.plugin
def command(
    name: str | None, only: tuple[str, ...], figures: Path | None, figure_format: str, out: Path | None, results: Path, overrides: tuple[str, ...],
    data_dir: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Train what a paper's figure needs, to its end, and print our figure beside the paper's and the floor.

    Without NAME: what can be reproduced. The same command goes on where it was stopped, and trainings that have ended are not done
    again; of long tables their scores are kept in results/unfinished until all are there. With -s every training is changed alike,
    and the figure is not the reproduction's: results/NAME.json says so.

    \b
    xattend reproduce
    xattend reproduce scan --data DIR
    """
    from xattend import registry

    if name is None:
        _list(as_json)
        return
    found: Reproduction = registry.find("reproduction", name)()
    out = out or Path("runs") / f"reproduce-{name}"
    trials = _trials(found, out, overrides, data_dir)
    for wanted in only:
        if wanted not in trials:
            raise UserError(f"--trial {wanted}: the trainings of {name} are {', '.join(trials)}")
    from xattend.reproductions.unfinished import Unfinished
    from xattend.run import to_json, write_atomic

    unfinished = Unfinished(results / "unfinished" / name) if found.from_scores and not overrides else None
    outcomes = {label: _carried_out(trial, found.variants, unfinished) for label, trial in trials.items() if not only or label in only}
    if len(outcomes) < len(trials):
        click.echo(f"done: {', '.join(outcomes)}. Without --trial the figure is made from all {len(trials)} trainings", err=True)
        return
    record = _record(name, found, outcomes, overrides)
    results.mkdir(parents=True, exist_ok=True)
    write_atomic(results / f"{name}.json", to_json(record))
    if unfinished is not None:
        unfinished.clear()
    if figures is not None:
        _draw(found, outcomes, record, figures, figure_format)
    click.echo(json.dumps(record, ensure_ascii=False) if as_json else _said(record))


def _list(as_json: bool) -> None:
    from xattend import registry
    from xattend.report.table import table

    parts = {name: registry.find("reproduction", name)() for name in registry.names("reproduction")}
    if as_json:
        keys = ("system", "paper", "metric", "published", "floor")
        listed = [{"name": name, **{key: getattr(part, key) for key in keys}, "trainings": len(part.plans())} for name, part in parts.items()]
        click.echo(json.dumps(listed, ensure_ascii=False))
        return
    rows: list[list[object]] = [[name, part.paper, part.metric, part.published, part.floor, len(part.plans())] for name, part in parts.items()]
    click.echo(table(["name", "paper", "figure", "published", "floor", "trainings"], rows, decimals=2))


def _trials(found: Reproduction, out: Path, overrides: tuple[str, ...], data_dir: Path | None) -> dict[str, Trial]:
    from xattend.trial import Trial

    trials = {}
    for plan in found.plans():
        begun = () if plan.start is None else (f"training.start={out / plan.start}",)
        trials[plan.name] = Trial(plan.name, plan.recipe, (*plan.overrides, *begun, *overrides), out / plan.name, data_dir)
    for trial in trials.values():
        _ = trial.recipe  # a mistake shows before anything is trained
    return trials


def _carried_out(trial: Trial, variants: bool, unfinished: Unfinished | None) -> Outcome:
    """Trained and scored, or what was found when it was. The scores lie beside the run, so that test rows are decoded once."""
    from rich.console import Console

    from xattend.reproductions import Outcome
    from xattend.reproductions.base import learning_curve
    from xattend.trial import finite

    console = Console(stderr=True)
    before = unfinished.get(trial) if unfinished is not None else None
    if before is not None:
        console.print(f"{trial.name}: scored before", highlight=False, markup=False)
        return before
    trial.check_place()
    console.print(f"training {trial.name}", highlight=False, markup=False)
    trial.train(console)

    def scored() -> dict[str, Any]:
        return {split: finite(trial.scores(split, variants=variants).to_json()) for split in ("validation", "test") if split in trial.data.splits}

    found = trial.kept("scores", scored)
    outcome = Outcome(trial, found.get("validation", {}), found.get("test", {}), trial.seconds, learning_curve(trial))
    if unfinished is not None:
        unfinished.put(outcome, _commit())
    return outcome


def _record(name: str, found: Reproduction, outcomes: dict[str, Outcome], overrides: tuple[str, ...]) -> dict[str, Any]:
    import torch

    from xattend import __version__

    ours = found.summary(outcomes)
    threads = {one.trial.recipe.training.threads or torch.get_num_threads() for one in outcomes.values()}
    return {
        "name": name, "system": found.system, "paper": found.paper, "metric": found.metric, "higher_is_better": found.higher_is_better,
        "published": found.published, "floor": found.floor, "ours": ours.ours, "reached": _reached(found, ours),
        "differs": found.differs, "seeds": sorted({one.trial.recipe.training.seed for one in outcomes.values()}),
        "seconds": round(sum(one.seconds for one in outcomes.values()), 1),
        "command": " ".join([f"xattend reproduce {name} --data DIR", *(f"-s {word}" for word in overrides)]),
        "changed": list(overrides), "commit": _commit(), "version": __version__,
        "machine": f"{platform.machine()}, threads {', '.join(map(str, sorted(threads)))}, torch {torch.__version__}",
        "figures": ours.figures,
        "trainings": {
            label: {
                "recipe": one.trial.recipe_name, "overrides": list(one.trial.overrides), "seconds": round(one.seconds, 1),
                "validation": one.validation, "test": one.test,
            }
            for label, one in outcomes.items()
        },
    }  # fmt: skip


def _reached(found: Reproduction, ours: Summary) -> bool | None:
    """Whether the floor is, and all that is claimed beside it; None if nothing was asked for."""
    reached, claims = found.reached(ours.ours), ours.figures.get("claims")
    return reached if claims is None else reached is not False and all(claims.values())


def _commit() -> str | None:
    """Of a checkout; None elsewhere."""
    try:
        here = Path(__file__).parent
        return subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _said(record: dict[str, Any]) -> str:
    floor = "" if record["floor"] is None else f", floor {record['floor']:g}: {'reached' if record['reached'] else 'missed'}"
    published = "" if record["published"] is None else f" (paper {record['published']:g})"
    changed = f"; changed by {' '.join(record['changed'])}: not the reproduction" if record["changed"] else ""
    lines = [f"{record['name']}: {record['metric']} {record['ours']:.4g}{published}{floor}{changed}"]
    lines += [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in record["figures"].items()]
    lines.append(f"{len(record['trainings'])} trainings, {record['seconds'] / 60:.1f} minutes, seeds {', '.join(map(str, record['seeds']))}")
    return "\n".join(lines)


def _draw(found: Reproduction, outcomes: dict[str, Outcome], record: dict[str, Any], folder: Path, ending: str) -> None:
    from xattend.report.plot import save

    folder.mkdir(parents=True, exist_ok=True)
    for title, plot in found.plots(outcomes, record["figures"]).items():
        file = folder / f"{record['name']}-{title}.{ending}"
        save(plot, file)
        click.echo(f"drew {file}", err=True)
