"""A recipe: a TOML file that says what data, which parts and how to train. Every key is checked, none is ignored.

A section of parts ([encoder], [attention], ...) has a `kind` and that part's keyword-only arguments. [data] and
[training] have the fixed settings of settings.py. `resolve` fills in every default; what it gives is saved with the run.

>>> recipe = parse('[data]\\ntask = "copy"\\n[encoder]\\nkind = "birnn"\\nsize = 32\\n', "mine.toml")
>>> recipe.section("encoder")["size"]
32
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pydantic

from xattend import registry
from xattend.errors import UserError, suggestion
from xattend.settings import FIXED, About, DataSettings, Settings, TrainingSettings

# section -> the part it holds when the recipe does not say
DEFAULT_KINDS = {
    "system": "seq2seq",
    "encoder": "birnn",
    "attention": "additive",
    "decoder": "rnn",
    "objective": "cross-entropy",
    "optimiser": "adam",
    "schedule": "constant",
    "search": "beam",
}
ALWAYS = ("system", "optimiser", "schedule", "search")  # sections of every system; it names the others it uses


class Recipe:
    """Sections of settings, with the text they came from so that a mistake can be placed."""

    def __init__(self, sections: dict[str, dict[str, Any]], origin: str, text: str = "", overridden: Iterable[str] = ()) -> None:
        self.sections = sections
        self.origin = origin
        self.text = text
        self.overridden = frozenset(overridden)  # "section.key" given on the command line

    def section(self, name: str) -> dict[str, Any]:
        return self.sections.get(name, {})

    @property
    def data(self) -> DataSettings:
        return DataSettings(**self.section("data"))

    @property
    def training(self) -> TrainingSettings:
        return TrainingSettings(**self.section("training"))

    @property
    def about(self) -> About:
        return About(**self.section("about"))

    def part(self, section: str) -> tuple[str, dict[str, Any]]:
        """The name of the part in a section, and its settings."""
        given = dict(self.section(section))
        return given.pop("kind", DEFAULT_KINDS[section]), given

    def mistake(self, section: str, key: str, message: str) -> UserError:
        """A mistake placed at its line of the recipe, or at the override that made it."""
        if f"{section}.{key}" in self.overridden:
            return UserError(f"-s {section}.{key}: {message}")
        return UserError(message, file=self.origin, line=_line_of(self.text, section, key))

    def resolve(self) -> Recipe:
        """Every section checked and every default filled in; the first mistake is raised with its line."""
        known = [*FIXED, *DEFAULT_KINDS]
        for name in self.sections:
            if name not in known:
                raise self.mistake(name, "", f"there is no section [{name}]: {suggestion(name, known)}")
        filled: dict[str, dict[str, Any]] = {}
        for name, model in FIXED.items():
            filled[name] = self._fixed(name, model)
        system, _ = self.part("system")
        uses = (*ALWAYS, *self._placed("system", "kind", lambda: registry.find("system", system)).uses)
        for name in DEFAULT_KINDS:
            if name not in uses:
                if name in self.sections:
                    raise self.mistake(name, "", f"the system '{system}' has no [{name}]")
                continue
            kind, given = self.part(name)
            self._placed(name, "kind", lambda n=name, k=kind: registry.find(n, k))
            filled[name] = {"kind": kind, **self._placed(name, "", lambda n=name, k=kind, g=given: registry.validate(n, k, g))}
        self._check_data(filled["data"])
        return Recipe(filled, self.origin, self.text, self.overridden)

    def _fixed(self, name: str, model: type[Settings]) -> dict[str, Any]:
        given = self.section(name)
        for key in given:
            if key not in model.model_fields:
                raise self.mistake(name, key, f"[{name}] has no setting '{key}': {suggestion(key, model.model_fields)}")
        try:
            return dict(model(**given))
        except pydantic.ValidationError as error:
            found = registry.first_mistake(error, f"[{name}]")
            raise self.mistake(name, found.key, found.message) from None

    def _placed(self, section: str, key: str, look: Any) -> Any:
        try:
            return look()
        except registry.KeyedError as error:
            raise self.mistake(section, error.key, error.message) from None
        except UserError as error:
            if error.file is not None:
                raise
            raise self.mistake(section, key, error.message) from None

    def _check_data(self, data: dict[str, Any]) -> None:
        if (data["task"] is None) == (data["train"] is None):
            raise self.mistake("data", "", "[data] needs either 'task' or 'train'")
        for key in ("task", "more"):
            if data[key] is not None:
                given = {"kind": data[key]} if isinstance(data[key], str) else dict(data[key])
                kind = given.pop("kind", "")
                filled = self._placed("data", key, lambda k=kind, g=given: registry.validate("task", k, g))
                data[key] = {"kind": kind, **filled}
        for side in ("source", "target"):
            if data[side] is not None:
                given = dict(data[side])
                kind = given.pop("kind", "text")
                try:
                    filled = self._placed("data", side, lambda k=kind, g=given: registry.validate("field", k, g))
                except UserError as error:
                    raise self.mistake("data", side, error.message) from None
                data[side] = {"kind": kind, **filled}

    def dump(self) -> str:
        """The recipe as TOML. A setting that is None is left out: TOML has no null."""
        lines: list[str] = []
        for name, values in self.sections.items():
            lines.append(f"[{name}]")
            lines += [f"{key} = {toml_value(value)}" for key, value in values.items() if value is not None]
            lines.append("")
        return "\n".join(lines)


def toml_value(value: Any) -> str:
    """One TOML value on one line."""
    if isinstance(value, dict):
        inside = ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items() if item is not None)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _line_of(text: str, section: str, key: str) -> int | None:
    """The line where a key of a section stands, else where the section starts, else None."""
    inside, start = False, None
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
        if header:
            inside = header[1] == section or header[1].startswith(section + ".")
            if inside and start is None:
                start = number
            if inside and key and header[1] == f"{section}.{key}":
                return number
        elif inside and key and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line):
            return number
    return start


def _override(word: str) -> tuple[str, str, Any]:
    """`a.b=c` -> section, key, value. The value is TOML, or else plain text; nothing at all takes the setting out (None)."""
    path, equals, raw = word.partition("=")
    section, dot, key = path.strip().partition(".")
    if not equals or not dot or not key:
        raise UserError(f"-s {word}: write section.key=value, for example -s training.minutes=5")
    if not raw.strip():
        return section, key, None
    try:
        return section, key, tomllib.loads(f"value = {raw}")["value"]
    except tomllib.TOMLDecodeError:
        return section, key, raw.strip()


def parse(text: str, origin: str, overrides: Iterable[str] = ()) -> Recipe:
    """A recipe from TOML text; `origin` is what error messages call it."""
    try:
        sections: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        said = re.sub(r"\s*\(at .*\)", "", str(error))
        raise UserError(f"not valid TOML: {said}", file=origin, line=int(found[1]) if found else None) from None
    for name, value in sections.items():
        if not isinstance(value, dict):
            raise UserError(f"'{name}' stands outside any [section]", file=origin, line=_line_of_top(text, name))
    overridden = []
    for word in overrides:
        section, key, value = _override(word)
        place = sections.setdefault(section, {})
        *path, last = key.split(".")
        for step in path:
            if not isinstance(place.setdefault(step, {}), dict):
                place[step] = {"kind": place[step]}
            place = place[step]
        if last == "kind" and not path:  # another part: the old part's settings mean nothing to it
            sections[section] = place = {}
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
        overridden.append(f"{section}.{key.split('.')[0]}")
    return Recipe(sections, origin, text, overridden)


def _line_of_top(text: str, key: str) -> int | None:
    return next((n for n, line in enumerate(text.splitlines(), 1) if re.match(rf"\s*{re.escape(key)}\s*=", line)), None)


def shipped() -> Iterator[tuple[str, str]]:
    """Name and text of every recipe in the package, sorted."""
    for file in sorted(resources.files("xattend.recipes").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            yield file.name.removesuffix(".toml"), file.read_text("utf-8")


def load(name: str | Path, overrides: Iterable[str] = ()) -> Recipe:
    """A recipe file, or a shipped recipe by name."""
    path = Path(name)
    if path.is_file():
        try:
            text = path.read_text("utf-8-sig")
        except UnicodeDecodeError as error:
            line = path.read_bytes()[: error.start].count(b"\n") + 1
            raise UserError("not valid UTF-8", file=path, line=line) from None
        return parse(text, str(path), overrides)
    known = dict(shipped())
    if str(name) in known:
        return parse(known[str(name)], f"{name}.toml", overrides)
    if path.is_dir():
        raise UserError("a directory, not a recipe", file=path)
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise UserError("no such recipe file", file=path)
    raise UserError(f"there is no recipe called '{name}': {suggestion(str(name), known)}")
