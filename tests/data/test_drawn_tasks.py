"""Tasks that draw: the same pixels every time, nothing that leaks between splits, mistakes that are named."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from tests.data.drawn import TASKS, digest, picture, rows_of
from xattend import registry
from xattend.drawing import sheet
from xattend.errors import UserError


@pytest.mark.parametrize("name", TASKS)
def test_rows_are_fixed_and_no_picture_is_in_two_splits(name):
    rows = rows_of(name, rows=300)
    assert rows == rows_of(name, rows=300)
    assert rows != rows_of(name, rows=300, seed=2)
    assert len(rows["train"]) == 300
    pictures = {split: {source.partition("|")[0] for source, _ in found} for split, found in rows.items()}
    assert not pictures["train"] & (pictures["validation"] | pictures["test"])
    assert not pictures["validation"] & pictures["test"]
    assert all(len(set(found)) == len(found) for found in rows.values())


@pytest.mark.parametrize("name", TASKS)
def test_pictures_are_drawn_from_their_texts_alone(name):
    rows = [source for source, _ in rows_of(name, rows=20)["train"]]
    first = [digest(picture(source)) for source in rows]
    assert first[::-1] == [digest(picture(source)) for source in rows[::-1]]
    assert len(set(first)) == len({source.partition("|")[0] for source in rows})
    frames = picture(rows[0])
    assert all(frame.dtype == np.uint8 and frame.shape == frames[0].shape and frame.shape[2] == 3 for frame in frames)


@pytest.mark.parametrize(("name", "spec"), [
    ("scenes", "red circle 12 40"), ("scenes", "pink circle 12 40 9"), ("scenes", "red circel 12 40 9"), ("scenes", "red circle 5 40 9"),
    ("scenes", ""), ("scenes", "8;red circle 4 4 2"), ("questions", "red circle 12|is it"), ("words", "oslo"),
    ("words", "oslo gothic 32x100 straight 1"), ("words", "oslo plain 1x100 straight 1"),
    ("moving-digits", "20 64;3 plain 20 0 1 1 1 up up"), ("moving-digits", "20 64 1"),
    ("moving-digits", "20 64 1;3 plain 20 0 1 1 1 up up"), ("moving-digits", "20 64 1;3 gothic 20 0 1 40 1 up up"), ("copy", "a b"),
])  # fmt: skip
def test_a_text_that_describes_no_picture_is_the_users_error(name, spec):
    with pytest.raises(UserError):
        registry.find("task", name).draw(spec)


@pytest.mark.parametrize(("name", "given"), [
    ("scenes", {"fewest": 3, "most": 2}), ("questions", {"fewest": 3, "most": 2}), ("words", {"shortest": 9, "longest": 3}),
    ("words", {"alphabet": "äö"}), ("words", {"alphabet": ""}),
    ("words", {"fonts": []}), ("words", {"fonts": ["gothic"]}), ("moving-digits", {"fonts": []}),
    ("moving-digits", {"frames": 60}),
])  # fmt: skip
def test_settings_that_cannot_be_are_refused(name, given):
    with pytest.raises(UserError):
        registry.build("task", name, **given)


def test_too_few_pictures_or_words_are_said():
    with pytest.raises(UserError, match="different scenes of 1 to 1 things: set fewer 'rows'"):
        rows_of("scenes", rows=20_000, fewest=1, most=1)
    with pytest.raises(UserError, match="different words were found"):
        rows_of("words", rows=100, alphabet="ab", longest=3)

@pytest.mark.parametrize("name", TASKS)
def test_contact_sheet(name, tmp_path):
    result = CliRunner().invoke(sheet.main, [name, str(tmp_path / "sheet.png"), "--pictures", "3", "--columns", "2", "-s", "rows=20"])
    assert result.exit_code == 0, result.output
    with Image.open(tmp_path / "sheet.png") as image:
        assert image.width >= 2 * sheet.NARROWEST
    wrong = CliRunner().invoke(sheet.main, [name, str(tmp_path / "x.png"), "-s", "rows"])
    assert wrong.exit_code == 1
    assert "KEY=VALUE" in wrong.output
