"""metrics.jsonl: one JSON object a line, for every few updates and every validation.

>>> import tempfile
>>> log = Log(Path(tempfile.mkdtemp()) / "metrics.jsonl")
>>> log.write(step=1, loss=float("nan"))
>>> log.file.read_text()
'{"step": 1, "loss": null}\\n'
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from xattend.run import write_atomic, writing


class Log:
    """An append-only file. A saved state remembers how many lines there were, and resuming cuts off the rest."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.lines = 0

    def write(self, **values: Any) -> None:
        """One line; a number that is not finite is written as null, since JSON has no other word for it."""
        plain = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
        with writing(self.file), open(self.file, "a", encoding="utf-8") as file:
            file.write(json.dumps(plain, allow_nan=False) + "\n")
        self.lines += 1

    def sync(self) -> None:
        """On the disk, before a state counts on it."""
        if self.file.exists():
            with writing(self.file), open(self.file, "a") as file:
                os.fsync(file.fileno())

    def restart(self, lines: int) -> None:
        """Keeps the first `lines` lines; what a killed process wrote after its last saved state will be written anew."""
        kept = self.file.read_bytes().splitlines(keepends=True)[:lines] if self.file.exists() else []
        if kept and not kept[-1].endswith(b"\n"):
            kept.pop()
        write_atomic(self.file, b"".join(kept))
        self.lines = len(kept)
