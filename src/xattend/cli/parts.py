"""`xattend parts`: what a recipe can be made of, and what each part may be told."""

from __future__ import annotations

import json
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click

from xattend.cli import options
from xattend.errors import UserError, suggestion


@click.command()
@click.argument("kind", required=False)
@click.argument("name", required=False)
@options.as_json
@options.plugin
def command(kind: str | None, name: str | None, as_json: bool) -> None:
    """List the kinds of parts, the parts of a KIND, or the settings of the part NAME.

    In a recipe a part is a section, `[attention]` with `kind = "local-p"`, and its settings are the section's keys; -s attention.window=5 sets one.
    `data` and `training` are sections of every recipe.

    \b
    xattend parts
    xattend parts attention
    xattend parts attention local-p
    xattend parts training
    """
    from xattend import registry
    from xattend.report.table import table
    from xattend.settings import DataSettings, Settings, TrainingSettings

    sections: dict[str, type[Settings]] = {"data": DataSettings, "training": TrainingSettings}
    if kind is not None and kind not in {*registry.ROOMS, *sections}:
        raise UserError(f"there is no kind of part called '{kind}': {suggestion(kind, [*registry.ROOMS, *sections])}")
    if kind is not None and kind in sections:
        if name is not None:
            raise UserError(f"[{kind}] has no parts: `xattend parts {kind}` lists its settings")
        found = [
            {"setting": key, "type": _type(field.rebuild_annotation()), "default": _value(field.default), "what": _said(field.metadata)}
            for key, field in sections[kind].model_fields.items()
        ]
    elif kind is None:
        found = [{"kind": each, "parts": ", ".join(registry.names(each))} for each in registry.ROOMS]
    elif name is None:
        found = [{"name": each, "what": _first_line(registry.find(kind, each)), "settings": ", ".join(registry.settings(registry.find(kind, each)))}
                 for each in registry.names(kind)]  # fmt: skip
    else:
        part = registry.find(kind, name)
        found = [
            {"setting": one.name, "type": f"name of {'an' if one.named[0] in 'aeiou' else 'a'} {one.named}" if one.named else _type(one.type),
             "default": "must be set" if one.required else _value(one.default), "what": one.help}
            for one in registry.settings(part).values()
        ]  # fmt: skip
        if not as_json:
            click.echo(f"{kind} {name}: {_first_line(part)}\n")
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    elif found:
        click.echo(table(list(found[0]), [list(row.values()) for row in found]))
    else:
        click.echo("It has no settings.")


def _first_line(part: type) -> str:
    return (part.__doc__ or "").strip().partition("\n")[0]


def _said(metadata: list[Any]) -> str:
    return next((each for each in metadata if isinstance(each, str)), "")


def _value(default: Any) -> str:
    """As a recipe would write it."""
    return "-" if default is None else json.dumps(default, ensure_ascii=False, default=str)


def _type(hint: Any) -> str:
    """A type in a reader's words; what leaves a key out is not mentioned.

    >>> _type(Annotated[int | None, "how many"]), _type(Literal["pre", "post"]), _type(dict[str, Any] | str)
    ('int', '"pre" or "post"', 'table or text')
    """
    words = {str: "text", dict: "table", list: "list", tuple: "list"}
    origin = get_origin(hint)
    if origin is Annotated:
        return _type(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(each) for each in get_args(hint) if each is not type(None)))
    if origin is Literal:
        return " or ".join(json.dumps(each) for each in get_args(hint))
    return words.get(origin or hint, getattr(origin or hint, "__name__", str(hint)))
