"""A recipe as text in which every setting has its one-line help, and those left at their defaults are commented out."""

from __future__ import annotations

from typing import Any

from xattend import registry
from xattend.recipe import ALWAYS, DEFAULT_KINDS, toml_value
from xattend.settings import FIXED

COMMENT_AT = 48  # column


def annotate(sections: dict[str, dict[str, Any]], head: str) -> str:
    """`sections` as given, and every section that the system uses, in the usual order."""
    system = sections.get("system", {}).get("kind", DEFAULT_KINDS["system"])
    uses = (*ALWAYS, *registry.find("system", system).uses)
    lines = [head, ""]
    for name in ("data", *DEFAULT_KINDS, "training"):
        if name in FIXED:
            lines += [f"[{name}]", *_fixed(name, sections.get(name, {})), ""]
        elif name in uses:
            lines += [f"[{name}]", *_part(name, sections.get(name, {})), ""]
    return "\n".join(lines).rstrip() + "\n"


def _line(key: str, value: Any, help: str, *, default: bool = False) -> str:
    """One setting. A default of None cannot be written in TOML, so its place is left open."""
    setting = f"{'# ' * default}{key} = {'' if value is None else toml_value(value)}"
    return f"{setting:<{COMMENT_AT - 2}}  # {help}" if help else setting


def _fixed(name: str, given: dict[str, Any]) -> list[str]:
    """[data] or [training]; data's other settings are about other kinds of data, and are left out."""
    lines = []
    for key, field in FIXED[name].model_fields.items():
        help = next((extra for extra in field.metadata if isinstance(extra, str)), "")
        if key in given:
            lines.append(_line(key, given[key], help))
        elif name != "data":
            lines.append(_line(key, field.default, help, default=True))
    return lines


def _part(section: str, given: dict[str, Any]) -> list[str]:
    kind = given.get("kind", DEFAULT_KINDS[section])
    others = [name for name in registry.names(section) if name != kind]
    lines = [_line("kind", kind, f"or: {', '.join(others)}" if others else "")]
    for setting in registry.settings(registry.find(section, kind)).values():
        if setting.name in given:
            lines.append(_line(setting.name, given[setting.name], setting.help))
        else:
            lines.append(_line(setting.name, setting.default, setting.help, default=True))
    return lines
