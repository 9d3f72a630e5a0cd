"""What tests of pictures share that pytest hands them; see album.py for the pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from xattend.data import pictures


@pytest.fixture
def decoded(monkeypatch) -> list[Path]:
    """Every file that was decoded."""
    seen: list[Path] = []
    real = pictures.read

    def counted(path, *args, **named):
        seen.append(path)
        return real(path, *args, **named)

    monkeypatch.setattr(pictures, "read", counted)
    return seen
