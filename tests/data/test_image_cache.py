"""What is kept of pictures: when data is the same data, and what becomes of records that are lost or damaged."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.data.album import WORDS, album, get
from xattend.data.build import Build
from xattend.data.corpus import encode_rows
from xattend.data.features import Damaged
from xattend.data.readers.base import Row
from xattend.data.wanted import Wanted
from xattend.recipe import Recipe


@pytest.fixture
def builds(monkeypatch) -> list[int]:
    seen: list[int] = []
    real = Build.run

    def counted(self, given):
        seen.append(1)
        return real(self, given)

    monkeypatch.setattr(Build, "run", counted)
    return seen


def test_the_fingerprint_covers_names_and_sizes_not_times_and_places(tmp_path, builds):
    album(tmp_path)
    first = get(tmp_path).fingerprint
    for file in (tmp_path / "photos").iterdir():
        os.utime(file, (5, 5))
    (tmp_path / "photos" / "unused.png").write_bytes(b"nobody names it")
    (tmp_path / "photos").rename(tmp_path / "fotos")
    assert get(tmp_path, folder="fotos").fingerprint == first
    assert len(builds) == 1
    with (tmp_path / "fotos" / "3.png").open("ab") as stream:
        stream.write(b"more")
    assert get(tmp_path, folder="fotos").fingerprint != first
    (tmp_path / "fotos" / "4.png").unlink()
    assert get(tmp_path, folder="fotos", bad_rows="skip").fingerprint != first


def test_fingerprints_of_text_are_what_they_were(tmp_path):
    """Pinned before there were pictures: a run of then must be known as the same data."""
    (tmp_path / "a.tsv").write_text("ein\tone\nzwei\ttwo\n")
    (tmp_path / "a.de").write_text("ein\n")
    (tmp_path / "a.en").write_text("one\n")

    def fingerprint(needs_source=True, **data):
        return Wanted(Recipe({"data": data}, "x.toml"), tmp_path, None, needs_source).fingerprint()[:16]

    assert fingerprint(train="a.tsv") == "61dd336006240589"
    assert fingerprint(train={"source": "a.de", "target": "a.en"}, target=WORDS) == "daa394e881ae91d4"
    assert fingerprint(train="a.tsv", format="cmudict", bad_rows="skip", split={"test": 0.1}) == "0ac634335b6a91f6"
    assert fingerprint(task={"kind": "copy", "rows": 50}) == "9b1f79caa4830f81"
    assert fingerprint(needs_source=False, train="a.tsv", columns={"source": 1, "target": 2}) == "8d8d3c885610d148"


def test_lost_features_are_computed_again(tmp_path, builds, decoded):
    album(tmp_path)
    first = get(tmp_path)
    values = first.splits["train"].batch([7]).source.values
    shutil.rmtree(tmp_path / "cache" / "features")
    again = get(tmp_path)
    assert len(builds) == 2
    assert len(decoded) == 20
    assert again.fingerprint == first.fingerprint
    assert again.splits["train"].batch([7]).source.values.equal(values)
    os.truncate(first.source.store.folder / "keys", 36 * 9)  # one is lost
    get(tmp_path)
    assert len(builds) == 3
    assert len(decoded) == 21


def test_a_damaged_record_is_said_in_training_and_made_anew_for_predicting(tmp_path):
    album(tmp_path, count=3)
    data = get(tmp_path)
    batch = encode_rows(data.fields, [Row("1.png", None, "f", 1)])
    values = data.source.store.folder / "values"
    damaged = bytearray(values.read_bytes())
    damaged[data.source.store.size + 5] ^= 8
    values.write_bytes(damaged)
    with pytest.raises(Damaged, match="delete this folder"):
        data.splits["train"].batch([2])
    again = encode_rows(get(tmp_path).fields, [Row("1.png", None, "f", 1)])
    assert again.source.values.equal(batch.source.values)
    get(tmp_path, target={"unit": "character"})  # taking the pictures in anew mends it
    assert get(tmp_path).splits["train"].batch([2]).source.values.equal(batch.source.values)
