"""What a run keeps of its data: how its sides are read, and where its files lay when it was trained."""

from __future__ import annotations

import json
from pathlib import Path

from xattend.data.fields.base import Field, from_json
from xattend.errors import UserError
from xattend.run import Run


def fields_of(run: Run) -> tuple[Field | None, Field]:
    """How a run reads its sides; a language model has no source."""

    def read(side: str) -> Field:
        try:
            return from_json(json.loads(run.field(side).read_text("utf-8")))
        except (UserError, ValueError, OSError) as error:
            raise UserError(f"cannot be read: {error}", file=run.field(side)) from None

    return (read("source") if run.field("source").exists() else None), read("target")


def places_of(run: Run) -> tuple[Path, Path | None]:
    """Where a run's recipe lay, and its --data. A run that was moved without its note looks beside itself."""
    try:
        found = json.loads((run.path / "places.json").read_text("utf-8"))
        places = {key: value for key, value in found.items() if isinstance(value, str)}
    except (OSError, ValueError, AttributeError):
        places = {}
    return Path(places.get("root") or run.path), Path(places["data"]) if places.get("data") else None
