"""Pictures with questions: two halves of a row, read apart and batched side by side."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.data.album import album, get
from xattend import registry
from xattend.data.corpus import Data, encode_rows
from xattend.data.fields.asked import Asked
from xattend.data.fields.base import from_json
from xattend.data.fields.image import Image
from xattend.data.named import Places
from xattend.data.readers.base import Row
from xattend.errors import UserError
from xattend.types import EOS, UNK, Space

ASKED = {"kind": "asked", "size": 16}


def write(folder: Path, rows: list[tuple[str, str]]) -> None:
    album(folder)
    (folder / "asked.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in rows))


def data(folder: Path, **given: Any) -> Data:
    return get(folder, **{"train": "asked.tsv", "source": ASKED, **given})


ROWS = [("0.png|What colour is it?", "red"), ("1.png|what colour is it", "green"), ("0.png|is it red", "yes")]


def test_a_batch_has_the_picture_and_the_question_beside_it(tmp_path: Path) -> None:
    write(tmp_path, ROWS)
    found = data(tmp_path)
    assert isinstance(found.source, Asked)
    assert found.source.space == Space(features=(3, 16, 16), beside=Space(vocabulary=4 + 5))
    batch = found.splits["train"].batch([0, 1, 2])
    assert batch.source is not None
    assert batch.source.beside is not None
    assert batch.source.values.shape == (3, 1, 3, 16, 16)
    assert torch.equal(batch.source.values[0], batch.source.values[2])
    asked = [found.source.question.symbols(ids) for ids in batch.source.beside.values.tolist()]
    assert asked == [["what", "colour", "is", "it", "</s>"], ["what", "colour", "is", "it", "</s>"], ["is", "it", "red", "</s>", "<pad>"]]
    assert found.splits["train"].lengths[:, 0].tolist() == [1, 1, 1]  # questions of all lengths are mixed: a batch of one sort teaches little
    alone = batch.part(slice(2, 3)).source
    assert alone is not None
    assert alone.beside is not None
    assert alone.beside.values.shape == (1, 4)
    picture = Image(size=16)
    picture.settle(Places((tmp_path / "photos",)))
    torch.testing.assert_close(picture.read(["1.png"]).values[0], batch.source.values[1])


def test_rows_of_ones_own_are_read_alike(tmp_path: Path) -> None:
    write(tmp_path, ROWS)
    found = data(tmp_path)
    split = found.splits["train"]
    again = encode_rows(found.fields, [Row(*split.texts(row), "f", row + 1) for row in range(3)])  # type: ignore[arg-type]
    batch = split.batch([0, 1, 2])
    assert again.source is not None
    assert batch.source is not None
    assert again.source.beside is not None
    assert batch.source.beside is not None
    assert torch.equal(again.source.values, batch.source.values)
    assert torch.equal(again.source.beside.values, batch.source.beside.values)
    assert pickle.loads(pickle.dumps(found.source.collator()))([split.ids["source"][0]]).beside is not None  # type: ignore[union-attr]


def test_the_question_vocabulary_is_kept_and_that_of_train_alone(tmp_path: Path) -> None:
    write(tmp_path, ROWS)
    (tmp_path / "held.tsv").write_text("2.png|is it big\tno\n")
    found = data(tmp_path, validation="held.tsv")
    assert isinstance(found.source, Asked)
    described = found.source.to_json()
    assert described["question"]["vocabulary"] == ["is", "it", "colour", "what", "red"]
    again = from_json(described)
    assert again.to_json() == described
    assert isinstance(again, Asked)
    assert again.question.encode("is it big") == [4, 5, UNK]
    assert "1 of 3 source units of validation are unknown (33 %)" in found.report.lines()
    assert found.splits["validation"].ids["source"][0][8:].tolist() == [4, 5, UNK, EOS]


def test_a_question_is_read_as_its_settings_say() -> None:
    field = Asked(question={"unit": "character"})
    field.fit(["a.png|Ab"])
    assert field.question.symbols(field.question.encode("Ab")) == ["A", "b"]
    with pytest.raises(UserError, match="a question has no 'share'"):
        Asked(question={"share": "source"})
    with pytest.raises(UserError, match="field 'text' has no setting 'units'"):
        registry.build("field", "asked", question={"units": "word"})


@pytest.mark.parametrize("bad", ["0.png", "|is it red", "0.png|", "0.png| ?"])
def test_half_a_row_is_placed_at_its_line_or_counted(tmp_path: Path, bad: str) -> None:
    write(tmp_path, [ROWS[0], (bad, "yes")])
    with pytest.raises(UserError, match=r"write PICTURE\|QUESTION") as caught:
        data(tmp_path)
    assert (str(caught.value.file), caught.value.line) == (str(tmp_path / "asked.tsv"), 2)
    found = data(tmp_path, bad_rows="skip")
    assert len(found.splits["train"]) == 1
    assert "not a picture and a question" in "\n".join(found.report.lines())
    with pytest.raises(UserError, match=r"write PICTURE\|QUESTION") as caught:
        encode_rows(found.fields, [Row(bad, None, "typed", 7)])
    assert caught.value.line == 7


def test_pictures_that_left_the_store_are_read_again(tmp_path: Path) -> None:
    write(tmp_path, ROWS)
    before = data(tmp_path).splits["train"].batch([0, 1, 2]).source
    data(tmp_path)  # from the cache
    shutil.rmtree(tmp_path / "cache" / "features")
    after = data(tmp_path).splits["train"].batch([0, 1, 2]).source
    assert before is not None
    assert after is not None
    assert torch.equal(before.values, after.values)


def test_the_task_draws_its_pictures_once_for_all_their_questions(tmp_path: Path) -> None:
    task = {"kind": "questions", "rows": 20, "side": 32}
    found = get(tmp_path, train=None, folder=None, source=None, target=None, task=task)
    assert found.source is not None
    assert found.source.space.features == (3, 32, 32)
    batch = found.splits["train"].batch(range(4))
    assert batch.source is not None
    assert all(torch.equal(batch.source.values[0], picture) for picture in batch.source.values)  # four questions about one picture
