"""Parts by name. A part registers itself in its own file; its keyword-only arguments are what a recipe may set.

    @register("attention", "dot")
    class Dot(Attention):
        def __init__(self, query_size: int, memory_size: int, *, scale: Annotated[float, "multiplies scores"] = 1.0):

A room is a package (see ROOMS); every module in it is imported the first time a part of its kind is asked for, so a
new part is one new file. Nothing is ever imported because a recipe or a checkpoint names it: outside code comes in
through `load_plugin` alone, which only the command line's --plugin and the Python API call.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import pydantic

from xattend.errors import UserError, suggestion

FEW = 6  # parts that a message names
ROOMS = {
    "cell": "xattend.cells",
    "glimpse": "xattend.glimpses",
    "encoder": "xattend.encoders",
    "attention": "xattend.attention",
    "addressing": "xattend.addressing",
    "decoder": "xattend.decoders",
    "objective": "xattend.objectives",
    "search": "xattend.search",
    "system": "xattend.systems",
    "optimiser": "xattend.training.optimisers",
    "schedule": "xattend.training.schedules",
    "reader": "xattend.data.readers",
    "field": "xattend.data.fields",
    "task": "xattend.data.tasks",
    "metric": "xattend.metrics",
    "backbone": "xattend.backbones",
    "reproduction": "xattend.reproductions",
}
_parts: dict[str, dict[str, type]] = {kind: {} for kind in ROOMS}
_visited: set[str] = set()
Part = TypeVar("Part", bound=type)


@dataclass(frozen=True)
class Named:
    """Marks a setting whose value is the name of another part: `cell: Annotated[str, Named("cell"), "help"]`.

    If it may also be a table, `Annotated[str | dict[str, Any], Named("encoder"), "help"]`, a recipe gives that part settings of its own:
    `picture = { kind = "cnn", size = 64 }`. See `build_named`.
    """

    kind: str


@dataclass(frozen=True)
class Setting:
    """One keyword-only argument of a part: what a recipe may set."""

    name: str
    type: Any
    default: Any
    help: str
    named: str | None  # the kind of part this setting names, if it names one

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


def register(kind: str, name: str) -> Callable[[Part], Part]:
    """Class decorator: makes the class known as `name` among the parts of its kind."""

    def keep(part: Part) -> Part:
        other = _parts[kind].get(name)
        if other is not None and other.__qualname__ != part.__qualname__:
            raise ValueError(f"two {kind}s are called '{name}': {other.__module__} and {part.__module__}")
        _parts[kind][name] = part
        part.registered_name = name  # type: ignore[attr-defined]
        return part

    return keep


def _visit(kind: str) -> None:
    if kind in _visited:
        return
    _visited.add(kind)  # first, because a part may look up its own kind while its module is imported
    room = importlib.import_module(ROOMS[kind])
    for module in pkgutil.iter_modules(getattr(room, "__path__", []), ROOMS[kind] + "."):
        importlib.import_module(module.name)


def names(kind: str) -> list[str]:
    """Every name of a kind, sorted."""
    _visit(kind)
    return sorted(_parts[kind])


def find(kind: str, name: str) -> type[Any]:
    """The class registered under this name; an unknown name is the user's error and comes with a suggestion."""
    _visit(kind)
    if name not in _parts[kind]:
        raise UserError(f"there is no {kind} called '{name}': {suggestion(name, _parts[kind])}")
    return _parts[kind][name]


def settings(part: type) -> dict[str, Setting]:
    """The part's schema, read off its constructor's keyword-only arguments."""
    hints = get_type_hints(part.__init__, include_extras=True)  # type: ignore[misc]
    found: dict[str, Setting] = {}
    for parameter in inspect.signature(part.__init__).parameters.values():  # type: ignore[misc]
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        hint = hints[parameter.name]
        extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        found[parameter.name] = Setting(
            name=parameter.name,
            type=hint,
            default=parameter.default,
            help=next((extra for extra in extras if isinstance(extra, str)), ""),
            named=next((extra.kind for extra in extras if isinstance(extra, Named)), None),
        )
    return found


def _elsewhere(kind: str, name: str, key: str) -> str:
    """Which parts of the kind have such a setting."""
    having = [other for other in names(kind) if other != name and key in settings(find(kind, other))]
    return f" ('{key}' belongs to {kind} {', '.join(having)})" if 0 < len(having) <= FEW else ""


def validate(kind: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """`given` checked against the part's schema, with every default filled in. Raises KeyedError for the first mistake."""
    part = find(kind, name)
    known = settings(part)
    for key in given:
        if key not in known:
            raise KeyedError(key, f"{kind} '{name}' has no setting '{key}': {suggestion(key, known)}{_elsewhere(kind, name, key)}")
    fields: dict[str, Any] = {
        s.name: (s.type, ... if s.required else s.default) for s in known.values()
    }
    model = pydantic.create_model("settings", __config__=pydantic.ConfigDict(strict=True, extra="forbid"), **fields)
    try:
        checked = model(**given)
    except pydantic.ValidationError as error:
        raise first_mistake(error, f"{kind} '{name}'") from None
    result = {key: getattr(checked, key) for key in known}
    for s in known.values():
        if s.named is not None and result[s.name] is not None:
            try:
                result[s.name] = _named(s.named, result[s.name], s.default)
            except UserError as error:
                raise KeyedError(s.name, error.message) from None
    return result


def _named(kind: str, value: str | dict[str, Any], otherwise: Any) -> str | dict[str, Any]:
    """The value of a setting that names a part, checked; a table has every default filled in, that of `kind` included."""
    if isinstance(value, str):
        find(kind, value)
        return value
    given = dict(value)
    if not isinstance(name := given.pop("kind", otherwise), str):
        raise UserError(f"'kind' is the name of a part ({kind}), not {name!r}")
    return {"kind": name, **validate(kind, name, given)}


class KeyedError(UserError):
    """A mistake in one key of a recipe section; the recipe knows the line."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def first_mistake(error: pydantic.ValidationError, where: str) -> KeyedError:
    """Pydantic's first complaint as one line of ours."""
    mistake = error.errors(include_url=False, include_context=False)[0]
    path = [str(step) for step in mistake["loc"]]
    key = path[0] if path else ""
    said = mistake["msg"][0].lower() + mistake["msg"][1:]
    if mistake["type"] == "missing":
        return KeyedError(key, f"{where} needs '{'.'.join(path)}'")
    return KeyedError(key, f"{where}, '{'.'.join(path)}': {said}, not {mistake['input']!r}")


def build(kind: str, name: str, *wired: Any, **given: Any) -> Any:
    """A part, its sizes wired by position and its settings checked and filled in."""
    return find(kind, name)(*wired, **validate(kind, name, given))


def build_named(kind: str, value: str | dict[str, Any], *wired: Any) -> Any:
    """The part that a setting names, with the settings given beside its name."""
    given = {"kind": value} if isinstance(value, str) else dict(value)
    return build(kind, given.pop("kind"), *wired, **given)


def load_plugin(path: str | Path) -> None:
    """Runs a user's Python file so that the parts it registers are known. Only ever called on the user's own word."""
    file = Path(path)
    if not file.is_file():
        raise UserError("no such plugin file", file=file)
    spec = importlib.util.spec_from_file_location(f"xattend_plugin_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == spec.origin]
        line = error.lineno if isinstance(error, SyntaxError) else frames[-1] if frames else None
        raise UserError(f"the plugin fails: {type(error).__name__}: {error}", file=file, line=line) from error
