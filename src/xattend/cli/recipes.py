"""`xattend recipes`: what ships."""

from __future__ import annotations

import json

import click

from xattend.cli import options
from xattend.errors import UserError, suggestion


@click.command()
@click.argument("name", required=False)
@options.as_json
def command(name: str | None, as_json: bool) -> None:
    """List the recipes that ship, or print the recipe NAME.

    Minutes are on 2 cores, or on one beside other work; where the result has no figure they are estimates.

    \b
    xattend recipes
    xattend recipes transliterate > mine.toml
    """
    from xattend import recipe as recipes
    from xattend.report.table import table

    texts = dict(recipes.shipped())
    if name is not None and name not in texts:
        raise UserError(f"there is no recipe called '{name}': {suggestion(name, texts)}")
    about = {each: recipes.parse(text, f"{each}.toml").about for each, text in texts.items()}
    if name is not None:
        click.echo(json.dumps({"name": name, **dict(about[name]), "text": texts[name]}, ensure_ascii=False) if as_json else texts[name].rstrip())
    elif as_json:
        click.echo(json.dumps([{"name": each, **dict(found)} for each, found in about.items()], ensure_ascii=False))
    else:
        rows = [[each, found.paper, found.task, found.minutes or None, found.result] for each, found in about.items()]
        click.echo(table(["name", "system", "task", "minutes", "result"], rows, decimals=1))
