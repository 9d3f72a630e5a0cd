"""`xattend align`: links beside a gold alignment and beside the statistical aligner. (What the links are is in test_predict.py.)"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import COPY, Xattend, trained

BOOKS = "das Haus\tthe house\ndas Buch\tthe book\nein Buch\ta book\n"


@pytest.fixture
def books(tmp_path: Path) -> Path:
    (tmp_path / "books.tsv").write_text(BOOKS)
    return tmp_path / "books.tsv"


def test_statistics_alone(xattend: Xattend, books: Path) -> None:
    answer = xattend("align", "--file", books, "--statistical")
    assert (answer.code, answer.lines, answer.err) == (0, ["0-0 1-1"] * 3, "")
    records = [json.loads(line) for line in xattend("align", "--file", books, "--statistical", "--format", "json").lines]
    assert records[1]["source"] == ["das", "Buch"]
    assert records[1]["pairs"] == [[0, 0], [1, 1]]
    assert records[1]["weights"][0][0] > 0.9
    letters = xattend("align", "--file", books, "--statistical", "--format", "json", "--units")
    assert json.loads(letters.lines[0])["target"] == list("the house")


def test_statistics_alone_need_no_torch(books: Path) -> None:
    program = "import sys; from xattend.cli import cli; cli.main(sys.argv[1:], standalone_mode=False); print('torch' in sys.modules)"
    words = [sys.executable, "-c", program, "align", "--file", str(books), "--statistical"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[-1] == "False"


def test_more_rows_and_other_columns(xattend: Xattend, tmp_path: Path, books: Path) -> None:
    (tmp_path / "one.tsv").write_text("the house\tdas Haus\n")
    (tmp_path / "more.tsv").write_text("".join("\t".join(reversed(line.split("\t"))) + "\n" for line in BOOKS.splitlines()))
    words = ["align", "--file", tmp_path / "one.tsv", "--statistical", "--columns", "2,1", "--with", tmp_path / "more.tsv"]
    assert xattend(*words).lines == ["0-0 1-1"]


def test_symmetrising(xattend: Xattend, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("im Haus\tin the house\nim Garten\tin the garden\nein Haus\ta house\nein Garten\ta garden\n")
    found = {}
    for heuristic in ("intersection", "union", "grow-diag-final-and"):
        lines = xattend("align", "--file", tmp_path / "in.tsv", "--statistical", "--symmetrise", heuristic).lines
        found[heuristic] = [set(line.split()) for line in lines]
    assert xattend("align", "--file", tmp_path / "in.tsv", "--statistical").lines == [
        " ".join(sorted(links)) for links in found["grow-diag-final-and"]
    ]
    for few, some, many in zip(found["intersection"], found["grow-diag-final-and"], found["union"], strict=True):
        assert few <= some <= many
    assert found["intersection"][0] < found["union"][0]  # one of 'in' and 'the' belongs to 'im' in one direction alone


def test_gold_by_hand(xattend: Xattend, tmp_path: Path, books: Path) -> None:
    # A = 0-0 1-1 three times; S = 4 + 1, of which A has 4; P has one more of A: AER = 1 - (4 + 5) / (6 + 5)
    (tmp_path / "gold").write_text("0-0 1-1\n0-0 1-1\n1?1 0-1\n")
    answer = xattend("align", "--file", books, "--statistical", "--gold", tmp_path / "gold")
    assert answer.lines == ["0-0 1-1"] * 3
    said = f"statistical aligner beside {tmp_path / 'gold'}: precision 0.8333, recall 0.8000, AER 0.1818 (3 rows)\n"
    assert answer.err == said
    answer = xattend("align", "--file", books, "--statistical", "--gold", tmp_path / "gold", "--scores")
    assert answer.err == ""
    record = json.loads(answer.out)
    assert record == {"rows": 3, "links": 6, "gold": pytest.approx({"precision": 5 / 6, "recall": 4 / 5, "error_rate": 2 / 11})}


def test_attention_beside_gold_and_statistics(xattend: Xattend, subword_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("katze und hund\tKATZE HUND\nder hund\tDER HUND\n")
    own = xattend("align", subword_run, "--file", tmp_path / "in.tsv")
    (tmp_path / "gold").write_text(own.out)
    words = ["align", subword_run, "--file", tmp_path / "in.tsv", "--gold", tmp_path / "gold"]
    answer = xattend(*words)
    assert answer.out == own.out
    assert "precision 1.0000, recall 1.0000, AER 0.0000 (2 rows)" in answer.err
    record = json.loads(xattend(*words, "--statistical", "--with", subword_run.parent / "pairs.tsv", "--scores").out)
    assert record["gold"] == {"precision": 1.0, "recall": 1.0, "error_rate": 0.0}
    # the statistical aligner beside the attention's links as gold: its F1 with them is 1 - AER, as all links are sure
    assert record["statistical_beside_gold"]["error_rate"] == pytest.approx(1 - record["statistical"]["f1"])
    assert record["links"] == 4
    text = xattend(*words, "--statistical").err.splitlines()
    gold = tmp_path / "gold"
    titles = [f"attention beside {gold}", "attention beside the statistical aligner", f"statistical aligner beside {gold}"]
    assert [line.split(":")[0] for line in text] == titles
    assert "F1" in text[1]


def test_units_are_counted_in_units(xattend: Xattend, subword_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("katze und hund\tKATZE HUND\n")
    own = xattend("align", subword_run, "--file", tmp_path / "in.tsv", "--units")
    (tmp_path / "gold").write_text(own.out)
    assert "AER 0.0000" in xattend("align", subword_run, "--file", tmp_path / "in.tsv", "--units", "--gold", tmp_path / "gold").err
    refused = xattend("align", subword_run, "--file", tmp_path / "in.tsv", "--gold", tmp_path / "gold")
    assert (refused.code, refused.out) == (2, "")
    assert f"{tmp_path / 'gold'}:1: link" in refused.err


def test_one_layer_or_head_of_a_transformer(xattend: Xattend, runs: Path, tmp_path: Path) -> None:
    size = 'kind = "transformer"\nsize = 8\nlayers = 2\nheads = 2\ninner = 8\n'
    recipe = f'{COPY}\n[encoder]\n{size}[attention]\nkind = "multi-head"\nheads = 2\n[decoder]\n{size}[training]\nsteps = 3\n'
    run, rows = trained(runs, recipe, "layers"), tmp_path / "in.tsv"
    rows.write_text("a b c\ta b c\nb a\tb a\n")

    def weights(*words: str) -> list[np.ndarray]:
        answer = xattend("align", run, "--file", rows, "--format", "json", *words)
        assert answer.code == 0, answer.err
        return [np.array(json.loads(line)["weights"]) for line in answer.lines]

    one, two, all_of_them = weights("--heads", "layer 1"), weights("--heads", "Layer 2"), weights()
    heads = [weights("--heads", f"layer 2, head {head}") for head in (1, 2)]
    for row in range(2):
        assert np.allclose((one[row] + two[row]) / 2, all_of_them[row], atol=1e-5)
        assert np.allclose((heads[0][row] + heads[1][row]) / 2, two[row], atol=1e-5)
        assert not np.allclose(one[row], two[row], atol=1e-4)
    wrong = xattend("align", run, "--file", rows, "--heads", "layer 9")
    assert (wrong.code, "no head is called 'layer 9'" in wrong.err) == (2, True)


def test_bad_gold(xattend: Xattend, copy_run: Path, tmp_path: Path, books: Path) -> None:
    gold = tmp_path / "gold"
    for content, said in {
        "0-0\n0-0\n": f"{gold}:3: 2 lines, but {books} has 3 rows",
        "0-0\n0-0\n0-0\n0-0\n": f"{gold}:4: 4 lines, but {books} has 3 rows",
        "0-0\n0-0 1:1\n0-0\n": f"{gold}:2: '1:1' is not a link",
        "0-0\n0-0\n0-0 2p1\n": f"{gold}:3: link 2-1: the source side of this row has 2 words",
    }.items():
        gold.write_text(content)
        for run in ([], [copy_run]):
            answer = xattend("align", *run, "--file", books, "--gold", gold, *([] if run else ["--statistical"]))
            assert (answer.code, answer.out) == (2, "")
            if not run or "link" not in said:
                assert said in answer.err


def test_a_row_too_long_to_learn_from(xattend: Xattend, tmp_path: Path, books: Path) -> None:
    (tmp_path / "long.tsv").write_text("a\tb\n" + "a " * 1001 + "\tb\n")
    answer = xattend("align", "--file", books, "--statistical", "--with", tmp_path / "long.tsv")
    assert (answer.code, answer.out) == (2, "")
    assert f"{tmp_path / 'long.tsv'}:2: 1001 and 1 words: the statistical aligner takes up to 1000 a side" in answer.err


@pytest.mark.parametrize(("words", "said"), [
    ([], "--statistical to align without a model"),
    (["--statistical", "--heads", "head 1"], "--heads names heads of a model"),
    (["RUN", "--with", "x"], "--with has rows for --statistical"),
    (["RUN", "--symmetrise", "union"], "--symmetrise goes with --statistical"),
    (["RUN", "--scores"], "something to compare with"),
    (["--statistical", "--scores"], "something to compare with"),
    (["--statistical", "--gold", "x", "--scores", "--format", "json"], "leave --format out"),
    (["--statistical", "--gold", "none"], "none: cannot be read"),
    (["--statistical", "--with", "none"], "no such file"),
])  # fmt: skip
def test_bad_options(xattend: Xattend, books: Path, words: list[str], said: str) -> None:
    answer = xattend("align", "--file", books, *words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
