"""Pictures in a data set: read once, kept by content, bad ones placed at their caption's line, found again for predicting."""

from __future__ import annotations

import pickle
import shutil
from typing import ClassVar

import numpy as np
import pytest
import torch
from PIL import Image as pillow

from tests.backbones.tiny import Tiny
from tests.data.album import COLOURS, FEATURES, PIXELS, WORDS, album, get
from tests.data.test_pictures import BAD
from xattend.data import pictures
from xattend.data.corpus import encode_rows, prepare
from xattend.data.fields.base import from_json
from xattend.data.fields.image import Image
from xattend.data.named import Places
from xattend.data.readers.base import Row
from xattend.data.tasks.base import Task
from xattend.errors import UserError
from xattend.recipe import Recipe, parse
from xattend.registry import register
from xattend.types import Space


@register("task", "stripes-for-tests")
class Stripes(Task):
    """Draws stripes: `3` is a picture, `3 4` a film of two frames."""

    source: ClassVar = {"kind": "image", "size": 8, "crop": "none"}
    target: ClassVar = WORDS

    def splits(self):
        return {name: ((f"stripes-for-tests:{n}", f"number {n}") for n in numbers) for name, numbers in
                {"train": range(1, 6), "validation": range(6, 8), "test": range(8, 9)}.items()}  # fmt: skip

    @staticmethod
    def draw(spec: str) -> list[np.ndarray]:
        if not spec.replace(" ", "").isdigit():
            raise UserError(f"'{spec}' is no number")
        frames = []
        for number in spec.split():
            frame = np.zeros((8, 8, 3), np.uint8)
            frame[:: int(number)] = 255
            frames.append(frame)
        return frames


# --- a data set


def test_rows_come_back_as_pixels(tmp_path):
    rows = album(tmp_path)
    data = get(tmp_path)
    train = data.splits["train"]
    assert train.media
    assert data.source.space == Space(features=(3, 16, 16))
    assert [train.texts(row) for row in range(20)] == rows
    assert train.lengths[:, 0].tolist() == [1] * 20
    batch = train.batch([0, 3, 0])
    assert batch.source.values.shape == (3, 1, 3, 16, 16)
    assert batch.source.mask_BS.tolist() == [[True]] * 3
    for place, name in ((0, "red"), (1, "green"), (2, "red")):
        wanted = torch.tensor(COLOURS[name]) / 255
        torch.testing.assert_close(batch.source.values[place, 0, :, 8, 8], wanted, atol=0.02, rtol=0)
    assert batch.part(slice(0, 1)).source.values.shape == (1, 1, 3, 16, 16)
    assert data.report.lines() == []


def test_a_picture_is_read_once_however_many_captions_it_has(tmp_path, decoded):
    album(tmp_path, count=10, captions=5)
    data = get(tmp_path)
    assert sorted(decoded) == sorted((tmp_path / "photos").iterdir())
    get(tmp_path, target={"unit": "character"})  # another data set of the same pictures
    get(tmp_path)
    assert len(decoded) == 10
    assert len(data.source.store) == 10
    get(tmp_path, source={**PIXELS, "grey": True})
    assert len(decoded) == 20


def test_features_are_computed_together_and_kept(tmp_path):
    album(tmp_path, count=40)
    Tiny.read_so_far.clear()
    data = get(tmp_path, source=FEATURES)
    assert Tiny.read_so_far == [32, 8]
    assert data.source.space == Space(features=(5,), grid=(2, 2))
    batch = data.splits["train"].batch([4, 0])
    assert batch.source.values.shape == (2, 4, 5)
    assert batch.source.values.dtype == torch.float32
    pixels = pictures.read(tmp_path / "photos" / "2.png", (16, 16), "center", max_pixels=10**6)
    normal = (torch.from_numpy(pixels).float() / 255 - 0.5) / torch.tensor([0.25, 0.5, 1.0]).view(3, 1, 1)
    network = Tiny().network
    with torch.no_grad():
        by_hand = network(normal[None])[0].flatten(1).T
    torch.testing.assert_close(batch.source.values[0], by_hand, atol=5e-3, rtol=5e-3)  # kept in 16 bits
    get(tmp_path, source=FEATURES, target={"unit": "character"})
    assert Tiny.read_so_far == [32, 8]
    middle = get(tmp_path, source={**FEATURES, "stage": "middle"})
    assert middle.source.space == Space(features=(4,), grid=(4, 4))
    assert Tiny.read_so_far == [32, 8, 32, 8]


def test_the_same_picture_under_two_names_is_kept_once(tmp_path):
    album(tmp_path, count=3)
    shutil.copy(tmp_path / "photos" / "0.png", tmp_path / "photos" / "again.png")
    with (tmp_path / "captions.tsv").open("a") as stream:
        stream.write("again.png\tthe first once more\n")
    data = get(tmp_path)
    assert len(data.source.store) == 3
    train = data.splits["train"]
    assert train.batch([0]).source.values.equal(train.batch([6]).source.values)


def test_shares_keep_a_pictures_captions_together(tmp_path):
    album(tmp_path, count=60, captions=3)
    data = get(tmp_path, split={"validation": 0.3})
    held = {name: {split.texts(row)[0] for row in range(len(split))} for name, split in data.splits.items()}
    assert not held["train"] & held["validation"]
    assert len(held["train"] | held["validation"]) == 60
    assert len(data.splits["validation"]) == 3 * len(held["validation"]) > 15


def test_held_out_files_are_compared_by_name(tmp_path):
    album(tmp_path, count=5)
    (tmp_path / "val.tsv").write_text("0.png\tred\n0.png\tred again\n4.png\tblack\n")
    shutil.copy(tmp_path / "photos" / "0.png", tmp_path / "photos" / "9.png")
    lines = get(tmp_path, validation="val.tsv").report.lines()
    assert "warning: 3 of 3 validation rows have a source side that is in train too" in lines


def test_what_an_embedded_task_draws(tmp_path):
    data = prepare(Recipe({"data": {"task": "stripes-for-tests"}}, "m.toml"), tmp_path / "cache", root=tmp_path)
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 5, "validation": 2, "test": 1}
    values = data.splits["train"].batch([2]).source.values[0, 0]
    assert values[:, :, 0].tolist() == [[1.0, 0, 0, 1, 0, 0, 1, 0]] * 3
    (tmp_path / "rows.tsv").write_text("stripes-for-tests:2 5\ta film\nstripes-for-tests:7\tseven\n")
    film = get(tmp_path, train="rows.tsv", folder=None, source={"kind": "image", "size": 8, "crop": "none"})
    assert film.report.lines() == ["1 picture with several frames: the first is read"]
    assert film.splits["train"].batch([0]).source.values[0, 0, 0, :, 0].tolist() == [1, 0, 1, 0, 1, 0, 1, 0]
    (tmp_path / "rows.tsv").write_text("stripes-for-tests:x\ta film\n")
    with pytest.raises(UserError, match=r"rows\.tsv:1: 'stripes-for-tests:x' cannot be drawn: 'x' is no number"):
        get(tmp_path, train="rows.tsv", folder=None)
    (tmp_path / "rows.tsv").write_text("copy:x\tno picture\n")
    with pytest.raises(UserError, match="this task draws none"):
        get(tmp_path, train="rows.tsv", folder=None)


def test_a_split_of_pictures_is_cheap_to_send(tmp_path):
    album(tmp_path)
    split = get(tmp_path).splits["train"]
    values = split.batch([1]).source.values
    sent = pickle.dumps(split)
    assert len(sent) < 3000
    assert pickle.loads(sent).batch([1]).source.values.equal(values)


# --- bad pictures


@pytest.mark.parametrize("name", [*BAD, "missing.jpg"])
def test_a_bad_picture_stops_at_its_captions_line_or_is_skipped_and_counted(tmp_path, name):
    rows = album(tmp_path, count=3)
    if name in BAD:
        (tmp_path / "photos" / name).write_bytes(BAD[name][0])
    with (tmp_path / "captions.tsv").open("a") as stream:
        stream.write(f"{name}\tone caption\n{name}\tanother\n")
    with pytest.raises(UserError) as found:
        get(tmp_path)
    assert (found.value.file, found.value.line) == (str(tmp_path / "captions.tsv"), 7)
    assert name in str(found.value)
    assert not list((tmp_path / "cache").glob(".building*"))
    data = get(tmp_path, bad_rows="skip")
    assert [data.splits["train"].texts(row) for row in range(6)] == rows
    (line,) = data.report.lines()
    assert line.startswith("2 rows skipped: ")
    assert line.endswith(f"(first at {tmp_path / 'captions.tsv'}:7, {name}, then {tmp_path / 'captions.tsv'}:8, {name})")
    for number, line in enumerate(data.report.lines(each=True)[1:], 7):
        assert line.startswith(f"  {tmp_path / 'captions.tsv'}:{number}, {name}: ")


def test_no_good_picture_at_all(tmp_path):
    album(tmp_path, count=2)
    shutil.rmtree(tmp_path / "photos")
    (tmp_path / "photos").mkdir()
    with pytest.raises(UserError, match="no row of train can be used: 4 rows skipped: a picture that is not there"):
        get(tmp_path, bad_rows="skip")


def test_a_limit_holds_for_pictures_that_are_known_already(tmp_path):
    album(tmp_path)
    get(tmp_path)
    with pytest.raises(UserError, match=r"captions\.tsv:1: .*max_pixels = 100"):
        get(tmp_path, source={**PIXELS, "max_pixels": 100})


def test_animations_are_counted_also_when_they_are_known(tmp_path):
    album(tmp_path, count=2)
    frames = [pillow.new("RGB", (16, 16), colour) for colour in COLOURS.values()]
    frames[0].save(tmp_path / "photos" / "a.gif", save_all=True, append_images=frames[1:])
    with (tmp_path / "captions.tsv").open("a") as stream:
        stream.write("a.gif\tmoves\na.gif\tmoves\n")
    for target in (WORDS, {"unit": "character"}):
        assert get(tmp_path, target=target).report.lines() == ["1 picture with several frames: the first is read"]


def test_mistakes_in_the_settings(tmp_path):
    album(tmp_path, count=2)
    with pytest.raises(UserError, match="'image' can be read, not written"):
        get(tmp_path, target=PIXELS)
    with pytest.raises(UserError, match="no such folder: not "):
        get(tmp_path, folder="fotos")
    with pytest.raises(UserError, match="'folder' is for pictures"):
        get(tmp_path, source={"kind": "text"})
    with pytest.raises(UserError, match="'folder' goes with 'train'"):
        get(tmp_path, train=None, task="copy", source=None, target=None)
    with pytest.raises(UserError, match="reads pictures of 16 x 16: set size = 16"):
        get(tmp_path, source={**FEATURES, "size": 32})
    with pytest.raises(UserError, match="has no stage 'lsat': did you mean 'last'"):
        get(tmp_path, source={**FEATURES, "stage": "lsat"})
    with pytest.raises(UserError, match="go with 'backbone'"):
        get(tmp_path, source={**PIXELS, "stage": "last"})
    with pytest.raises(UserError, match="reads colours"):
        get(tmp_path, source={**FEATURES, "grey": True})
    made = parse('[data]\ntrain = "captions.tsv"\nfolder = "photos"\n\n[data.source]\nkind = "image"\nbackbone = "nte"\n', "mine.toml")
    with pytest.raises(UserError, match=r"mine\.toml:5: there is no backbone called 'nte'"):
        made.resolve()


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    album(tmp_path, count=2)
    monkeypatch.setitem(__import__("sys").modules, "efficientnet_lite_pytorch", None)
    with pytest.raises(UserError, match=r"pip install 'xattend\[vision\]'"):
        get(tmp_path, source={"kind": "image", "backbone": "efficientnet-lite0"})


def test_pictures_beside_the_recipe_need_no_folder(tmp_path):
    rows = album(tmp_path, count=2)
    (tmp_path / "captions.tsv").write_text("".join(f"photos/{s}\t{t}\n" for s, t in rows))
    assert len(get(tmp_path, folder=None).splits["train"]) == 4


# --- rows of a user's own


def test_reading_uses_the_store_and_each_picture_once(tmp_path, decoded):
    album(tmp_path, count=4)
    data = get(tmp_path)
    del decoded[:]
    rows = [Row(name, None, "f", 1) for name in ("0.png", "3.png", "0.png")]
    batch = encode_rows(data.fields, rows)
    assert batch.source.values.equal(data.splits["train"].batch([0, 6, 0]).source.values)
    assert decoded == []
    field = from_json(data.source.to_json())
    field.settle(Places((tmp_path / "photos",), (), tmp_path / "no" / "cache"))
    assert encode_rows((field, data.target), rows).source.values.equal(batch.source.values)
    assert len(decoded) == 2
    assert not (tmp_path / "no").exists()  # nothing is written


def test_features_for_reading_are_made_in_batches(tmp_path):
    album(tmp_path, count=40)
    Tiny.read_so_far.clear()
    field = Image(**{k: v for k, v in FEATURES.items() if k != "kind"})
    field.settle(Places((tmp_path / "photos",), (), tmp_path / "no"))
    found = field.read([f"{n}.png" for n in range(40)] * 2)
    assert Tiny.read_so_far == [32, 8]
    assert found.values.shape == (80, 4, 5)
    assert found.values[:40].equal(found.values[40:])
    stored = get(tmp_path, source=FEATURES).splits["train"].batch(range(0, 80, 2)).source.values
    torch.testing.assert_close(found.values[:40], stored)


def test_a_users_bad_picture_is_placed(tmp_path):
    album(tmp_path, count=2)
    data = get(tmp_path)
    with pytest.raises(UserError, match=r"mine\.txt:4: no such picture: not .*photos.*no\.png"):
        encode_rows(data.fields, [Row("0.png", None, "mine.txt", 3), Row("no.png", None, "mine.txt", 4)])
    with pytest.raises(UserError, match="no such picture"):
        data.source.read(["x" * 5000])


def test_the_working_folder_comes_first_for_a_users_own(tmp_path, monkeypatch):
    album(tmp_path, count=2)
    data = get(tmp_path)
    (tmp_path / "work").mkdir()
    shutil.copy(tmp_path / "photos" / "1.png", tmp_path / "work" / "0.png")
    monkeypatch.chdir(tmp_path / "work")
    theirs, own = data.source.read(["0.png"]).values, data.source.here().read(["0.png"]).values
    assert theirs.equal(data.splits["train"].batch([0]).source.values)
    assert own.equal(data.splits["train"].batch([2]).source.values)


def test_a_field_keeps_settings_only(tmp_path):
    album(tmp_path, count=2)
    data = get(tmp_path)
    assert data.source.to_json() == {"kind": "image", "settings": data.source.settings}
    assert str(tmp_path) not in str(data.source.to_json())
    assert len(data.source.encode("0.png")) == 8
    assert data.source.raw("Übung 1.png") == data.source.normalise("Übung 1.png") == "Übung 1.png"
    assert data.source.blank("  ")
    assert not data.source.blank("nowhere.png")
