"""docs/results.md from results/*.json: `python -m xattend.reproductions.page` (or `make results`).

The part of the page between two marks is written here; what stands around it is written by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from xattend.errors import UserError

BEGIN, END = "<!-- from results/*.json: begin -->", "<!-- from results/*.json: end -->"


def records(folder: Path) -> list[dict[str, Any]]:
    """Every reproduction's record; other files of the folder are left alone."""
    found = [json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))]
    return [record for record in found if isinstance(record, dict) and {"name", "paper", "ours", "trainings"} <= set(record)]


def page(found: list[dict[str, Any]]) -> str:
    """A table of all, then what is behind each figure."""
    lines = ["| `xattend reproduce` | figure | paper | floor | ours | seeds | minutes |", "|---|---|---|---|---|---|---|"]
    for one in found:
        reached = {True: "", False: " (missed)", None: ""}[one["reached"]]
        cells = [f"[{one['name']}](#{one['name']})", one["metric"], _number(one["published"]), _number(one["floor"]) + reached,
                 f"**{_number(one['ours'])}**", ", ".join(map(str, one["seeds"])), f"{one['seconds'] / 60:.0f}"]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    for one in found:
        lines += ["", f"### {one['name']}", "", f"{one['system']} ({one['paper']}). `{one['command']}`, commit {(one['commit'] or 'unknown')[:7]}, {one['machine']}."]
        if one["changed"]:
            lines += ["", f"**Not the reproduction**: changed by {' '.join(one['changed'])}."]
        if one["differs"]:
            lines += ["", f"Otherwise than in the paper: {one['differs']}."]
        lines += ["", *_behind(one["figures"])]
    return "\n".join(lines) + "\n"


def _behind(figures: dict[str, Any]) -> list[str]:
    """A list; what is keyed alike stands in one table."""
    tables = {key: value for key, value in figures.items() if isinstance(value, dict) and all(isinstance(v, (int, float, bool)) for v in value.values())}
    lines = []
    while tables:
        keys = list(next(iter(tables.values())))
        same = {title: tables.pop(title) for title, values in list(tables.items()) if list(values) == keys}
        lines += ["| | " + " | ".join(keys) + " |", "|---" * (len(keys) + 1) + "|"]
        lines += [f"| {_words(title)} | " + " | ".join(_number(value) for value in values.values()) + " |" for title, values in same.items()]
        lines.append("")
    for key, value in figures.items():
        if isinstance(value, (int, float, str)):
            lines.append(f"- {_words(key)}: {_number(value)}")
        elif isinstance(value, dict) and all(isinstance(v, str) for v in value.values()):
            lines += [f"- {_words(key)}: {given} → {said}" for given, said in value.items()]
        elif isinstance(value, dict) and all(isinstance(v, dict) for v in value.values()):
            columns = list(dict.fromkeys(column for row in value.values() for column in row))
            lines += ["", f"| {_words(key)} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
            lines += [f"| {name} | " + " | ".join(_number(row.get(column)) for column in columns) + " |" for name, row in value.items()]
            lines.append("")
    return lines


def _words(key: str) -> str:
    return key.replace("_", " ")


def _number(value: Any) -> str:
    """Four digits that count; a dash for what is not there; several one after the other.

    >>> _number({"1": 16.5123, "2": None})
    '16.51, -'
    """
    if value is None:
        return "-"
    if isinstance(value, dict):
        return ", ".join(map(_number, value.values()))
    return f"{round(value, 9):.4g}" if isinstance(value, float) else str(value)  # 3e-17 is a rounding error of 0


def write(folder: Path, file: Path) -> None:
    text = file.read_text("utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise UserError(f"needs the marks '{BEGIN}' and '{END}' once each", file=file)
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    file.write_text(f"{before}{BEGIN}\n{page(records(folder))}{END}{after}", "utf-8")


if __name__ == "__main__":
    write(Path("results"), Path("docs/results.md"))
