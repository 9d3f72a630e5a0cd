"""Every shipped recipe resolves, survives being saved, and trains: those that need a data set, on made-up files of its layout."""

from __future__ import annotations

import gzip
import itertools
import os
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.data.sail import sail
from xattend import job, recipe
from xattend.data.tasks.spoken_digits import FSDD
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
    if isinstance(place, str) and place.endswith(".transcription"):
        made_up_transcription(folder, data, place, split)
        return
    if layout == "flickr8k":
        made_up_photos(folder, data, place, split)
        return
    if isinstance(place, str) and place.endswith(".tags"):
        made_up_tags(folder, data, place, split)
        return
    if layout == "babi":
        made_up_stories(folder / place)
        return
    if layout == "sail":
        sail((folder / place).parent, ("Grid", "Jelly", "L"), times=8)
        return
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


def made_up_photos(folder: Path, data: dict[str, Any], listed: str, split: str) -> None:
    """A list of photos, their captions in the one file of all splits, and the photos."""
    names = [f"{split}{number}.jpg" for number in range(8)]
    file, photos = folder / listed, folder / data["folder"]
    photos.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{name}\n" for name in names))
    with file.with_name("Flickr8k.token.txt").open("a") as captions:
        for number, name in enumerate(names):
            Image.new("RGB", (40, 30), (30 * number, 90, 90)).save(photos / name)
            captions.write("".join(f"{name}#{one}\tA hund läuft , am strand .\n" for one in range(5)))


def made_up_stories(file: Path) -> None:
    """Two sentences and a question about one of them, with the number of that one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    places = ["Haus", "Hof", "Wald"]
    told = [(f"Hund{number % 9}", places[number % 3], f"Katze{number % 7}", places[number % 2]) for number in range(60)]
    file.write_text("".join(f"1 {a} ist im {b}.\n2 {c} ist im {d}.\n3 Wo ist {a}? \t{b}\t1\n" for a, b, c, d in told))


def made_up_tags(folder: Path, data: dict[str, Any], listed: str, split: str) -> None:
    """Pictures of words, and the list of what stands on them."""
    photos = folder / data["folder"]
    (photos / split).mkdir(parents=True, exist_ok=True)
    for number in range(40):
        Image.new("RGB", (40, 20), (6 * number, 90, 90)).save(photos / split / f"{number}.png")
    (folder / listed).write_text("".join(f"{split}/{number}.png Wort{number}\n" for number in range(40)))


def made_up_transcription(folder: Path, data: dict[str, Any], listed: str, split: str) -> None:
    """CMU features of noise, what is said in them, and the list of their files."""
    draw, file = np.random.default_rng(1), folder / listed
    file.parent.mkdir(parents=True, exist_ok=True)
    features = folder / (data.get("folder") or "feat")  # a language model reads the words alone
    (features / split).mkdir(parents=True, exist_ok=True)
    names = [f"{split}/an{number}" for number in range(100 if split == "train" else 8)]
    file.write_text("".join(f"YES {'ABCDEFGHIJ'[n % 10]} {'KLMNOPQRST'[n // 10]} GO (an{n})\n" for n in range(len(names))))
    file.with_suffix(".fileids").write_text("".join(f"{name}\n" for name in names))
    for name in names:
        frames = draw.normal(size=(40, 13)).astype(">f4")
        (features / f"{name}.mfc").write_bytes(np.array([frames.size], ">i4").tobytes() + frames.tobytes())


def made_up_recordings(folder: Path, task: Any) -> None:
    """FSDD's files, which its task names: all of them one short noise."""
    if not isinstance(task, dict) or task.get("kind") != "fsdd":
        return
    soundfile = pytest.importorskip("soundfile")
    place = folder / task.get("folder", "fsdd/recordings")
    place.mkdir(parents=True, exist_ok=True)
    soundfile.write(place / "one.wav", np.random.default_rng(1).normal(0, 0.1, 800), 8000)
    for digit, speaker, take in itertools.product(range(10), FSDD, range(50)):
        os.link(place / "one.wav", place / f"{digit}_{speaker}_{take}.wav")


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
    made_up_recordings(tmp_path / "data", given.section("data")["task"])
    overrides = ["training.steps=2", "training.validate_every=2", "training.validate_rows=8"]
    for key, value in SMALLER.items():
        section, setting = key.split(".")
        if setting in given.section(section) and given.section(section)[setting] is not None:
            overrides.append(f"{key}={value}")
    overrides += [f"data.{key}.rows=200" for key in ("task", "more") if (given.section("data")[key] or {}).get("rows", 0) >= 5_000]
    if given.section("data")["source"] and given.section("data")["source"].get("unit") == "bpe":
        overrides += ["data.source.size=40", "data.target.size=40"]
    run, result = job.start(name, out=tmp_path / "run", overrides=overrides, data_dir=tmp_path / "data")
    assert result.step == 2
    model = Model.load(run.path)
    named = model.source is not None and (model.source.media or model.source.registered_name in ("bits", "story", "strokes", "walk") or name == "interact")  # its sources name something: a picture, an episode
    source = job.reopen(run.path)[2].splits["train"].texts(0)[0] if named else "ein hund"
    assert source
    assert isinstance(model.predict(source).text, str)
