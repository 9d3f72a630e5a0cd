"""SCAN's lines (Lake and Baroni 2018): a command and the actions it asks for.

    IN: jump twice OUT: I_JUMP I_JUMP

The published files end in .txt, so a recipe says `format = "scan"`.
"""

from __future__ import annotations

from xattend.data.readers.layout import Layout
from xattend.data.readers.lines import BadRow
from xattend.registry import register


@register("reader", "scan")
class Scan(Layout):
    """IN: command OUT: actions."""

    def parse(self, line: str) -> tuple[str, str]:
        before, mark, actions = line.partition(" OUT:")
        if not mark or not before.startswith("IN:"):
            raise BadRow("not an IN: ... OUT: ... line", "the line is not of the form IN: command OUT: actions")
        return before.removeprefix("IN:").strip(), actions.strip()
