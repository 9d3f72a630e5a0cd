"""Pictures from files to pixels: sizes, kinds of files, and every kind of file that is no good picture."""

from __future__ import annotations

import contextlib
import io
import struct
import tracemalloc
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from xattend.data import pictures
from xattend.data.readers.lines import BadRow

MANY = 50_000_000
RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def halves(width: int, height: int, left=RED, right=BLUE, mode: str = "RGB") -> Image.Image:
    """Left half one colour, right half another."""
    picture = Image.new(mode, (width, height), left)
    picture.paste(right, (width // 2, 0, width, height))
    return picture


def read(path: Path, size=(8, 8), crop="squash", **options) -> np.ndarray:
    return pictures.read(path, size, crop, max_pixels=MANY, **options)


def colour(pixels: np.ndarray, y: int, x: int) -> tuple[int, ...]:
    return tuple(int(v) for v in pixels[:, y, x])


def near(found: tuple[int, ...], wanted: tuple[int, ...], by: int = 6) -> bool:
    return all(abs(a - b) <= by for a, b in zip(found, wanted, strict=True))


# --- sizes


def test_squash_keeps_all_and_center_cuts():
    picture = halves(80, 20)
    squashed = pictures.pixels(picture, (8, 8), "squash")
    assert squashed.shape == (3, 8, 8)
    assert near(colour(squashed, 4, 0), RED)
    assert near(colour(squashed, 4, 7), BLUE)
    edges = Image.new("RGB", (80, 20), WHITE)
    edges.paste(RED, (30, 0, 50, 20))  # exactly the middle that a square keeps
    assert (pictures.pixels(edges, (20, 20), "center") == np.array(RED).reshape(3, 1, 1)).all()
    assert pictures.pixels(edges, (5, 20), "center").shape == (3, 5, 20)


def test_pad_puts_grey_round():
    found = pictures.pixels(halves(80, 20), (8, 8), "pad")
    assert colour(found, 0, 0) == colour(found, 2, 7) == (127, 127, 127)
    assert near(colour(found, 3, 0), RED, by=12)
    assert near(colour(found, 4, 7), BLUE, by=12)
    assert colour(found, 5, 0) == (127, 127, 127)


def test_extend_repeats_the_edge():
    found = pictures.pixels(halves(80, 20), (8, 8), "extend")
    padded = pictures.pixels(halves(80, 20), (8, 8), "pad")
    assert (found[:, 3:5] == padded[:, 3:5]).all()
    assert (found[:, :3] == found[:, 3:4]).all()
    assert (found[:, 5:] == found[:, 4:5]).all()


def test_none_takes_pixels_as_they_are_or_complains():
    pixels = np.random.default_rng(1).integers(0, 256, (8, 6, 3), np.uint8)
    found = pictures.pixels(Image.fromarray(pixels), (8, 6), "none")
    assert (found.transpose(1, 2, 0) == pixels).all()
    assert found.flags.c_contiguous
    with pytest.raises(BadRow, match="6 x 8 pixels, and crop = \"none\" wants 5 x 8"):
        pictures.pixels(Image.fromarray(pixels), (8, 5), "none")


def test_grey_has_one_channel():
    found = pictures.pixels(halves(8, 8, (255, 255, 255), (0, 0, 0)), (8, 8), "none", grey=True)
    assert found.shape == (1, 8, 8)
    assert found[0, 0].tolist() == [255] * 4 + [0] * 4


# --- kinds of files


@pytest.mark.parametrize("suffix", ["jpg", "png", "gif", "bmp", "tif", "webp", "ppm"])
def test_kinds_of_files(tmp_path, suffix):
    halves(40, 40).save(tmp_path / f"a.{suffix}")
    found = read(tmp_path / f"a.{suffix}")
    assert near(colour(found, 4, 1), RED, by=12)
    assert near(colour(found, 4, 6), BLUE, by=12)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_is_turned_as_its_camera_was_held(tmp_path, orientation):
    """A scene, stored as each of the eight orientations says, is the same scene when it is read."""
    scene = Image.new("RGB", (60, 40), WHITE)
    scene.paste(RED, (0, 0, 30, 20))  # top left
    scene.paste(BLUE, (30, 20, 60, 40))  # bottom right
    turn = Image.Transpose
    stored = {
        1: [], 2: [turn.FLIP_LEFT_RIGHT], 3: [turn.ROTATE_180], 4: [turn.FLIP_TOP_BOTTOM], 5: [turn.TRANSPOSE],
        6: [turn.ROTATE_90], 7: [turn.TRANSVERSE], 8: [turn.ROTATE_270],
    }  # fmt: skip
    for step in stored[orientation]:
        scene = scene.transpose(step)
    exif = Image.Exif()
    exif[0x0112] = orientation
    scene.save(tmp_path / "a.jpg", exif=exif, quality=95, subsampling=0)
    found = read(tmp_path / "a.jpg")
    assert near(colour(found, 1, 1), RED, by=20)
    assert near(colour(found, 6, 6), BLUE, by=20)
    assert near(colour(found, 1, 6), WHITE, by=20)


def test_transparent_places_show_white(tmp_path):
    picture = halves(16, 16, (255, 0, 0, 255), (0, 0, 0, 0), mode="RGBA")
    picture.save(tmp_path / "a.png")
    found = read(tmp_path / "a.png", crop="none", size=(16, 16))
    assert colour(found, 3, 3) == RED
    assert colour(found, 3, 12) == WHITE
    half = Image.new("RGBA", (16, 16), (0, 0, 0, 128))
    half.save(tmp_path / "b.png")
    assert near(colour(read(tmp_path / "b.png"), 3, 3), (127, 127, 127), by=1)
    assert near(colour(read(tmp_path / "b.png", crop="pad"), 3, 3), (127, 127, 127), by=1)


def test_palettes_with_and_without_a_transparent_colour(tmp_path):
    picture = halves(16, 16).convert("P", palette=Image.Palette.ADAPTIVE, colors=2)
    picture.save(tmp_path / "a.png")
    found = read(tmp_path / "a.png", crop="none", size=(16, 16))
    assert (colour(found, 3, 3), colour(found, 3, 12)) == (RED, BLUE)
    picture.save(tmp_path / "b.png", transparency=picture.getpixel((0, 0)))
    found = read(tmp_path / "b.png", crop="none", size=(16, 16))
    assert (colour(found, 3, 3), colour(found, 3, 12)) == (WHITE, BLUE)


def test_cmyk_black_and_white_and_grey_with_alpha(tmp_path):
    halves(16, 16).convert("CMYK").save(tmp_path / "a.jpg", quality=95)
    found = read(tmp_path / "a.jpg")
    assert near(colour(found, 4, 1), RED, by=20)
    assert near(colour(found, 4, 6), BLUE, by=20)
    halves(16, 16, 1, 0, mode="1").save(tmp_path / "b.png")
    assert colour(read(tmp_path / "b.png"), 4, 1) == WHITE
    halves(16, 16, (90, 255), (90, 0), mode="LA").save(tmp_path / "c.png")
    found = read(tmp_path / "c.png", crop="none", size=(16, 16))
    assert (colour(found, 3, 3), colour(found, 3, 12)) == ((90, 90, 90), WHITE)


def test_sixteen_bits_become_eight(tmp_path):
    values = np.zeros((16, 16), np.uint16)
    values[:, 8:] = 65535
    values[:8, :8] = 32896  # 128 of 255
    Image.fromarray(values).save(tmp_path / "a.png")
    found = read(tmp_path / "a.png", crop="none", size=(16, 16))
    assert (colour(found, 12, 3), colour(found, 3, 3), colour(found, 3, 12)) == ((0, 0, 0), (128, 128, 128), WHITE)
    Image.fromarray(np.full((16, 16), 0.5, np.float32)).save(tmp_path / "b.tif")
    assert near(colour(read(tmp_path / "b.tif"), 3, 3), (128, 128, 128), by=1)


def test_the_first_frame_of_an_animation(tmp_path):
    frames = [Image.new("RGB", (16, 16), RED), Image.new("RGB", (16, 16), BLUE)]
    for suffix in ("gif", "png", "webp"):
        path = tmp_path / f"a.{suffix}"
        frames[0].save(path, save_all=True, append_images=frames[1:], **({"lossless": True} if suffix == "webp" else {}))
        assert near(colour(read(path), 3, 3), RED)
        with pictures.opened(path, MANY) as picture:
            assert pictures.animated(picture)
    frames[0].save(tmp_path / "still.gif")
    with pictures.opened(tmp_path / "still.gif", MANY) as picture:
        assert not pictures.animated(picture)


def test_a_jpeg_decoded_at_a_fraction_looks_the_same(tmp_path):
    """The fast way beside the plain one."""
    x = np.linspace(0, 1, 1600)[None, :] * np.linspace(0, 1, 1200)[:, None]
    Image.fromarray(np.stack([x * 255, (1 - x) * 255, x * 128], -1).astype(np.uint8)).save(tmp_path / "a.jpg", quality=95)
    fast = read(tmp_path / "a.jpg", size=(64, 64), crop="center")
    with Image.open(tmp_path / "a.jpg") as whole:
        plain = pictures.pixels(whole, (64, 64), "center")
    assert np.abs(fast.astype(int) - plain.astype(int)).max() <= 3


# --- what is no good picture


def png_of(width: int, height: int) -> bytes:
    """A header that claims a size, and next to nothing behind it."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk)) + struct.pack(">I", 9) + b"IDAT\x78"


def jpeg() -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)).save(stream, "JPEG")
    return stream.getvalue()


def tiny_png() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (1, 1)).save(stream, "PNG")
    return stream.getvalue()


BAD = {
    "empty.jpg": (b"", "a picture's file is empty", "the file is empty"),
    "text.jpg": (b"<html>not found</html>", "not a picture", "not a picture"),
    "cut.jpg": (jpeg()[: len(jpeg()) // 2], "a picture cut off or damaged", "cut off or damaged"),
    "cut.png": (png_of(64, 64), "a picture cut off or damaged", "cut off or damaged"),
    "header.png": (png_of(64, 64)[:20], None, ""),
    "one.png": (tiny_png(), "a picture too small", "1 x 1 pixels"),
    "bomb.png": (png_of(10_000, 10_000), "a picture too large", "10000 x 10000 pixels, more than max_pixels = 50,000,000"),
    "huge.png": (png_of(100_000, 100_000), "a picture too large", "more than max_pixels"),
    "line.png": (png_of(100_000, 2), "a picture too small", "100000 x 2 pixels"),
    "script.eps": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture", "not a picture"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_picture_is_told_what_it_is(tmp_path, name):
    content, reason, said = BAD[name]
    (tmp_path / name).write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BadRow) as found:
            read(tmp_path / name)
    assert reason is None or found.value.reason == reason
    assert said in found.value.message
    assert str(tmp_path / name) in found.value.message


def test_a_bomb_is_refused_by_its_header_alone(tmp_path):
    (tmp_path / "bomb.png").write_bytes(png_of(10_000, 10_000))
    tracemalloc.start()
    with pytest.raises(BadRow, match="more than max_pixels"):
        read(tmp_path / "bomb.png")
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_a_jpeg_cut_at_any_place_is_never_taken_for_whole(tmp_path):
    whole = jpeg()
    for cut in range(0, len(whole) - 2, 97):
        (tmp_path / "a.jpg").write_bytes(whole[:cut])
        with pytest.raises(BadRow):
            read(tmp_path / "a.jpg")


def test_random_damage_raises_nothing_else(tmp_path):
    random = np.random.default_rng(5)
    made = []
    for suffix in ("png", "gif", "bmp", "tif", "webp", "jpg"):
        stream = io.BytesIO()
        halves(32, 32).save(stream, {"jpg": "JPEG", "tif": "TIFF"}.get(suffix, suffix.upper()))
        made.append((suffix, stream.getvalue()))
    for suffix, whole in made:
        for _ in range(15):
            data = bytearray(whole)
            for place in random.integers(0, len(data), 4):
                data[place] = random.integers(0, 256)
            (tmp_path / f"a.{suffix}").write_bytes(data)
            with contextlib.suppress(BadRow):  # the only complaint there may be
                assert read(tmp_path / f"a.{suffix}").shape == (3, 8, 8)
