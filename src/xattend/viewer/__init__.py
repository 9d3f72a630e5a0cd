"""The viewer: plain ES modules in static/, used alike by reports, notebooks and the page of `xattend view`.

>>> "render.js" in files() and "views/matrix.js" in files()
True
"""

from __future__ import annotations

from pathlib import Path

STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}


def files() -> dict[str, Path]:
    """Every file of the viewer by its name below static/: what a host may serve, and nothing else."""
    return {path.relative_to(STATIC).as_posix(): path for path in sorted(STATIC.rglob("*")) if path.suffix in TYPES and path.is_file()}
