"""The report of a run as one page: model card, learning curves, data, metrics, examples, worst errors, alignment, recipe.

All that it says is in `Facts`, which `xattend report` gathers; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xattend.report.html import page, table, text, trace_place
from xattend.report.trace_json import trace_to_json
from xattend.types import Trace


@dataclass(frozen=True)
class Example:
    """One row: its trace, what it should have been as text or as a trace, and how it scored (a name and a number)."""

    trace: Trace
    references: list[str]
    score: str = ""
    given: Trace | None = None


@dataclass(frozen=True)
class Facts:
    """card        what the model is, line by line: (name, text)
    limits      what is known to be weak about it, a sentence each
    charts      learning curves (report/curves.py)
    data        rows of the table: split, side, rows, shortest, median, 90 %, longest
    notes       what was said of the data, a sentence each
    metrics     by name, on `split`
    examples    rows of the split, and `worst` those of the lowest score; `shown` says what the examples are
    alignment   sentences and numbers on how sharp and how usual its looks are, or why that was left out
    """

    title: str
    run: str
    card: list[tuple[str, str]]
    limits: list[str]
    charts: list[dict[str, Any]]
    data: list[list[object]]
    notes: list[str]
    split: str
    metrics: dict[str, float | None]
    measured: list[str]
    examples: list[Example]
    worst: list[Example]
    alignment: list[str]
    recipe: str
    unread: int = 0
    shown: str = "Rows of the split, equally spaced. Open one to see where the model looked."


def report(facts: Facts) -> str:
    """The whole file."""
    blocks: dict[str, Any] = {"curves": facts.charts}
    sections = [
        ("card", "Model card", _card(facts)),
        ("curves", "Learning curves", _curves(facts)),
        ("data", "Data", table(["split", "side", "rows", "shortest", "median", "90 %", "longest"], facts.data, "Lengths in units, start and end marks included.") + _list(facts.notes)),
        ("metrics", f"Metrics on {facts.split}", table(["metric", "value"], list(facts.metrics.items())) + _list(facts.measured)),
        ("examples", "Examples", _examples(facts.examples, "example", blocks, facts.shown)),
        ("worst", "Worst errors", _examples(facts.worst, "worst", blocks, "The rows of the lowest score, worst first.")),
        ("alignment", "Alignment", _list(facts.alignment)),
        ("recipe", "Recipe", f"<p>Every default filled in.</p><pre>{_lines(facts.recipe)}</pre>"),
    ]  # fmt: skip
    contents = "".join(f'<li><a href="#{name}">{text(title)}</a></li>' for name, title, _ in sections)
    parts = [
        f'<header class="xa-top"><div><h1>{text(facts.title)}</h1><div class="xa-faint">{text(facts.run)}</div></div><div data-role="theme-place"></div></header>',
        f'<nav aria-label="sections"><ul class="xa-contents">{contents}</ul></nav>',
        *[f'<section aria-labelledby="{name}"><h2 id="{name}">{text(title)}</h2>\n{body}\n</section>' for name, title, body in sections],
    ]
    return page(f"{facts.title}: report", "\n".join(parts), blocks)


def _lines(given: str) -> str:
    """A text of several lines: its line ends are line ends, not control characters."""
    return "\n".join(text(line) for line in given.splitlines())


def _list(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{text(one)}</li>' for one in sentences)}</ul>" if sentences else ""


def _card(facts: Facts) -> str:
    rows = "\n".join(f'<tr><th scope="row">{text(name)}</th><td><bdi dir="auto">{text(said)}</bdi></td></tr>' for name, said in facts.card)
    return f'<table class="xa-table"><tbody>\n{rows}\n</tbody></table>\n<h3>Limits</h3>{_list(facts.limits)}'


def _curves(facts: Facts) -> str:
    said = f"<p>{facts.unread} lines of metrics.jsonl could not be read and are left out.</p>" if facts.unread else ""
    if not facts.charts:
        return f"<p>This run wrote no curves.</p>{said}"
    return f'<div class="xa-charts" data-json="curves"></div>{said}'


def _examples(examples: list[Example], name: str, blocks: dict[str, Any], what: str) -> str:
    if not examples:
        return "<p>There are none.</p>"
    parts = [f"<p>{text(what)}</p>"]
    for number, one in enumerate(examples, 1):
        block = f"{name}-{number}"
        blocks[block] = trace_to_json(one.trace)
        references = "".join(
            f'<div class="xa-text"><span class="xa-name">reference</span><span class="xa-said" dir="auto">{text(reference)}</span></div>'
            for reference in one.references
        )
        score = f' <span class="xa-faint">{text(one.score)}</span>' if one.score else ""
        source = one.trace.source_text or one.trace.target_text
        given = ""
        if one.given is not None:
            blocks[f"{block}-given"] = trace_to_json(one.given)
            given = f"<p>The row itself:</p>{trace_place(f'{block}-given')}"
        parts.append(
            f'<details{" open" if number == 1 and name == "example" else ""}><summary><bdi dir="auto">{text(_short(source))}</bdi> → '
            f'<bdi dir="auto">{text(_short(one.trace.target_text))}</bdi>{score}</summary>{references}{trace_place(block)}{given}</details>'
        )
    return "\n".join(parts)


def _short(given: str, longest: int = 160) -> str:
    return given if len(given) <= longest else given[:longest] + "…"
