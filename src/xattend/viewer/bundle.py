"""Modules made into one script, because a page opened from disk may not import any.

Four conventions make this simple and safe, and what breaks them is refused:

- a module imports only by `import { a, b } from "./x.js";`, on a line of its own, nothing renamed;
- it exports only by `export function`, `export async function`, `export const` or `export class`, at the start of a line;
- names at the start of a line (top-level names) are unique over all modules;
- nothing turns text into markup or code: no innerHTML, eval, document.write and the like.

So the modules, ordered by their imports and without the words import and export, stand in one function and see each other's names.

>>> print(joined({"a.js": 'import { two } from "./b.js";\\ntwo();\\n', "b.js": "export function two() { return 2; }\\n"}, "a.js"))
(() => {
"use strict";
// b.js
function two() { return 2; }
// a.js
two();
})();
<BLANKLINE>
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from functools import cache

from xattend.viewer import files

_IMPORT = re.compile(r'import \{ (\w+(?:, \w+)*) \} from "(\.{1,2}/[\w./-]+\.js)";')
_EXPORT = re.compile(r"export ((?:async )?function|const|class) (\w+)")
_NAME = re.compile(r"^(?:export )?(?:(?:async )?function\*?|const|let|class) (\w+)", flags=re.MULTILINE)
_LOOSE = re.compile(r"^(?:export )?(?:var\b|(?:const|let) *[\[{])", flags=re.MULTILINE)
_NEVER = re.compile(
    r"\b(?:inner|outer)HTML\b|\binsertAdjacentHTML\b|\bdocument\.write|\beval\b|\bnew Function\b|\bsrcdoc\b|\bimport *\(|\bimportScripts\b"
    r"|\bsetHTMLUnsafe\b|\bcreateContextualFragment\b|\bDOMParser\b|setAttribute\(\"(?:style|on\w+)\"|</script|<!--"
)


class Unfit(ValueError):
    """A module breaks a convention: a mistake of ours, never of a user."""


@cache
def script(entry: str = "report.js") -> str:
    """The viewer's modules that `entry` needs, as one script."""
    return joined({name: path.read_text("utf-8") for name, path in files().items() if name.endswith(".js")}, entry)


@cache
def style() -> str:
    """The viewer's style sheet."""
    found = files()["style.css"].read_text("utf-8")
    if "</style" in found.lower() or "@import" in found or "url(" in found:
        raise Unfit("style.css: it may load nothing, and may not end its own element")
    return found


def joined(modules: Mapping[str, str], entry: str) -> str:
    """One script of the modules that `entry` needs, each after those that it imports."""
    order: list[str] = []
    bodies: dict[str, str] = {}
    owners: dict[str, str] = {}

    def add(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise Unfit(f"{name}: imports go round in a circle ({' -> '.join([*path, name])})")
        if name in bodies:
            return
        if name not in modules:
            raise Unfit(f"{path[-1] if path else 'the entry'}: there is no module {name}")
        wanted, bodies[name] = _read(name, modules[name])
        for other, names in wanted:
            add(other, (*path, name))
            for missing in names - _exports(modules[other]):
                raise Unfit(f"{name}: {other} exports no {missing}")
        for own in _NAME.findall(modules[name]):
            if own in owners:
                raise Unfit(f"{name}: the name {own} is taken by {owners[own]}")
            owners[own] = name
        order.append(name)

    add(entry, ())
    return "\n".join(["(() => {", '"use strict";', *[f"// {name}\n{bodies[name]}" for name in order], "})();", ""])


def _exports(text: str) -> set[str]:
    return {match[2] for line in text.splitlines() if (match := _EXPORT.match(line))}


def _read(name: str, text: str) -> tuple[list[tuple[str, set[str]]], str]:
    """What a module imports, and its text without the words import and export."""
    wanted: list[tuple[str, set[str]]] = []
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if never := _NEVER.search(line):
            raise Unfit(f"{name}:{number}: {never[0]} is not used here")
        if _LOOSE.match(line):
            raise Unfit(f"{name}:{number}: declare one name at a time, with const, let, function or class")
        if re.match(r"\s*import\b", line):
            found = _IMPORT.fullmatch(line)
            if found is None:
                raise Unfit(f'{name}:{number}: write import {{ a, b }} from "./x.js"; on a line of its own')
            wanted.append((posixpath.normpath(posixpath.join(posixpath.dirname(name), found[2])), set(found[1].split(", "))))
        elif re.match(r"\s*export\b", line):
            if _EXPORT.match(line) is None:
                raise Unfit(f"{name}:{number}: write export function, const or class, at the start of the line")
            lines.append(line.removeprefix("export "))
        else:
            lines.append(line)
    return wanted, "\n".join(lines)
