"""Readers: every format gives the same rows, and every kind of bad input one clear line."""

from __future__ import annotations

import builtins
import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from xattend.data.readers.base import open_reader
from xattend.data.readers.lines import LIMIT
from xattend.data.report import Report
from xattend.errors import UserError

GOOD = [("ein hund", "a dog"), ("zwei\u2028katzen", "two\x0bcats\x85"), ("drei", "three")]


def write(folder: Path, name: str, data: bytes | str) -> Path:
    data = data.encode() if isinstance(data, str) else data
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def pairs(place, **options):
    return [(row.source, row.target) for row in open_reader(place, **options)]


def fails(place, **options) -> str:
    with pytest.raises(UserError) as found:
        list(open_reader(place, **options))
    said = str(found.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_every_text_format_reads_the_same_rows(tmp_path, packed):
    tsv = write(tmp_path, f"a.tsv{packed}", "".join(f"{s}\t{t}\n" for s, t in GOOD))
    jsonl = write(tmp_path, f"a.jsonl{packed}", "".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in GOOD))
    left = write(tmp_path, f"a.de{packed}", "".join(f"{s}\n" for s, _ in GOOD))
    right = write(tmp_path, f"a.en{packed}", "".join(f"{t}\n" for _, t in GOOD).removesuffix("\n"))
    assert pairs(str(tsv)) == GOOD
    assert pairs(str(jsonl)) == GOOD
    assert pairs({"source": str(left), "target": str(right)}) == GOOD


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"n": [1, 2, 3], "source": [s for s, _ in GOOD], "target": [t for _, t in GOOD]})
    path = tmp_path / "a.parquet"
    parquet.write_table(table, path)
    assert pairs(str(path)) == GOOD
    assert pairs(str(path), columns={"source": 3, "target": "source"}) == [(t, s) for s, t in GOOD]
    assert "column 'n' is not text but int64" in fails(str(path), columns={"source": "n"})
    assert "no column 'sorce'" in fails(str(path), columns={"source": "sorce"})
    parquet.write_table(pyarrow.table({"source": ["a", None], "target": ["b", "c"]}), path)
    assert fails(str(path)) == f"{path}:2: the source side is null"
    write(tmp_path, "a.parquet", b"PAR1 not really")
    assert "not a readable parquet file" in fails(str(path))


def test_parquet_without_pyarrow_says_how_to_get_it(tmp_path, monkeypatch):
    path = write(tmp_path, "a.parquet", b"")
    real = builtins.__import__

    def missing(name, *rest, **more):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert "pip install 'xattend[parquet]'" in fails(str(path))


def test_crlf_and_byte_order_mark_are_taken_off(tmp_path):
    path = write(tmp_path, "a.tsv", b"\xef\xbb\xbfa\tb\r\nc\td\r\n")
    assert pairs(str(path)) == [("a", "b"), ("c", "d")]


def test_a_row_knows_its_place(tmp_path):
    path = write(tmp_path, "a.tsv", "a\tb\nc\td\n")
    assert [(row.file, row.line) for row in open_reader(str(path))] == [(str(path), 1), (str(path), 2)]


def test_columns_of_tsv(tmp_path):
    path = write(tmp_path, "a.tsv", "id\tde\ten\n1\tein\tone\n2\tzwei\ttwo\n")
    assert pairs(str(path), columns={"source": "de", "target": "en"}) == [("ein", "one"), ("zwei", "two")]
    assert pairs(str(path), columns={"source": 3, "target": 2})[1:] == [("one", "ein"), ("two", "zwei")]
    assert "3 columns, expected 2: say which with data.columns" in fails(str(path))
    assert "column 4 of 3" in fails(str(path), columns={"source": 1, "target": 4})
    assert "did you mean 'en'?" in fails(str(path), columns={"source": "de", "target": "eng"})


def test_one_column_needs_no_target(tmp_path):
    path = write(tmp_path, "a.txt", "ein\nzwei\n")
    assert pairs(str(path), needs_target=False) == [("ein", None), ("zwei", None)]
    assert fails(str(path)).endswith("a.txt:1: 1 column, expected 2: put a tab between source and target")
    assert pairs({"source": str(path)}, needs_target=False) == [("ein", None), ("zwei", None)]


BAD_ROWS = [
    ("a.tsv", b"a\tb\nc\xff\td\n", "not valid UTF-8 (byte 0xff at byte 2 of the line)", "not valid UTF-8"),
    ("a.tsv", b"a\tb\nc\n", "1 column, expected 2 columns", "wrong number of columns"),
    ("a.tsv", b"a\tb\nc\td\te\n", "3 columns, expected 2 columns", "wrong number of columns"),
    ("a.tsv", b"a\tb\n\n", "an empty line, expected 2 columns", "wrong number of columns"),
    ("a.tsv", b"a\tb\n \td\n", "the source side is empty", "an empty side"),
    ("a.tsv", b"a\tb\nc\t\n", "the target side is empty", "an empty side"),
    ("a.tsv", b"a\tb\nc\0\td\n", "a NUL byte", "a NUL byte"),
    ("a.tsv", b"a\tb\nc\t" + b"d" * (LIMIT + 1) + b"\n", "more than 1,000,000 characters", "a line too long"),
    ("a.tsv", b"a\tb\nc\t" + b"d" * 9 * LIMIT + b"\n", "more than 1,000,000 characters", "a line too long"),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": \n', "not valid JSON", "not valid JSON"),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n' + b"[" * 100_000 + b"\n", "not valid JSON", "not valid JSON"),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n["a", "b"]\n', "not a JSON object", "not a JSON object"),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": "c"}\n', "the key 'target' is missing", "a missing key"),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": "c", "target": 7}\n', "not text but int", "a value that is not text"),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": "c", "target": ""}\n', "target side is empty", "an empty side"),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": "c", "target": "\\u0000"}\n', "a NUL character", "a NUL byte"),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": "c", "target": "\\ud800"}\n', "half a surrogate", "half a character"),
]


@pytest.mark.parametrize(("name", "data", "message", "reason"), BAD_ROWS)
def test_a_bad_row_stops_with_its_line_or_is_skipped_and_counted(tmp_path, name, data, message, reason):
    good = b"x\ty\n" if name == "a.tsv" else b'{"source": "x", "target": "y"}\n'
    path = write(tmp_path, name, data + good)
    said = fails(str(path))
    assert said.startswith(f"{path}:2: ")
    assert message in said
    report = Report()
    assert pairs(str(path), bad_rows="skip", report=report) == [("a", "b"), ("x", "y")]
    assert (report.skipped[reason].count, report.skipped[reason].places) == (1, [f"{path}:2"])
    assert report.lines() == [f"1 row skipped: {reason} (first at {path}:2)"]


def test_a_skipped_line_keeps_parallel_files_in_step(tmp_path):
    left, right = write(tmp_path, "l", b"a\nb\xff\nc\nd\n"), write(tmp_path, "r", b"1\n2\n\n4\n")
    report = Report()
    assert pairs({"source": str(left), "target": str(right)}, bad_rows="skip", report=report) == [("a", "1"), ("d", "4")]
    assert {reason: s.places for reason, s in report.skipped.items()} == {
        "not valid UTF-8": [f"{left}:2"],
        "an empty side": [f"{right}:3"],
    }


def test_unequal_parallel_files(tmp_path):
    left, right = write(tmp_path, "l", "a\nb\nc\n"), write(tmp_path, "r", "1\n")
    assert fails({"source": str(left), "target": str(right)}) == (
        f"{left}:2: 3 lines, but {right} has 1: parallel files must match line by line"
    )
    assert "1 lines, but" in fails({"source": str(right), "target": str(left)}, bad_rows="skip")


def test_an_empty_file(tmp_path):
    for name, data in {"a.tsv": b"", "b.tsv": b"\xef\xbb\xbf", "c.jsonl": b"", "d.tsv.gz": b""}.items():
        assert "the file is empty" in fails(str(write(tmp_path, name, data)))
    assert "the file is empty" in fails(str(write(tmp_path, "e.tsv", "s\tt\n")), columns={"source": "s", "target": "t"})


def test_all_rows_bad_is_said_even_when_skipping(tmp_path):
    assert "none of its 2 rows can be used: 2 rows skipped: an empty side" in fails(
        str(write(tmp_path, "a.tsv", "a\t\n\tb\n")), bad_rows="skip"
    )


def test_damaged_gzip(tmp_path):
    whole = gzip.compress("".join(f"{n}\t{n * n}\n" for n in range(5000)).encode())
    cut = tmp_path / "cut.tsv.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    assert "the gzip file is cut off or damaged" in fails(str(cut))
    flipped = bytearray(whole)
    flipped[-8] ^= 0xFF  # the checksum
    cut.write_bytes(flipped)
    assert "the gzip file is cut off or damaged" in fails(str(cut))
    cut.write_bytes(b"plain\ttext\n")
    assert "the gzip file is cut off or damaged" in fails(str(cut))


def test_a_missing_file_names_both_places(tmp_path, monkeypatch):
    recipe, data = tmp_path / "recipe", tmp_path / "data"
    recipe.mkdir()
    data.mkdir()
    assert fails("x.tsv", root=recipe, data_dir=data) == f"no such file: not {recipe / 'x.tsv'} and not {data / 'x.tsv'}"
    assert "--data DIR" in fails("x.tsv", root=recipe)
    write(data, "x.tsv", "from\tdata\n")
    assert pairs("x.tsv", root=recipe, data_dir=data) == [("from", "data")]
    monkeypatch.setenv("XATTEND_DATA", str(data))
    assert pairs("x.tsv", root=recipe) == [("from", "data")]
    write(recipe, "x.tsv", "from\trecipe\n")
    assert pairs("x.tsv", root=recipe, data_dir=data) == [("from", "recipe")]


def test_wrong_places(tmp_path):
    (tmp_path / "d.tsv").mkdir()
    assert fails("d.tsv", root=tmp_path) == f"{tmp_path / 'd.tsv'}: a directory, not a file of rows (format = \"classes\" reads a folder of pictures, sorted into a folder a class)"
    write(tmp_path, "a.csv", "a,b\n")
    assert "save it tab-separated as .tsv" in fails("a.csv", root=tmp_path)
    path = write(tmp_path, "a.tsv", "a\tb\n")
    assert "not 'targets'" in fails({"source": str(path), "targets": str(path)})
    assert "need 'source'" in fails({"target": str(path)})
    assert "need a 'target'" in fails({"source": str(path)})
    assert "parallel files have none" in fails({"source": str(path), "target": str(path)}, columns={"source": 1})


def test_a_line_of_100_megabytes_is_never_held(tmp_path):
    path = tmp_path / "long.tsv"
    with path.open("wb") as stream:
        stream.write(b"a\tb\n")
        stream.seek(100_000_000)  # a sparse file: the line is one long run of NUL bytes
        stream.write(b"\nc\td\n")
    tracemalloc.start()
    try:
        report = Report()
        assert pairs(str(path), bad_rows="skip", report=report) == [("a", "b"), ("c", "d")]
        assert list(report.skipped) == ["a line too long"]
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()
    assert f"{path}:2: a line of more than" in fails(str(path))
