"""JSON lines: one object a line. The sides are its keys 'source' and 'target' unless `columns` names others."""

from __future__ import annotations

import json
from collections.abc import Iterator

from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow, lines
from xattend.errors import UserError
from xattend.registry import register


@register("reader", "jsonl")
class JsonLines(Reader):
    """.jsonl, plain or .gz."""

    suffixes = (".jsonl", ".ndjson")

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        keys = {"source": "source", "target": "target"}
        for side, key in (self.columns or {}).items():
            if not isinstance(key, str):
                raise UserError(f"data.columns: name the key of the {side} side; an object has no column {key}", file=self.file)
            keys[side] = key
        for number, found in lines(self.file):
            if isinstance(found, BadRow):
                yield number, found
                continue
            try:
                yield number, self._pair(found, keys)
            except BadRow as bad:
                yield number, bad

    def _pair(self, text: str, keys: dict[str, str]) -> Pair:
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:  # a few thousand nested brackets raise the latter
            raise BadRow("not valid JSON", f"not valid JSON: {error}") from None
        if not isinstance(row, dict):
            raise BadRow("not a JSON object", "not a JSON object: each line is { \"source\": ..., \"target\": ... }")
        source = self._text(row, keys["source"])
        needed = self.needs_target or keys["target"] in row
        return source, self._text(row, keys["target"]) if needed else None

    def _text(self, row: dict[str, object], key: str) -> str:
        if key not in row:
            raise BadRow("a missing key", f"the key '{key}' is missing: set data.columns to the keys that are there")
        value = row[key]
        if not isinstance(value, str):
            raise BadRow("a value that is not text", f"'{key}' is not text but {type(value).__name__}: put it in quotes")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:  # an escape like \ud800 that is half a character
            raise BadRow("half a character", f"'{key}' has half a surrogate pair, which is no character") from None
        return value
