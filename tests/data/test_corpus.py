"""From files to splits: what is read, held out, encoded, cached, rebuilt and reported."""

from __future__ import annotations

import json
import os
import pickle
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from xattend.data import cache as caches
from xattend.data import wanted
from xattend.data.build import CHUNK, Build
from xattend.data.corpus import encode_rows, prepare
from xattend.data.readers.base import Row
from xattend.data.tasks.base import share
from xattend.errors import UserError
from xattend.recipe import Recipe, parse
from xattend.types import BOS, EOS

PAIRS = [(f"Wort {n % 97} x{n}", f"word {n} {'y' * (n % 5)}".strip()) for n in range(300)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "train.tsv", PAIRS[:240])
    write(tmp_path / "val.tsv", PAIRS[240:270])
    write(tmp_path / "test.tsv", PAIRS[270:])
    return tmp_path


def write(path: Path, rows) -> None:
    path.write_text("".join(f"{s}\t{t}\n" for s, t in rows), encoding="utf-8", newline="")


def recipe(**data) -> Recipe:
    return Recipe({"data": data}, "mine.toml")


def get(folder: Path, *, needs_source: bool = True, fields=None, **data):
    return prepare(recipe(**data), folder / "cache", root=folder, needs_source=needs_source, fields=fields)


FILES = {"train": "train.tsv", "validation": "val.tsv", "test": "test.tsv"}


def test_rows_come_back_as_they_went_in(folder):
    data = get(folder, **FILES)
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 240, "validation": 30, "test": 30}
    train = data.splits["train"]
    assert [train.texts(row) for row in range(240)] == PAIRS[:240]
    batch = train.batch([7, 0, 7])
    assert batch.rows == (7, 0, 7)
    assert batch.source is not None
    assert batch.target is not None
    for place, row in enumerate(batch.rows):
        source = batch.source.values[place][batch.source.mask_BS[place]].tolist()
        target = batch.target.values[place][batch.target.mask_BS[place]].tolist()
        assert source == [*data.source.encode(PAIRS[row][0]), EOS]
        assert target == [BOS, *data.target.encode(PAIRS[row][1]), EOS]
        assert train.lengths[row].tolist() == [len(source), len(target)]
    assert data.report.lines() == [
        line for line in data.report.lines() if "unknown" in line
    ]  # nothing but unknown characters of the held-out rows may be said


def test_fields_are_fitted_on_train_only(folder):
    write(folder / "val.tsv", [("Ω", "ω")])
    data = get(folder, train="train.tsv", validation="val.tsv")
    assert "Ω" not in data.source.to_json()["vocabulary"]
    assert "1 of 1 source units of validation are unknown (1e+02 %)" in data.report.lines()
    assert set(data.splits) == {"train", "validation"}


def test_source_without_eos_and_shared_vocabulary(folder):
    unit = {"unit": "bpe", "size": 120}
    data = get(folder, train="train.tsv", source={**unit, "eos": False}, target={**unit, "share": "source"})
    assert data.source.to_json()["vocabulary"] == data.target.to_json()["vocabulary"]
    assert data.target.encode("Wort") == data.source.encode("Wort")
    assert data.target.decode(data.target.encode("Wort yyy")) == "Wort yyy"
    assert data.splits["train"].batch([0]).source.values[0, -1] != EOS
    with pytest.raises(UserError, match="needs the source's unit = 'bpe'"):
        get(folder, train="train.tsv", source=unit, target={"share": "source"})
    with pytest.raises(UserError, match="target side"):
        get(folder, train="train.tsv", source={"share": "source"})


def test_long_training_rows_are_left_out_and_counted(folder):
    short = [pair for pair in PAIRS[:240] if len(pair[1].split()) < 3]
    word = {"unit": "word", "max_length": 2}
    data = get(folder, **FILES, target=word)
    train = data.splits["train"]
    assert [train.texts(row) for row in range(len(train))] == short
    assert train.batch([len(train) - 1]).target.values[0, 1] == data.target.encode(short[-1][1])[0]
    assert len(data.splits["test"]) == 30  # only training rows are left out
    assert f"{240 - len(short)} train rows left out: the target side is longer than max_length = 2" in data.report.lines()
    with pytest.raises(UserError, match="no row of train is left"):
        get(folder, train="train.tsv", target={"max_length": 1})


def test_shares_are_stable_and_no_source_straddles(folder):
    rows = [(f"name{n % 150}", f"t{n}") for n in range(600)] + [(f"NAME{n}  ", f"u{n}") for n in range(150)]
    write(folder / "all.tsv", rows)
    shares = {"validation": 0.1, "test": 0.2}
    data = get(folder, train="all.tsv", split=shares)

    def held(data, name):
        return {data.splits[name].texts(row) for row in range(len(data.splits[name]))}

    keys = [{source.lower().strip() for source, _ in held(data, name)} for name in ("train", "validation", "test")]
    assert not keys[0] & keys[1]
    assert not keys[0] & keys[2]
    assert not keys[1] & keys[2]
    assert sum(len(held(data, name)) for name in data.splits) == len(rows)
    assert 0.1 < len(keys[2]) / 150 < 0.3
    # other rows, another order: a source stays where it was
    write(folder / "all.tsv", [*rows[::-1], ("new", "row")])
    again = get(folder, train="all.tsv", split=shares)
    for name in data.splits:
        assert held(data, name) <= held(again, name)
    assert again.fingerprint != data.fingerprint


def test_the_hash_of_a_split_never_changes():
    # the first 16 hex digits of `printf a | sha256sum`, ca978112ca1bbdca, over 2 ** 64 by `bc`; and so on
    known = {"a": 0.791374270522, "b": 0.242735391017, "": 0.889415994891, "Kyoto": 0.823856374425}
    assert {text: round(share(text), 12) for text in known} == pytest.approx(known, abs=2e-12)


def test_mistakes_in_the_settings(folder):
    with pytest.raises(UserError, match="choose one"):
        get(folder, train="train.tsv", test="test.tsv", split={"test": 0.1})
    with pytest.raises(UserError, match="a task has its own"):
        get(folder, task="copy", split={"test": 0.1})
    with pytest.raises(UserError, match="only 14 different sequences"):
        get(folder, task={"kind": "copy", "symbols": 2, "min_length": 1, "max_length": 3})
    with pytest.raises(UserError, match="nothing is left for 'test'"):
        get(folder, train="train.tsv", split={"test": 0.000001})
    with pytest.raises(UserError, match="one side only"):
        get(folder, train="train.tsv", source={"unit": "word"}, needs_source=False)


def test_a_missing_file_is_placed_in_the_recipe(folder):
    made = parse('[data]\n# here\ntrain = "no.tsv"\n', "mine.toml")
    with pytest.raises(UserError) as found:
        prepare(made, folder / "cache", root=folder, data_dir=folder / "data")
    assert str(found.value) == f"mine.toml:3: no such file: not {folder / 'no.tsv'} and not {folder / 'data' / 'no.tsv'}"


def test_a_language_model_has_one_side(folder):
    (folder / "one.txt").write_text("ein\nzwei\n", encoding="utf-8")
    data = get(folder, train="one.txt", needs_source=False)
    assert data.source is None
    assert data.splits["train"].texts(1) == (None, "zwei")
    assert data.splits["train"].lengths.tolist() == [[0, 5], [0, 6]]
    assert data.splits["train"].batch([0, 1]).source is None
    two = get(folder, train="train.tsv", needs_source=False)
    assert two.splits["train"].texts(3) == (None, PAIRS[3][1])
    first = get(folder, train="train.tsv", columns={"source": 1}, needs_source=False)
    assert first.splits["train"].texts(3) == (None, PAIRS[3][0])
    last = get(folder, train="train.tsv", columns={"source": 1, "target": 2}, needs_source=False)
    assert last.splits["train"].texts(3) == (None, PAIRS[3][1])


def test_overlap_is_warned_of(folder):
    write(folder / "test.tsv", [*PAIRS[270:], PAIRS[0], PAIRS[0], (PAIRS[1][0].upper(), "other")])
    report = get(folder, **FILES).report
    assert report.lines()[-1] == "warning: 3 of 33 test rows have a source side that is in train too"


def test_bad_rows_are_skipped_and_said(folder):
    with (folder / "train.tsv").open("ab") as stream:
        stream.write(b"\xff\tx\nonly\n")
    with pytest.raises(UserError, match=r"train\.tsv:241: not valid UTF-8"):
        get(folder, **FILES)
    assert not list((folder / "cache").glob("*"))  # nothing half-made stays behind
    assert not list((folder / "cache").glob(".*"))
    report = get(folder, **FILES, bad_rows="skip").report
    assert f"1 row skipped: wrong number of columns (first at {folder / 'train.tsv'}:242)" in report.lines()


# the cache -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def builds(monkeypatch) -> list[int]:
    """One entry for every time that data was built rather than reused."""
    seen: list[int] = []
    real = Build.run

    def counted(self, given):
        seen.append(1)
        return real(self, given)

    monkeypatch.setattr(Build, "run", counted)
    return seen


def test_the_cache_is_used_again_until_something_changes(folder, builds):
    first = get(folder, **FILES)
    again = get(folder, **FILES)
    assert len(builds) == 1
    assert again.fingerprint == first.fingerprint
    assert again.report == first.report
    assert again.target.to_json() == first.target.to_json()
    assert again.splits["train"].batch([5]).target.values.equal(first.splits["train"].batch([5]).target.values)
    moved = folder / "elsewhere"
    moved.mkdir()
    for name in FILES.values():
        (folder / name).rename(moved / name)
    assert prepare(recipe(**FILES), folder / "cache", root=folder, data_dir=moved).fingerprint == first.fingerprint
    assert len(builds) == 1
    changed = prepare(recipe(**FILES, target={"unit": "word"}), folder / "cache", root=moved)
    assert len(builds) == 2
    assert changed.fingerprint != first.fingerprint
    write(moved / "test.tsv", PAIRS[:1])
    assert len(prepare(recipe(**FILES), folder / "cache", root=moved).splits["test"]) == 1
    assert len(builds) == 3


def files_of(folder: Path) -> list[Path]:
    (made,) = (folder / "cache").iterdir()
    return sorted(made.iterdir())


def test_a_damaged_cache_is_never_used(folder, builds):
    fresh = get(folder, **FILES).splits["train"].batch([3])
    names = [file.name for file in files_of(folder)]
    assert "index.json" in names
    assert "train.source.ids.values" in names
    for count, name in enumerate(names):
        for damage in ("flip", "cut", "remove"):
            file = next(file for file in files_of(folder) if file.name == name)
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 1
            if damage == "flip":
                file.write_bytes(data)
            elif damage == "cut":
                file.write_bytes(file.read_bytes()[:-1])
            else:
                file.unlink()
            if count % 5 == 0 or name == "index.json":  # building again for each file and damage would take long
                assert get(folder, **FILES).splits["train"].batch([3]).source.values.equal(fresh.source.values)
            else:
                (made,) = (folder / "cache").iterdir()
                assert caches.load(made) is None
                file.write_bytes(bytes(data[: len(data) // 2]) + bytes([data[len(data) // 2] ^ 1]) + bytes(data[len(data) // 2 + 1 :]))
                assert caches.load(made) is not None
    assert len(builds) > 3


def test_given_fields_are_used_and_keep_the_fingerprint(folder, builds):
    first = get(folder, **FILES)
    again = get(folder, **FILES, fields=first.fields)
    assert len(builds) == 1  # the same fields: the same cache
    assert again.fingerprint == first.fingerprint
    other = get(folder, train="test.tsv").fields
    used = get(folder, **FILES, fields=other)
    assert used.fingerprint == first.fingerprint
    assert used.target.to_json() == other[1].to_json() != first.target.to_json()
    get(folder, **FILES, fields=other)
    assert len(builds) == 3
    assert get(folder, **FILES).target.to_json() == first.target.to_json()


def test_a_setting_left_at_its_default_is_not_in_the_fingerprint():
    """So that a version which has one setting more still knows the data of older runs."""
    given = {"kind": "text", "unit": "bpe", "size": 500, "lower": False, "nfc": True, "share": None}
    assert wanted._set(given) == {"kind": "text", "unit": "bpe", "size": 500}


def test_what_a_killed_build_left_is_taken_away_a_day_later(tmp_path):
    old, new = tmp_path / ".building-a-1", tmp_path / ".building-b-2"
    for left in (old, new):
        left.mkdir()
        (left / "train.source.ids").write_bytes(b"half")
    yesterday = time.time() - caches.FORGOTTEN - 60
    for path in (old, old / "train.source.ids", new):  # the new one's file is still being written to
        os.utime(path, (yesterday, yesterday))
    with caches.building(tmp_path / "mine") as work:
        assert not old.exists()
        assert new.exists()
        assert work.exists()


def test_another_process_that_was_faster_wins(tmp_path):
    place = tmp_path / "cache" / "x"
    with caches.building(place) as mine:
        (mine / "a").write_text("mine")
        caches.seal(mine, {"by": "me"})
        with caches.building(place) as other:
            (other / "a").write_text("other")
            caches.seal(other, {"by": "another"})
    assert caches.load(place) == {"by": "another"}
    assert [path.name for path in place.parent.iterdir()] == ["x"]


def test_a_split_is_cheap_to_send_and_opens_its_files_where_it_arrives(folder):
    split = get(folder, **FILES).splits["train"]
    split.batch([0])
    assert len(split.lengths) == 240
    sent = pickle.dumps(split)
    assert len(sent) < 2000
    assert pickle.loads(sent).batch([3]).target.values.equal(split.batch([3]).target.values)


def test_memory_stays_flat_as_data_grows(tmp_path):
    def peak(rows: int) -> int:
        path = tmp_path / f"{rows}.tsv"
        with path.open("w") as stream:
            stream.writelines(f"{n % 1000:04} some words of text\tand their words {n % 1000:04}\n" for n in range(rows))
        tracemalloc.start()
        prepare(recipe(train=path.name), tmp_path / "cache", root=tmp_path)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(100)  # imports and the like
    small, large = peak(3 * CHUNK), peak(6 * CHUNK)
    assert large - small < 20 * 3 * CHUNK  # rows of 45 characters: less than 20 bytes each


def test_a_task_without_settings_uses_its_own_fields(tmp_path):
    data = get(tmp_path, task={"kind": "sort", "rows": 50})
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 50, "validation": 10, "test": 10}
    source, target = data.splits["train"].texts(0)
    assert target == " ".join(sorted(source.split()))
    assert len(data.source.encode(source)) == len(source.split())
    own = get(tmp_path, task={"kind": "sort", "rows": 50}, source={"unit": "character"})
    assert len(own.source.encode(source)) == len(source)


def test_rows_of_a_users_own(folder):
    data = get(folder, **FILES, target={"unit": "word", "max_length": 3})
    rows = [Row("Wort", None, "f", 1), Row("Wort Wort Wort Wort", None, "f", 2)]
    batch = encode_rows(data.fields, rows)
    assert batch.target is None
    assert batch.source.lengths_B.tolist() == [5, 20]  # nothing is cut
    batch = encode_rows(data.fields, [row._replace(target="word 1 y y y") for row in rows])
    assert batch.target.lengths_B.tolist() == [7, 7]
    assert batch.target.values[0].tolist() == [BOS, *data.target.encode("word 1 y y y"), EOS]
    with pytest.raises(UserError, match="f:1: the row has no target side"):
        encode_rows(data.fields, [rows[0], rows[1]._replace(target="x")])
    model = get(folder, train="train.tsv", needs_source=False)
    assert encode_rows(model.fields, rows).target.lengths_B.tolist() == [6, 21]


def test_the_index_is_json(folder):
    get(folder, **FILES)
    index = json.loads(next(file for file in files_of(folder) if file.name == "index.json").read_text("utf-8"))
    assert index["content"]["splits"] == {"train": 240, "validation": 30, "test": 30}
    ids = np.fromfile(next(file for file in files_of(folder) if file.name == "test.target.ids.values"), np.int32)
    assert (ids == BOS).sum() == (ids == EOS).sum() == 30
