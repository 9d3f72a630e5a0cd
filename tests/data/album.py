"""A few pictures on disk with captions that say their colour: what tests of pictures share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from PIL import Image

from xattend.data.corpus import Data, prepare
from xattend.recipe import Recipe

COLOURS = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220), "white": (240, 240, 240), "black": (10, 10, 10)}
PIXELS = {"kind": "image", "size": 16}
FEATURES = {"kind": "image", "size": 16, "backbone": "tiny-for-tests"}
WORDS = {"unit": "word"}


def album(folder: Path, count: int = 10, captions: int = 2) -> list[tuple[str, str]]:
    """Writes photos/0.png ... and captions.tsv; gives the rows."""
    (folder / "photos").mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(count):
        name = list(COLOURS)[number % len(COLOURS)]
        path = folder / "photos" / f"{number}.png"
        picture = Image.new("RGB", (20 + number % 7, 18), COLOURS[name])
        picture.putpixel((0, 0), (number, 7, 7))  # no two have the same content
        picture.save(path)
        os.utime(path, (1, 1))  # long ago
        rows += [(f"{number}.png", f"a {name} picture {caption}") for caption in range(captions)]
    (folder / "captions.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
    return rows


def get(place: Path, **data: Any) -> Data:
    """The data of the album, unless `data` says otherwise."""
    given = {"train": "captions.tsv", "folder": "photos", "source": PIXELS, "target": WORDS, **data}
    return prepare(Recipe({"data": {k: v for k, v in given.items() if v is not None}}, "mine.toml"), place / "cache", root=place)
