"""Digits: MNIST's files, where small pictures are put, that every pass is another, and that a resumed one is the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tests.data.mnist import NAMES, idx, made_up_mnist
from xattend import recipe as recipes
from xattend.data.batching import loader
from xattend.data.corpus import Data, encode_rows, prepare
from xattend.data.fields.base import from_json
from xattend.data.fields.placed import Placed
from xattend.data.readers.base import Row, open_reader
from xattend.drawing import clutter
from xattend.errors import UserError
from xattend.settings import TrainingSettings
from xattend.training.distributed import Group
from xattend.training.standing import Standing
from xattend.training.stream import Stream

CLUTTERED = 'source = { kind = "placed", size = 60, clutter = 4 }\n'


def data(folder: Path, text: str) -> Data:
    recipe = recipes.parse(text, "t.toml").resolve()
    return prepare(recipe, folder / "cache", root=folder, data_dir=folder)


def drawn(folder: Path, source: str = CLUTTERED, rows: int = 30) -> Data:
    return data(folder, f'[data]\ntask = {{ kind = "digits", rows = {rows} }}\n{source}')


def mnist(folder: Path, source: str = "") -> Data:
    made_up_mnist(folder / "mnist", 60)
    files = f'train = "mnist/{NAMES["train"][0]}"\ntest = "mnist/{NAMES["test"][0]}"\nformat = "idx"\nfolder = "mnist"\nsplit = {{ validation = 0.2 }}\n'
    return data(folder, f'[data]\n{files}{source or CLUTTERED}target = {{ unit = "character" }}\n')


def values(batch: Any) -> torch.Tensor:
    found: torch.Tensor = batch.source.values
    return found


def test_placing_by_hand() -> None:
    """One digit and two pieces, each put where its numbers say; the brighter pixel shows."""
    random = np.random.default_rng(1)
    small, pool = random.integers(1, 256, (3, 4, 4), np.uint8), random.integers(1, 256, (5, 4, 4), np.uint8)
    dice = clutter.dice([b"a", b"b", b"c"], clutter.numbers(2))
    found = clutter.place(small, dice, 9, pool, 2, 2)
    for row in range(3):
        wanted = np.zeros((9, 9), np.uint8)

        def number(place: int, end: int, row: int = row) -> int:
            return int(dice[row, place]) * end // 2**32

        for piece in range(2):
            at = 2 + 5 * piece
            which, top, left, down, across = number(at, 5), number(at + 1, 3), number(at + 2, 3), number(at + 3, 8), number(at + 4, 8)
            for y in range(2):
                for x in range(2):
                    wanted[down + y, across + x] = max(wanted[down + y, across + x], pool[which, top + y, left + x])
        down, across = number(0, 6), number(1, 6)
        wanted[down : down + 4, across : across + 4] = np.maximum(wanted[down : down + 4, across : across + 4], small[row])
        np.testing.assert_array_equal(found[row], wanted)


def test_binary_pixels_are_drawn_by_their_grey() -> None:
    grey = np.full((256, 256), np.arange(256), np.uint8)
    share = (clutter.binarised(grey, np.repeat(np.arange(256, dtype=np.uint8)[:, None], 256, axis=1)) == 255).mean(axis=0)
    assert np.abs(share - np.arange(256) / 255).max() < 1 / 256
    assert (share[0], share[255]) == (0.0, 1.0)


@pytest.mark.parametrize("make", [drawn, mnist])
def test_every_pass_is_another_and_evaluation_is_always_the_same(make: Any, tmp_path: Path) -> None:
    split = make(tmp_path).splits["train"]
    rows = [5, 2, 7]
    first, second, fixed = (values(part.batch(rows)) for part in (split.at(0), split.at(1), split))
    assert first.shape == (3, 1, 1, 60, 60)
    for one, other in ((first, second), (first, fixed), (second, fixed)):
        assert all(not torch.equal(a, b) for a, b in zip(one, other, strict=True))
    assert torch.equal(values(split.batch(rows)), fixed)
    assert torch.equal(values(split.at(1).batch([7, 9])), torch.stack([second[2], values(split.at(1).batch([9]))[0]]))  # whatever shares the batch


def test_a_digit_is_all_there(tmp_path: Path) -> None:
    """Without clutter the large picture has the small one's pixels, and nothing else."""
    found = drawn(tmp_path, 'source = { kind = "placed", size = 40 }\n')
    split = found.splits["validation"]
    plain = drawn(tmp_path, "").splits["validation"]
    for row in range(len(split)):
        large, small = values(split.at(3).batch([row]))[0, 0, 0], values(plain.batch([row]))[0, 0, 0]
        assert float(large.sum()) == pytest.approx(float(small.sum()), rel=1e-5)
        ys, xs = torch.nonzero(large)[:, 0], torch.nonzero(large)[:, 1]
        own = torch.nonzero(small)
        cut = large[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1]
        torch.testing.assert_close(cut, small[own[:, 0].min() : own[:, 0].max() + 1, own[:, 1].min() : own[:, 1].max() + 1])


def test_a_resumed_stream_goes_on_with_the_same_pictures(tmp_path: Path) -> None:
    split, settings = drawn(tmp_path).splits["train"], TrainingSettings(sentences=8, seed=3)
    going = Stream(split, settings, Group(), Standing())
    going.open(print)
    seen = []
    for _ in range(10):
        seen.append(values(going.next()[1]))
        going.advance(print)
    resumed = Stream(split, settings, Group(), Standing(epoch=1, position=2, batches=4))
    resumed.open(print)
    assert torch.equal(values(resumed.next()[1]), seen[4 + 2])  # four batches a pass
    worked = list(loader(split.at(1), going.batches.plan(1), 0, 1))
    assert torch.equal(values(worked[2]), seen[4 + 2])


def test_only_small_pictures_are_on_the_disk(tmp_path: Path) -> None:
    found = drawn(tmp_path)
    list(loader(found.splits["train"].at(0), [np.arange(30)], 0, 0))
    (store,) = (tmp_path / "cache" / "features").iterdir()
    assert (store / "values").stat().st_size == 50 * 28 * 28


def test_the_field_keeps_its_pieces(tmp_path: Path) -> None:
    """A saved field makes the same pictures, with the pieces that it was fitted with."""
    found = drawn(tmp_path)
    assert isinstance(found.source, Placed)
    again = from_json(json.loads(json.dumps(found.source.to_json())))
    assert isinstance(again, Placed)
    np.testing.assert_array_equal(again.pool_Mdd, found.source.pool_Mdd)
    assert len(again.pool_Mdd) == 30
    source, _ = found.splits["test"].texts(4)
    assert source is not None
    torch.testing.assert_close(again.read([source]).values, values(found.splits["test"].batch([4])))  # nothing but the field and the name
    with pytest.raises(UserError, match="damaged field"):
        from_json({**found.source.to_json(), "pool": "AAAA"})


def test_a_users_own_picture_is_read_as_it_is(tmp_path: Path) -> None:
    found = drawn(tmp_path)
    assert isinstance(found.source, Placed)
    own = tmp_path / "own.png"
    picture = np.random.default_rng(1).integers(0, 256, (60, 60), np.uint8)
    Image.fromarray(picture).save(own)
    read = encode_rows((found.source, found.target), [Row(str(own), None, "text", 1)])
    np.testing.assert_allclose(values(read)[0, 0, 0].numpy() * 255, picture, atol=1e-4)
    assert found.source.shown(str(own))[:, :, 0].tolist() == picture.tolist()
    text, _ = found.splits["test"].texts(0)
    assert text is not None
    np.testing.assert_allclose(values(found.splits["test"].batch([0]))[0, 0, 0].numpy() * 255, found.source.shown(text)[:, :, 0], atol=1e-4)
    (tmp_path / "rows.tsv").write_text("own.png\t3\n" * 4)
    with pytest.raises(UserError, match=r"rows\.tsv:1.*small pictures of 28 x 28"):
        data(tmp_path, f'[data]\ntrain = "rows.tsv"\n{CLUTTERED}')


def test_mnist_rows(tmp_path: Path) -> None:
    found = mnist(tmp_path, 'source = { kind = "placed" }\n')
    assert {name: len(split) for name, split in found.splits.items() if name == "test"} == {"test": 60}
    assert len(found.splits["train"]) + len(found.splits["validation"]) == 60
    source, target = found.splits["test"].texts(7)
    assert (source, target) == ("t10k-images-idx3-ubyte.gz#7", "7")
    picture = values(found.splits["test"].batch([7]))[0, 0, 0]
    assert int((picture[10] > 0.9).nonzero()[0]) == 4 + 2 * 7


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / NAMES["train"][1]).unlink(), "no labels beside it"),
        (lambda folder: (folder / NAMES["train"][0]).write_bytes(b"no such thing"), "damaged"),
        (lambda folder: (folder / NAMES["train"][0].removesuffix(".gz")).write_bytes(b"no such thing"), "begin with 0 0 8"),
        (lambda folder: (folder / NAMES["train"][0].removesuffix(".gz")).write_bytes(idx(np.zeros((2, 3, 3)))[:-1]), "holds fewer"),
        (lambda folder: (folder / NAMES["train"][0].removesuffix(".gz")).write_bytes(idx(np.zeros((2, 3, 3))) + b"x"), "holds more"),
        (lambda folder: (folder / NAMES["train"][0].removesuffix(".gz")).write_bytes(idx(np.zeros((2, 3, 3)))), "do not go together"),
        (lambda folder: (folder / NAMES["train"][0].removesuffix(".gz")).write_bytes(bytes([0, 0, 8, 3]) + b"\xff" * 12), "more than"),
    ],
)
def test_damaged_files_are_told(damage: Any, said: str, tmp_path: Path) -> None:
    made_up_mnist(tmp_path, 20)
    damage(tmp_path)
    plain = tmp_path / NAMES["train"][0].removesuffix(".gz")
    file = plain if plain.exists() else tmp_path / NAMES["train"][0]
    with pytest.raises(UserError, match=said):
        list(open_reader(str(file), format="idx"))


def test_a_picture_that_is_not_in_the_file(tmp_path: Path) -> None:
    made_up_mnist(tmp_path, 20)
    field = Placed()
    with pytest.raises(UserError, match="20 pictures"):
        field.read([str(tmp_path / NAMES["train"][0]) + "#20"])
    with pytest.raises(UserError, match="no such picture"):
        field.read([str(tmp_path / "other-idx3-ubyte") + "#0"])


@pytest.mark.parametrize(("given", "said"), [({"size": 20}, "cannot hold"), ({"clutter": 1, "piece": 30}, "cannot be cut")])
def test_sizes_that_do_not_go_together(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Placed(**given)
