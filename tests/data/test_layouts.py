"""Published layouts: SCAN, CMUdict, a text inside a zip, a third column; and that a source's rows stay together."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from xattend.data.corpus import Data, prepare
from xattend.data.readers import zipped
from xattend.data.readers.base import open_reader, reader_for
from xattend.data.report import Report
from xattend.errors import UserError
from xattend.recipe import Recipe, parse

SCAN = "IN: jump twice OUT: I_JUMP I_JUMP\nIN: turn left OUT: I_TURN_LEFT\n"
DICTIONARY = """;;; # a comment with a word and  PH AH N IY M Z
'BOUT  B AW T
TOMATO  T AH M EY T OW
TOMATO(1)  T AH M AA T OW
(PAREN  P ER EH N
aalborg AO1 L B AO0 R G # place, danish
"""
ENTRIES = [
    ("'BOUT", "B AW T"), ("TOMATO", "T AH M EY T OW"), ("TOMATO", "T AH M AA T OW"), ("(PAREN", "P ER EH N"),
    ("aalborg", "AO1 L B AO0 R G"),
]  # fmt: skip
PAIRS = "Go.\tVe.\nGo.\tVete.\nHi.\tHola.\n"


def pairs(path: Path, **options: Any) -> list[tuple[str, str | None]]:
    return [(row.source, row.target) for row in open_reader(str(path), **options)]


def fails(path: Path, **options: Any) -> str:
    with pytest.raises(UserError) as found:
        pairs(path, **options)
    return str(found.value)


def text(folder: Path, name: str, content: str) -> Path:
    (folder / name).write_text(content, encoding="utf-8", newline="")
    return folder / name


def pack(path: Path, files: dict[str, str | bytes], packing: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", packing) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def get(folder: Path, **data: Any) -> Data:
    return prepare(Recipe({"data": data}, "mine.toml"), folder / "cache", root=folder)


def held(data: Data, name: str) -> list[tuple[str | None, str]]:
    return [data.splits[name].texts(row) for row in range(len(data.splits[name]))]


# --- layouts of lines


def test_scan(tmp_path: Path) -> None:
    path = text(tmp_path, "tasks.txt", SCAN)
    assert pairs(path, format="scan") == [("jump twice", "I_JUMP I_JUMP"), ("turn left", "I_TURN_LEFT")]
    assert [row.line for row in open_reader(str(path), format="scan")] == [1, 2]


def test_a_dictionary_loses_comments_and_marks_of_variants_only(tmp_path: Path) -> None:
    assert pairs(text(tmp_path, "cmu.train", DICTIONARY), format="cmudict") == ENTRIES
    path = text(tmp_path, "cmu.dict", DICTIONARY)
    assert pairs(path) == ENTRIES  # the suffix says
    assert [row.line for row in open_reader(str(path))] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("format", "good", "bad", "reason"),
    [
        ("scan", SCAN, "jump twice\tI_JUMP I_JUMP", "not an IN: ... OUT: ... line"),
        ("scan", SCAN, "IN: jump twice", "not an IN: ... OUT: ... line"),
        ("scan", SCAN, "", "not an IN: ... OUT: ... line"),
        ("scan", SCAN, "IN: OUT: I_JUMP", "an empty side"),
        ("scan", SCAN, "IN: jump OUT:", "an empty side"),
        ("cmudict", DICTIONARY, "TOMATO", "not a word and its phonemes"),
        ("cmudict", DICTIONARY, "", "not a word and its phonemes"),
        ("cmudict", DICTIONARY, "TOMATO  # a comment only", "not a word and its phonemes"),
    ],
)
def test_a_wrong_row_is_placed_or_skipped_and_counted(tmp_path: Path, format: str, good: str, bad: str, reason: str) -> None:
    path = text(tmp_path, "rows.txt", good + bad + "\n" + good)
    line = good.count("\n") + 1
    assert fails(path, format=format).startswith(f"{path}:{line}: ")
    report = Report()
    assert pairs(path, format=format, bad_rows="skip", report=report) == 2 * pairs(text(tmp_path, "good.txt", good), format=format)
    assert (report.skipped[reason].count, report.skipped[reason].places) == (1, [f"{path}:{line}"])


def test_sides_of_a_layout_can_be_turned_round_or_picked(tmp_path: Path) -> None:
    path = text(tmp_path, "tasks.txt", SCAN)
    assert pairs(path, format="scan", columns={"source": 2, "target": 1})[1] == ("I_TURN_LEFT", "turn left")
    assert pairs(path, format="scan", columns={"source": "target"}, needs_target=False)[1] == ("I_TURN_LEFT", None)
    assert "column 3 of 2" in fails(path, format="scan", columns={"source": 3})


def test_a_format_is_named_rightly_or_said(tmp_path: Path) -> None:
    path = text(tmp_path, "tasks.txt", SCAN)
    assert "did you mean 'scan'?" in fails(path, format="scna")
    assert "no format of one file" in fails(path, format="parallel")
    with pytest.raises(UserError, match="parallel files are plain text"):
        open_reader({"source": str(path), "target": str(path)}, format="scan")
    made = parse('[data]\ntrain = "tasks.txt"\nformat = "scna"\n', "mine.toml")
    with pytest.raises(UserError, match=r"mine\.toml:3: there is no reader called 'scna'"):
        prepare(made, tmp_path / "cache", root=tmp_path)
    with pytest.raises(UserError, match="'format' goes with 'train'"):
        get(tmp_path, task="copy", format="scan")


def test_a_recipe_reads_a_layout_and_reads_anew_in_another(tmp_path: Path) -> None:
    text(tmp_path, "tasks.txt", SCAN)
    data = get(tmp_path, train="tasks.txt", format="scan", source={"unit": "word"}, target={"unit": "word"})
    assert held(data, "train") == [("jump twice", "I_JUMP I_JUMP"), ("turn left", "I_TURN_LEFT")]
    assert len(data.target.encode("I_JUMP I_JUMP I_TURN_LEFT")) == 3
    other = get(tmp_path, train="tasks.txt", format="cmudict", source={"unit": "word"}, target={"unit": "word"})
    assert held(other, "train")[0] == ("IN:", "jump twice OUT: I_JUMP I_JUMP")
    assert other.fingerprint != data.fingerprint


def test_a_third_column_and_letters_with_spaces_between(tmp_path: Path) -> None:
    """NETransliteration: no suffix, the target's letters apart, a count that is not looked at."""
    path = text(tmp_path, "wd_russian_64", "falla\tф а л ь я\t2\npacha\tп а ч а\t1\n")
    assert "3 columns, expected 2: say which with data.columns" in fails(path)
    data = get(tmp_path, train=path.name, columns={"source": 1, "target": 2}, target={"unit": "word"})
    assert held(data, "train") == [("falla", "ф а л ь я"), ("pacha", "п а ч а")]
    ids = data.target.encode("ф а л ь я")
    assert len(ids) == 5
    assert data.target.decode(ids) == "ф а л ь я"
    assert data.splits["train"].lengths.tolist() == [[6, 7], [6, 6]]


# --- zip


def test_a_text_inside_a_zip(tmp_path: Path) -> None:
    others = {"spa-eng/": "", "spa-eng/_about.txt": "who\n", "__MACOSX/spa-eng/._spa.txt": b"\0\5\x16", "spa-eng/.DS_Store": b"\0"}
    path = pack(tmp_path / "spa-eng.zip", {**others, "spa-eng/spa.txt": PAIRS})
    assert pairs(path) == [("Go.", "Ve."), ("Go.", "Vete."), ("Hi.", "Hola.")]
    assert [(row.file, row.line) for row in open_reader(str(path))][-1] == (str(path), 3)
    new = pack(tmp_path / "new.zip", {"spa.txt": "Go.\tVe.\tCC-BY 2.0 (France)\n"})
    assert pairs(new, columns={"source": 1, "target": 2}) == [("Go.", "Ve.")]
    bad = pack(tmp_path / "bad.zip", {"spa.txt": PAIRS + "alone\n"})
    assert fails(bad) == f"{bad}:4: 1 column, expected 2 columns"
    assert not [file for file in tmp_path.iterdir() if file.suffix != ".zip"]  # nothing is unpacked to disk


def test_the_file_inside_a_zip_says_its_format(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", {"a.jsonl": '{"source": "a", "target": "b"}\n'})
    assert reader_for(path) == "jsonl"
    assert pairs(path) == [("a", "b")]
    assert pairs(pack(tmp_path / "b.zip", {"tasks.txt": SCAN}), format="scan")[1] == ("turn left", "I_TURN_LEFT")
    assert "save it tab-separated" in fails(pack(tmp_path / "c.zip", {"c.csv": "a,b\n"}))


def test_zips_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "2 files in the zip ('a.txt', 'b.txt'), expected one" in fails(pack(tmp_path / "a.zip", {"a.txt": "", "b.txt": ""}))
    assert "no file of rows in the zip" in fails(pack(tmp_path / "b.zip", {"_about.txt": ""}))
    assert "the file is empty" in fails(pack(tmp_path / "c.zip", {"c.txt": ""}))
    whole = pack(tmp_path / "d.zip", {"d.txt": PAIRS}, zipfile.ZIP_STORED).read_bytes()
    (tmp_path / "d.zip").write_bytes(whole.replace(b"Hola", b"hola"))  # the checksum no longer fits
    assert "the zip file is cut off or damaged" in fails(tmp_path / "d.zip")
    (tmp_path / "d.zip").write_bytes(whole[:-30])
    assert "not a readable zip file" in fails(tmp_path / "d.zip")
    locked = bytearray(whole)
    locked[6] |= 1  # the bit that says encrypted, in the file's own header and in the list at the end
    locked[whole.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "d.zip").write_bytes(locked)
    assert "has a password" in fails(tmp_path / "d.zip")
    monkeypatch.setattr(zipped, "ABSURD_SIZE", 1000)
    bomb = pack(tmp_path / "e.zip", {"e.txt": "a\tb\n" * 100_000})
    assert "would unpack to 400,000 bytes from" in fails(bomb)
    assert len(pairs(pack(tmp_path / "f.zip", {"f.txt": "".join(f"{n}\t{n * n}\n" for n in range(999))}))) == 999


# --- rows with the same source stay together


def test_variants_of_a_word_never_straddle_a_split(tmp_path: Path) -> None:
    entries = [f"WORD{n}{mark}  P{n} {mark.strip('()') or 0}" for n in range(200) for mark in ("", "(1)", "(2)")]
    text(tmp_path, "words.dict", "\n".join(entries) + "\n")
    data = get(tmp_path, train="words.dict", split={"validation": 0.2})
    train, validation = ({source for source, _ in held(data, name)} for name in ("train", "validation"))
    assert not train & validation
    assert len(train | validation) == 200
    assert 20 < len(validation) < 60
    assert len(data.splits["validation"]) == 3 * len(validation)
    again = get(tmp_path, train="words.dict", split={"validation": 0.2}, target={"unit": "word"})
    assert held(again, "validation") == held(data, "validation")


def test_a_test_file_is_compared_with_train_when_validation_is_a_share_too(tmp_path: Path) -> None:
    text(tmp_path, "train.tsv", "".join(f"w{n}\tx\n" for n in range(100)))
    text(tmp_path, "test.tsv", "".join(f"w{n}\tx\n" for n in range(90, 110)))
    data = get(tmp_path, train="train.tsv", test="test.tsv", split={"validation": 0.3})
    train = {source for source, _ in held(data, "train")}
    both = sum(f"w{n}" in train for n in range(90, 110))
    assert 0 < both < 10  # some of the ten shared words went to validation
    assert data.report.warnings == [f"{both} of 20 test rows have a source side that is in train too"]
