"""Films from files, folders and drawings to frames: which are taken, how they are kept, and films that are no good."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.data.album import WORDS, get
from xattend.data import films
from xattend.data.fields.film import Film
from xattend.data.named import Places
from xattend.data.readers.lines import BadRow
from xattend.errors import UserError
from xattend.types import Space

SHAPE = films.Shape((8, 8), "squash", True, 10**6)
LEVELS = [20 * number for number in range(10)]


def pages(levels=LEVELS, size=(16, 12)) -> list[Image.Image]:
    return [Image.new("RGB", size, (level, level, level)) for level in levels]


def animation(path: Path, levels=LEVELS, **options) -> Path:
    first, *rest = pages(levels)
    first.save(path, save_all=True, append_images=rest, duration=100, **options)
    return path


def folder(path: Path, levels=LEVELS) -> Path:
    path.mkdir(parents=True)
    for number, page in enumerate(pages(levels)):
        page.save(path / f"{number}.png")
    return path


def levels_of(frames: np.ndarray) -> list[int]:
    return [int(frame[0, 4, 4]) for frame in frames]


def field(place: Path, **settings) -> Film:
    found = Film(**{"size": 8, "grey": True, "frames": 4, **settings})
    found.settle(Places((place,), (place,), place / "features"))
    return found


def test_a_gif_cut_between_two_frames_is_not_a_shorter_film(tmp_path):
    whole = animation(tmp_path / "whole.gif").read_bytes()
    starts = [place for place in range(len(whole)) if whole.startswith(b"\x21\xf9\x04", place)]  # a frame begins with what says how long it is shown
    assert len(starts) == len(LEVELS)
    (tmp_path / "cut.gif").write_bytes(whole[: starts[6]])
    with pytest.raises(BadRow, match="ends after 6 frames without a GIF's end"):
        films.length(tmp_path / "cut.gif", 10**6)
    (tmp_path / "more.gif").write_bytes(whole + b"\n")  # as some programs leave it
    assert films.length(tmp_path / "more.gif", 10**6) == len(LEVELS)


def test_frames_are_equally_spaced_from_first_to_last():
    for there in range(1, 30):
        for wanted in range(2, 30):
            found = films.spaced(there, wanted)
            exact = [place * (there - 1) / (wanted - 1) for place in range(wanted)]
            assert (found[0], found[-1], len(found)) == (0, there - 1, wanted)
            assert all(abs(a - b) <= 0.5 for a, b in zip(found, exact, strict=True))
    assert films.spaced(7, 7) == list(range(7))


@pytest.mark.parametrize("name", ["a.gif", "a.png", "a.webp", "a.tiff"])
def test_animations(tmp_path, name):
    path = animation(tmp_path / name, **({"lossless": True} if name.endswith("webp") else {}))
    assert films.length(path, 10**6) == 10
    found = films.read(path, 4, SHAPE)
    assert found.shape == (4, 1, 8, 8)
    assert all(abs(a - b) <= 2 for a, b in zip(levels_of(found), [0, 60, 120, 180], strict=True))


def test_a_folder_is_read_in_the_order_of_its_numbers(tmp_path):
    folder(tmp_path / "f", [10 * number for number in range(12)])
    (tmp_path / "f" / "notes.txt").write_text("no frame")
    (tmp_path / "f" / ".hidden.png").write_text("no frame")
    files = films.frames_in(tmp_path / "f")
    assert [path.stem for path in files] == [str(number) for number in range(12)]  # not 0, 1, 10, 11, 2
    assert levels_of(films.read_folder(files, 12, SHAPE)) == [10 * number for number in range(12)]
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadRow, match="no pictures in this folder"):
        films.frames_in(tmp_path / "empty")


def test_the_field_gives_frames_as_positions(tmp_path):
    animation(tmp_path / "a.gif")
    folder(tmp_path / "f")
    found = field(tmp_path)
    assert found.space == Space(features=(1, 8, 8))
    batch = found.read(["a.gif", "f", "moving-digits:20 64 7;3 plain 24 -8 30 14 1 left up;7 plain 22 5 4 40 1 stay stay"])
    assert batch.values.shape == (3, 4, 1, 8, 8)
    assert batch.mask_BS.all()
    torch.testing.assert_close(batch.values[0], batch.values[1], atol=0.01, rtol=0)
    torch.testing.assert_close(batch.values[1, :, 0, 4, 4], torch.tensor([0.0, 60, 120, 180]) / 255)
    assert field(tmp_path, grey=False).shown("f").shape == (4, 8, 8, 3)
    one = field(tmp_path, frames=1).read(["f"])
    assert one.values.shape == (1, 1, 1, 8, 8)
    assert one.values[0, 0, 0, 0, 0] == 80 / 255  # the middle


def test_a_drawn_film_keeps_its_own_frames(tmp_path):
    from xattend.data.tasks.moving_digits import MovingDigits

    spec = "20 64 7;3 plain 24 -8 30 14 1 left up;7 plain 22 5 4 40 1 stay stay"
    found = field(tmp_path, frames=20, size=64, crop="none").read([f"moving-digits:{spec}"])
    drawn = np.stack(MovingDigits.draw(spec))[..., 0]
    assert torch.equal((found.values[0, :, 0] * 255).round().to(torch.uint8), torch.from_numpy(drawn))


def rows(place: Path, names: list[str], **data):
    (place / "rows.tsv").write_text("".join(f"{name}\ta film\n" for name in names))
    source = {"kind": "film", "frames": 4, "size": 8, "grey": True}
    return get(place, **{"train": "rows.tsv", "folder": None, "source": source, "target": WORDS, **data})


def test_a_data_set_of_films(tmp_path):
    folder(tmp_path / "f")
    animation(tmp_path / "a.gif")
    animation(tmp_path / "short.gif", LEVELS[:3])
    data = rows(tmp_path, ["f", "a.gif", "short.gif", "a.gif"])
    assert data.report.lines() == ["1 film with fewer than 4 frames: some are read more than once"]
    train = data.splits["train"]
    assert train.lengths[:, 0].tolist() == [4] * 4
    assert train.batch([0, 3]).source.values.shape == (2, 4, 1, 8, 8)
    assert len(data.source.store) == 3
    assert train.batch([1]).part(slice(0, 1)).source.values.equal(train.batch([3]).source.values)
    again = rows(tmp_path, ["f", "a.gif", "short.gif", "a.gif"])
    assert again.fingerprint == data.fingerprint


def test_a_folder_whose_frame_changed_is_another_film(tmp_path):
    folder(tmp_path / "f")
    before = rows(tmp_path, ["f"])
    values = before.splits["train"].batch([0]).source.values
    Image.effect_noise((16, 12), 80).save(tmp_path / "f" / "0.png")
    after = rows(tmp_path, ["f"])
    assert after.fingerprint != before.fingerprint
    assert not after.splits["train"].batch([0]).source.values[0, 0].equal(values[0, 0])
    assert after.splits["train"].batch([0]).source.values[0, 1:].equal(values[0, 1:])


BAD = {
    "missing.gif": "no such film", "empty.gif": "the file is empty", "cut.gif": "cut off or damaged", "huge.gif": "max_pixels = 50,000,000",
    "tiny.gif": "too small", "none": "no pictures in this folder", "damaged": "cut off or damaged", "text.gif": "video|neither an animation",
}  # fmt: skip


def write_bad(place: Path) -> None:
    (place / "empty.gif").write_bytes(b"")
    noise = [Image.effect_noise((64, 64), 90).convert("P") for _ in range(4)]
    whole = io.BytesIO()
    noise[0].save(whole, "GIF", save_all=True, append_images=noise[1:])
    (place / "cut.gif").write_bytes(whole.getvalue()[: len(whole.getvalue()) * 2 // 3])
    header = bytearray(animation(place / "a.gif").read_bytes())
    header[6:10] = b"\xff\xff\xff\xff"
    (place / "huge.gif").write_bytes(header)
    pages(size=(2, 2))[0].save(place / "tiny.gif")
    (place / "none").mkdir()
    broken = folder(place / "damaged")
    noise[0].save(broken / "9.png")
    (broken / "9.png").write_bytes((broken / "9.png").read_bytes()[:2000])
    (place / "text.gif").write_text("this is a text, not a film\n" * 20)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_film_stops_at_its_line_or_is_skipped_and_counted(tmp_path, name):
    write_bad(tmp_path)
    with pytest.raises(UserError, match=BAD[name]) as found:
        rows(tmp_path, ["a.gif", name])
    assert (found.value.file, found.value.line) == (str(tmp_path / "rows.tsv"), 2)
    data = rows(tmp_path, ["a.gif", name], bad_rows="skip")
    assert len(data.splits["train"]) == 1
    assert data.report.lines()[0].startswith("1 row skipped: ")


def test_a_video_without_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    (tmp_path / "a.mp4").write_bytes(b"\0\0\0\x20ftypisom" + bytes(100))
    with pytest.raises(UserError, match=r"pip install 'xattend\[video\]'"):
        field(tmp_path).read(["a.mp4"])


def video(path: Path, codec: str, levels=LEVELS) -> Path:
    av = pytest.importorskip("av")
    with av.open(str(path), "w") as file:
        stream = file.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 32, 24, "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for page in pages(levels, (32, 24)):
            file.mux(stream.encode(av.VideoFrame.from_image(page)))
        file.mux(stream.encode())
    return path


@pytest.mark.parametrize(("name", "codec"), [("a.mp4", "mpeg4"), ("a.avi", "mjpeg"), ("a.mkv", "mpeg4"), ("a.webm", "libvpx")])
def test_videos(tmp_path, name, codec):
    path = video(tmp_path / name, codec)
    assert films.length(path, 10**6) == 10
    assert all(abs(a - b) <= 6 for a, b in zip(levels_of(films.read(path, 4, SHAPE)), [0, 60, 120, 180], strict=True))
    with pytest.raises(BadRow, match="max_pixels = 700"):
        films.length(path, 700)


def test_bad_videos(tmp_path):
    pytest.importorskip("av")
    whole = video(tmp_path / "a.avi", "mjpeg").read_bytes()
    (tmp_path / "cut.avi").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadRow, match=r"cut off or damaged|announced"):
        films.read(tmp_path / "cut.avi", 4, SHAPE)
    (tmp_path / "list.mp4").write_text("#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\na.avi\n#EXT-X-ENDLIST\n")
    with pytest.raises(BadRow, match="neither an animation nor a video"):  # it would open another file
        films.read(tmp_path / "list.mp4", 4, SHAPE)
