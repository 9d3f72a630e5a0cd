"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.model import Model

Command = Callable[..., Any]


def _load_plugins(ctx: click.Context, parameter: click.Parameter, files: tuple[str, ...]) -> tuple[str, ...]:
    if files:
        from xattend import registry

        for file in files:
            registry.load_plugin(file)
    return files


def plugin(command: Command) -> Command:
    """--plugin FILE: the only way for outside code to come in."""
    return click.option(
        "--plugin", multiple=True, metavar="FILE.py", callback=_load_plugins, expose_value=False, is_eager=True,
        help="A Python file that registers parts of your own; it is run.",
    )(command)  # fmt: skip


def data(command: Command) -> Command:
    """--data DIR."""
    return click.option(
        "--data", "data_dir", type=click.Path(path_type=Path), envvar="XATTEND_DATA", metavar="DIR",
        help="Where named data sets lie (or set XATTEND_DATA).",
    )(command)  # fmt: skip


def settings(command: Command) -> Command:
    """-s section.key=value, as often as wanted; section.key= takes a setting out."""
    return click.option(
        "-s", "--set", "overrides", multiple=True, metavar="a.b=c", help="Set one key of the recipe; repeat for more. a.b= takes it out."
    )(command)


def beam(command: Command) -> Command:
    """--beam K."""
    return click.option("--beam", type=click.IntRange(min=1), metavar="K", help="Beam size; 1 is greedy. Default: the recipe's.")(command)


def copy_unknown(command: Command) -> Command:
    """--copy-unknown."""
    return click.option("--copy-unknown", is_flag=True, help="Write the source word looked at in place of <unk>.")(command)


def int8(command: Command) -> Command:
    """--int8."""
    return click.option("--int8", is_flag=True, help="Weights of 8 bits: faster on a CPU, a little less exact.")(command)


def together(command: Command) -> Command:
    """--with RUN, as often as wanted."""
    return click.option(
        "--with", "others", multiple=True, type=click.Path(path_type=Path), metavar="RUN",
        help="Another run that writes together with the first, an ensemble; repeat for more.",
    )(command)  # fmt: skip


def as_json(command: Command) -> Command:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="Write JSON.")(command)


def run(command: Command) -> Command:
    """The run directory."""
    return click.argument("run", type=click.Path(path_type=Path))(command)


def columns(command: Command) -> Command:
    """--columns SOURCE,TARGET."""
    return click.option(
        "--columns", callback=_columns, metavar="SOURCE,TARGET",
        help="Which columns or keys: numbers from 1 (2,1), or names (en,de), which mean that a .tsv has a header.",
    )(command)  # fmt: skip


def _columns(ctx: click.Context, parameter: click.Parameter, given: str | None) -> dict[str, int | str] | None:
    if given is None:
        return None
    words = [word.strip() for word in given.split(",")]
    if len(words) > 2 or not all(words):
        raise UserError(f"--columns {given}: write SOURCE,TARGET, for example --columns 1,3")
    return {side: int(word) if word.isdigit() else word for side, word in zip(("source", "target"), words)}


# no weight depends on them: how system `write` draws its samples, how many slots a `machine` has
FREE = ("system.bias", "system.seed", "system.prime", "system.slots")


def search_only(overrides: tuple[str, ...], beam: int | None) -> tuple[str, ...]:
    """Of a trained model nothing but its search can be set, and what no weight depends on."""
    for word in overrides:
        path = word.partition("=")[0].strip()
        if "=" in word and path.partition(".")[0] != "search" and path not in FREE:
            raise UserError(f"-s {word}: the model is trained; only search.KEY=VALUE can be set here, and {', '.join(FREE)}")
        if beam is not None and path in ("search.kind", "search.size"):
            raise UserError(f"-s {word}: --beam {beam} sets this too; give one of them")
    return overrides


def load(run: Path, others: tuple[Path, ...], overrides: tuple[str, ...], *, beam: int | None, int8: bool) -> Model:
    """The model that --with, -s and --int8 ask for."""
    from xattend.model import Model

    first, *rest = [Model.load(run, search_only(overrides, beam)), *map(Model.load, others)]
    for model in [first, *rest] if int8 else []:
        model.to_int8()
    for path, other in zip(others, rest):
        try:
            first = first.together([other])
        except UserError as error:
            raise error.at(path) from None
    return first
