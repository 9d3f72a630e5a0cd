"""Published layouts of pictures with texts: Flickr8k, Karpathy's splits, COCO, IIIT5K."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.data.album import album, get
from xattend.data.readers.base import open_reader
from xattend.data.report import Report
from xattend.errors import UserError

TOKENS = """0.png#0\tA red dog .
0.png#1\tA dog .
1.png#0\tA green cat .
2.png.1#0\tnobody lists it
3.png#0\tA white bird .
"""
KARPATHY = {
    "dataset": "x",
    "images": [
        {"filename": "0.png", "split": "train", "sentences": [{"raw": "A  red\ndog."}, {"raw": "A dog."}]},
        {"filename": "1.png", "filepath": "val2014", "split": "val", "sentences": [{"raw": "A cat."}]},
        {"filename": "3.png", "split": "restval", "sentences": [{"raw": "A bird."}]},
    ],
}
COCO = {
    "images": [{"id": 7, "file_name": "0.png"}, {"id": 8, "file_name": "1.png"}],
    "annotations": [{"image_id": 8, "caption": "A cat.\n"}, {"image_id": 7, "caption": "A dog."}, {"image_id": 7, "caption": "Dog."}],
}


def write(folder: Path, name: str, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def rows(place: str | Path, **options: Any) -> list[tuple[str, str | None, int]]:
    return [(row.source, row.target, row.line) for row in open_reader(str(place), **options)]


def fails(place: str | Path, **options: Any) -> str:
    with pytest.raises(UserError) as found:
        rows(place, **options)
    return str(found.value)


# --- Flickr8k


def test_flickr8k_takes_the_captions_of_the_listed_pictures(tmp_path):
    captions = write(tmp_path, "Flickr8k.token.txt", TOKENS)
    train = write(tmp_path, "Flickr_8k.trainImages.txt", "3.png\n0.png\n")
    assert rows(train, format="flickr8k") == [("0.png", "A red dog .", 1), ("0.png", "A dog .", 2), ("3.png", "A white bird .", 5)]
    assert {row.file for row in open_reader(str(train), format="flickr8k")} == {str(captions)}


def test_flickr8k_complains_at_the_right_file(tmp_path):
    train = write(tmp_path, "list.txt", "0.png\n9.png\n\n")
    assert fails(train, format="flickr8k") == f"{train}: the captions are not beside this list: no Flickr8k.token.txt there"
    captions = write(tmp_path, "Flickr8k.token.txt", TOKENS)
    assert fails(train, format="flickr8k") == f"{train}:2: 9.png has no caption in Flickr8k.token.txt"
    report = Report()
    assert len(rows(train, format="flickr8k", bad_rows="skip", report=report)) == 2
    assert report.lines() == [f"1 row skipped: a picture without captions (first at {train}:2)"]
    write(tmp_path, "Flickr8k.token.txt", TOKENS + "no tab\n")
    assert fails(train, format="flickr8k") == f"{captions}:6: the line is not of the form NAME#NUMBER<tab>CAPTION"
    write(tmp_path, "Flickr8k.token.txt", TOKENS + "0.png#4\t\n")
    assert fails(train, format="flickr8k") == f"{captions}:6: the target side is empty"


def test_a_recipe_reads_flickr8k_and_its_fingerprint_covers_the_captions(tmp_path):
    album(tmp_path, count=4)
    write(tmp_path, "Flickr8k.token.txt", TOKENS)
    write(tmp_path, "train.txt", "3.png\n0.png\n")
    write(tmp_path, "dev.txt", "1.png\n")
    given = {"train": "train.txt", "validation": "dev.txt", "format": "flickr8k"}
    data = get(tmp_path, **given)
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 3, "validation": 1}
    assert data.splits["train"].texts(1) == ("0.png", "A dog .")
    write(tmp_path, "Flickr8k.token.txt", TOKENS.replace("A dog", "One dog"))
    again = get(tmp_path, **given)
    assert again.fingerprint != data.fingerprint
    assert again.splits["train"].texts(1) == ("0.png", "One dog .")
    (tmp_path / "photos" / "0.png").unlink()
    with pytest.raises(UserError, match=r"Flickr8k\.token\.txt:1: no such picture: .*0\.png"):
        get(tmp_path, **given)


# --- Karpathy


def test_karpathy_reads_all_or_the_parts_that_are_named(tmp_path):
    path = write(tmp_path, "dataset.json", KARPATHY)
    every = [("0.png", "A red dog.", 1), ("0.png", "A dog.", 2), ("val2014/1.png", "A cat.", 3), ("3.png", "A bird.", 4)]
    assert rows(path, format="karpathy") == every
    assert rows(f"{path}#train", format="karpathy") == every[:2]
    assert rows(f"{path}#val", format="karpathy") == [every[2]]
    assert rows(f"{path}#train+restval", format="karpathy") == [*every[:2], every[3]]
    assert "no picture of split 'tset' in it: " in fails(f"{path}#tset", format="karpathy")


def test_parts_are_of_files_that_have_them(tmp_path):
    path = write(tmp_path, "a.tsv", "x\ty\n")
    assert fails(f"{path}#train") == f"{path}: '#train' names a part, and files of layout 'tsv' have none"
    odd = write(tmp_path, "b#train", "x\ty\n")
    assert rows(odd) == [("x", "y", 1)]  # a file that is really called so
    assert "no such file" in fails(tmp_path / "no.json#train", format="karpathy")


def test_a_recipe_reads_parts_and_tells_them_apart(tmp_path):
    album(tmp_path, count=4)
    write(tmp_path, "dataset.json", KARPATHY)
    given = {"format": "karpathy", "validation": "dataset.json#restval"}
    data = get(tmp_path, train="dataset.json#train", **given)
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 2, "validation": 1}
    other = get(tmp_path, train="dataset.json#train+restval", **given)
    assert len(other.splits["train"]) == 3
    assert other.fingerprint != data.fingerprint


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ({"split": "train", "sentences": [{"raw": "x"}]}, "has no text 'filename'"),
        ({"filename": "a.png", "split": "train", "sentences": [{"tokens": ["x"]}]}, "a caption has no text 'raw'"),
        ({"filename": "a.png", "split": "train", "sentences": []}, "no list 'sentences'"),
        ({"filename": "a.png", "split": "train"}, "no list 'sentences'"),
        ({"filename": "a.png", "split": "train", "sentences": [{"raw": "\ud800"}]}, "half a surrogate pair"),
        (["a"], "no list 'sentences'"),
    ],
)
def test_a_bad_picture_of_karpathy_is_placed_by_its_number(tmp_path, image, said):
    path = write(tmp_path, "dataset.json", {"images": [*KARPATHY["images"], image]})
    assert fails(path, format="karpathy").startswith(f"{path}:5: ")
    assert said in fails(path, format="karpathy")
    assert len(rows(path, format="karpathy", bad_rows="skip")) == 4


# --- COCO


def test_coco(tmp_path):
    path = write(tmp_path, "captions_val2014.json", COCO)
    assert rows(path, format="coco") == [("1.png", "A cat.", 1), ("0.png", "A dog.", 2), ("0.png", "Dog.", 3)]
    assert "data.format" in fails(path)  # a .json file says nothing of its layout
    odd = {**COCO, "annotations": [*COCO["annotations"], {"image_id": 9, "caption": "?"}, {"image_id": 7}, "x"]}
    report = Report()
    assert len(rows(write(tmp_path, "b.json", odd), format="coco", bad_rows="skip", report=report)) == 3
    assert {reason: found.count for reason, found in report.skipped.items()} == {
        "a caption of no picture": 2, "a caption without 'caption'": 1,
    }  # fmt: skip
    silent = {"images": COCO["images"], "annotations": COCO["annotations"][:1]}
    assert fails(write(tmp_path, "c.json", silent), format="coco").endswith("c.json:2: picture 7 has no caption")


@pytest.mark.parametrize("format", ["coco", "karpathy"])
def test_files_that_are_something_else(tmp_path, format):
    assert "not valid JSON" in fails(write(tmp_path, "a.json", "{"), format=format)
    assert "no list 'images'" in fails(write(tmp_path, "b.json", "[1]"), format=format)
    assert "no list 'images'" in fails(write(tmp_path, "c.json", '{"images": {}}'), format=format)
    assert "not valid JSON" in fails(write(tmp_path, "d.json", "[" * 100_000), format=format)


# --- IIIT5K


def test_iiit5k(tmp_path):
    path = write(tmp_path, "train.tags", "train/1_1.jpg You\ntrain/1_2.jpg  50% off\n")
    assert rows(path) == [("train/1_1.jpg", "You", 1), ("train/1_2.jpg", "50% off", 2)]
    assert fails(write(tmp_path, "bad.tags", "train/1_1.jpg\n")).startswith(f"{tmp_path / 'bad.tags'}:1: the line is not a picture's file")


# --- a folder a class


def sorted_album(folder: Path) -> Path:
    """Six pictures of the album in two folders, one of them deeper, and a hidden file."""
    album(folder, 6)
    for number in range(6):
        place = folder / "sorted" / ("dog", "cat/young")[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        (folder / "photos" / f"{number}.png").rename(place / f"{number}.png")
    (folder / "sorted" / ".DS_Store").write_text("x")
    return folder / "sorted"


def test_a_folder_a_class(tmp_path):
    place = sorted_album(tmp_path)
    cats = [(f"sorted/cat/young/{number}.png", "cat", line) for line, number in enumerate((1, 3, 5), 1)]
    dogs = [(f"sorted/dog/{number}.png", "dog", line) for line, number in enumerate((0, 2, 4), 4)]
    assert rows("sorted", root=tmp_path, format="classes") == cats + dogs
    data = get(tmp_path, train="sorted", format="classes", folder=None)
    assert len(data.splits["train"]) == 6
    before = data.fingerprint
    assert get(tmp_path, train="sorted", format="classes", folder=None).fingerprint == before
    (place / "dog" / "0.png").rename(place / "cat" / "0.png")
    assert get(tmp_path, train="sorted", format="classes", folder=None).fingerprint != before


def test_folders_that_are_something_else(tmp_path):
    place = sorted_album(tmp_path)
    (place / "lost.png").write_bytes(b"x")
    assert fails("sorted", root=tmp_path, format="classes").endswith("sorted:7: lost.png lies in no folder that says what it shows")
    assert len(rows("sorted", root=tmp_path, format="classes", bad_rows="skip")) == 6
    assert 'format = "classes"' in fails("sorted", root=tmp_path)
    assert "no such folder" in fails("nowhere", root=tmp_path, format="classes")
    (tmp_path / "empty").mkdir()
    assert "there is no file in it" in fails("empty", root=tmp_path, format="classes")
