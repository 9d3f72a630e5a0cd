"""Every shipped recipe resolves, survives being saved, and trains: those that need a data set, on made-up files of its layout."""

from __future__ import annotations

import gzip
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

from xattend import job, recipe
from xattend.model import Model

NAMES = [name for name, _ in recipe.shipped()]
# sizes for a test: what is learned does not matter here, only that every part of the recipe is used
SMALLER = {
    "encoder.size": 16, "decoder.size": 16, "encoder.embedding": 8, "decoder.embedding": 8, "encoder.inner": 16, "decoder.inner": 16,
    "attention.size": 8, "attention.heads": 2, "encoder.heads": 2, "decoder.heads": 2, "decoder.readout_size": 8,
}  # fmt: skip


LAYOUTS = {"scan": "IN: wort{} OUT: {}\n", "cmudict": "WORT{}  {}\n"}


def made_up(folder: Path, data: dict[str, Any], split: str) -> None:
    """Writes the files that [data] names for a split: sentences of a few words, the same number on both sides."""
    place, layout = data[split], data.get("format")
    count = 400 if data.get("split") and split == "train" else 40  # so that shares of a hundredth are rows
    draw = random.Random(1)
    sides = place if isinstance(place, dict) else {"both": place}
    rows = [" ".join(draw.choice(["ein", "hund", "läuft", "am", "strand", "."]) for _ in range(draw.randint(2, 6))) for _ in range(count)]
    for side, name in sides.items():
        line = LAYOUTS.get(layout or "", "wort{}\t{}\n") if side == "both" else "{1}\n"
        text = "".join(line.format(i, row) for i, row in enumerate(rows))
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".zip"):
            with zipfile.ZipFile(file, "w") as packed:
                packed.writestr("rows.txt", text)
        else:
            file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


@pytest.mark.parametrize("name", NAMES)
def test_it_resolves_and_survives_being_saved(name: str) -> None:
    resolved = recipe.load(name).resolve()
    again = recipe.parse(resolved.dump(), "saved.toml").resolve()
    assert again.sections == resolved.sections
    assert resolved.about.title
    assert resolved.about.minutes > 0


@pytest.mark.parametrize("name", [n for n in NAMES if n != "transliterate"])
def test_it_trains(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XATTEND_CACHE", str(tmp_path / "cache"))
    given = recipe.load(name).resolve()
    for split in ("train", "validation", "test"):
        if given.section("data")[split] is not None:
            made_up(tmp_path / "data", given.section("data"), split)
    overrides = ["training.steps=2", "training.validate_every=2", "training.validate_rows=8"]
    for key, value in SMALLER.items():
        section, setting = key.split(".")
        if setting in given.section(section) and given.section(section)[setting] is not None:
            overrides.append(f"{key}={value}")
    if given.section("data")["source"] and given.section("data")["source"].get("unit") == "bpe":
        overrides += ["data.source.size=40", "data.target.size=40"]
    run, result = job.start(name, out=tmp_path / "run", overrides=overrides, data_dir=tmp_path / "data")
    assert result.step == 2
    model = Model.load(run.path)
    assert isinstance(model.predict("ein hund").text, str)
