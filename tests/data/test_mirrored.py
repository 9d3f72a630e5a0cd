"""Training rows a second time, their pictures mirrored: pixels, targets, which rows, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image as pillow

from tests.backbones.tiny import Tiny
from tests.data.album import FEATURES, album, get
from tests.data.test_pictures import BAD
from xattend.errors import UserError
from xattend.recipe import parse


def sides(folder):
    """A picture that is red on its left, with captions that say so."""
    (folder / "photos").mkdir()
    half = np.zeros((16, 16, 3), np.uint8)
    half[:, :8, 0] = 255
    pillow.fromarray(half).save(folder / "photos" / "half.png")
    (folder / "captions.tsv").write_text("half.png\tred on the left not right\nhalf.png\tlefty\n")


def test_rows_come_twice_and_words_change_places(tmp_path):
    sides(tmp_path)
    train = get(tmp_path, mirrored=[["left", "right"]]).splits["train"]
    assert [train.texts(row) for row in range(len(train))] == [
        ("half.png", "red on the left not right"), ("half.png", "lefty"),
        ("mirrored:half.png", "red on the right not left"), ("mirrored:half.png", "lefty"),
    ]  # fmt: skip
    batch = train.batch([0, 2])
    assert batch.source.values[0].flip(-1).equal(batch.source.values[1])
    assert not batch.source.values[0].equal(batch.source.values[1])
    assert batch.source.first_B.tolist() == [0, 1]
    unchanged = get(tmp_path, mirrored=[]).splits["train"]
    assert unchanged.texts(2) == ("mirrored:half.png", "red on the left not right")


def test_features_of_both_are_kept(tmp_path):
    album(tmp_path, count=10)
    Tiny.read_so_far.clear()
    plain = get(tmp_path, source=FEATURES)
    assert len(plain.source.store) == 10
    data = get(tmp_path, source=FEATURES, mirrored=[])
    assert len(data.source.store) == 20
    for row in (0, 20):  # the album's pictures differ in their top left pixel
        name, _ = data.splits["train"].texts(row)
        assert data.splits["train"].batch([row]).source.values.equal(data.source.read([name]).values)
    assert len(get(tmp_path, source=FEATURES, mirrored=[], target={"unit": "character"}).source.store) == 20
    assert sum(Tiny.read_so_far[:2]) == 20


def test_only_training_rows_are_mirrored(tmp_path):
    album(tmp_path, count=60, captions=3)
    data = get(tmp_path, split={"validation": 0.3}, mirrored=[])
    names = {name: {split.texts(row)[0] for row in range(len(split))} for name, split in data.splits.items()}
    kept = {name for name in names["train"] if not name.startswith("mirrored:")}
    assert names["train"] == kept | {f"mirrored:{name}" for name in kept}
    assert names["validation"] == {f"{number}.png" for number in range(60)} - kept


def test_a_bad_picture_is_named_with_its_row(tmp_path):
    album(tmp_path, count=4, captions=1)
    (tmp_path / "photos" / "2.png").write_bytes(BAD["cut.jpg"][0])
    with pytest.raises(UserError) as stopped:
        get(tmp_path, mirrored=[])
    assert stopped.value.line == 3
    assert len(get(tmp_path, mirrored=[], bad_rows="skip").splits["train"]) == 6


def test_what_cannot_be_mirrored(tmp_path):
    album(tmp_path, count=2)
    with pytest.raises(UserError, match="only pictures can be mirrored"):
        get(tmp_path, mirrored=[], folder=None, source={"kind": "text"})
    with pytest.raises(UserError, match="only pictures can be mirrored"):
        get(tmp_path, mirrored=[], source={"kind": "asked", "size": 16})
    with pytest.raises(UserError, match="'rows' takes the first alone"):
        get(tmp_path, mirrored=[], rows=2)
    with pytest.raises(UserError, match="'mirrored' goes with 'train'"):
        get(tmp_path, train=None, folder=None, task="copy", source=None, target=None, mirrored=[])
    with pytest.raises(UserError, match=r"mine\.toml:2: .*mirrored"):
        parse('[data]\nmirrored = [["left"]]\n', "mine.toml").resolve()
