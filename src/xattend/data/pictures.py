"""From a picture's file to an array of pixels of a wanted size, with every kind of bad file told apart.

The size is read from the header, and a picture with too many or too few pixels is refused, before anything is decoded. Then it is
turned upright (EXIF), brought to 8-bit colour (palettes, CMYK and 16 bits converted, what is transparent laid over white; of an
animation the first frame) and cut to size:

    center   scaled until it covers the wanted size, the middle cut out: what sticks out at two edges is lost
    squash   each side scaled by itself: nothing is lost, proportions are
    pad      scaled until it fits in, grey round it
    none     must have the wanted size already, as drawn pictures have

A JPEG is decoded at a half, a quarter or an eighth of its size if that is still twice what is wanted.

>>> frame = np.zeros((10, 20, 3), np.uint8)
>>> pixels(Image.fromarray(frame), (4, 6), "center").shape
(3, 4, 6)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image, ImageOps, MpoImagePlugin, TiffImagePlugin, UnidentifiedImageError, WebPImagePlugin

from xattend.data.readers.lines import BadRow

Pixels = np.ndarray[Any, np.dtype[np.uint8]]  # [channels, height, width]
Crop = Literal["center", "squash", "pad", "extend", "none"]
SMALLEST = 4  # pixels of a side
GREY = 127
# What is opened. Others that Pillow knows call programs (EPS), or are no pictures in the sense meant here (PDF, video). Pillow loads the
# common kinds by itself; naming the others here saves it from loading all it has.
FORMATS = ("JPEG", "PNG", "GIF", "BMP", "PPM", *(one.format for one in (
    MpoImagePlugin.MpoImageFile, TiffImagePlugin.TiffImageFile, WebPImagePlugin.WebPImageFile,
)))  # fmt: skip


@contextmanager
def opened(path: Path, max_pixels: int) -> Iterator[Image.Image]:
    """The picture, nothing but its header read, if it may be decoded; else a BadRow that says why not."""
    try:
        if path.stat().st_size == 0:
            raise BadRow("a picture's file is empty", f"{path}: the file is empty: get it again")
        Image.preinit()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of many pixels, of odd tags: what matters is complained of below, in our own words
            picture = Image.open(path, formats=[name for name in FORMATS if name in Image.OPEN])
    except Image.DecompressionBombError as error:
        raise _too_large(path, str(error).split(",")[0].lower(), max_pixels) from None
    except UnidentifiedImageError:
        raise BadRow("not a picture", f"{path}: not a picture, or of a kind that is not read (read are {', '.join(FORMATS)})") from None
    except OSError as error:
        raise BadRow("a picture that cannot be opened", f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, SyntaxError) as error:
        raise _damaged(path, error) from None
    with picture:
        check_size(path, picture.size, max_pixels)
        yield picture


def check_size(path: Path, size: tuple[int, int], max_pixels: int) -> None:
    """A BadRow if a picture has too many pixels to be decoded, or too few to be worth it."""
    width, height = size
    if width * height > max_pixels:
        raise _too_large(path, f"{width} x {height} pixels", max_pixels)
    if min(width, height) < SMALLEST:
        raise BadRow("a picture too small", f"{path}: {width} x {height} pixels: too small to show anything")


def _too_large(path: Path, what: str, max_pixels: int) -> BadRow:
    said = f"{path}: {what}, more than max_pixels = {max_pixels:,}: make it smaller, or raise max_pixels if you trust it"
    return BadRow("a picture too large", said)


def _damaged(path: Path, error: Exception) -> BadRow:
    return BadRow("a picture cut off or damaged", f"{path}: the picture is cut off or damaged ({error}): get it again")


def animated(picture: Image.Image) -> bool:
    """Whether there are more frames than the one that is read. (A camera's MPO holds previews, no animation.)"""
    return picture.format != "MPO" and bool(getattr(picture, "is_animated", False))


@contextmanager
def decoding(path: Path) -> Iterator[None]:
    """What goes wrong in here is the file's fault: a decoder meets hostile bytes, and every plugin raises what it likes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        raise _damaged(path, error) from None


def read(path: Path, size: tuple[int, int], crop: Crop, *, grey: bool = False, max_pixels: int) -> Pixels:
    """A file's pixels; a BadRow if they cannot be had."""
    with opened(path, max_pixels) as picture:
        with decoding(path):
            if crop != "none":
                picture.draft(None, (2 * max(size), 2 * max(size)))
            picture.load()
            upright = ImageOps.exif_transpose(picture)
        return pixels_of(path, upright, size, crop, grey=grey)


def pixels_of(path: Path, picture: Image.Image, size: tuple[int, int], crop: Crop, *, grey: bool = False) -> Pixels:
    """`pixels`, with the file's name in what is said."""
    try:
        return pixels(picture, size, crop, grey=grey)
    except BadRow as bad:
        raise BadRow(bad.reason, f"{path}: {bad.message}") from None


def pixels(picture: Image.Image, size: tuple[int, int], crop: Crop, *, grey: bool = False) -> Pixels:
    """A picture as an array of the wanted height and width, one channel if `grey`, else three."""
    height, width = size
    picture = _eight_bits(picture)
    if crop == "none":
        if picture.size != (width, height):
            said = f"{picture.width} x {picture.height} pixels, and crop = \"none\" wants {width} x {height}"
            raise BadRow("a picture of another size", said)
    elif crop in ("pad", "extend"):
        scale = min(width / picture.width, height / picture.height)
        inner = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
        fitted = np.asarray(_flat(picture.resize(inner, Image.Resampling.BICUBIC, reducing_gap=3.0)))
        left, top = (width - inner[0]) // 2, (height - inner[1]) // 2
        around = (top, height - inner[1] - top), (left, width - inner[0] - left), (0, 0)
        picture = Image.fromarray(np.pad(fitted, around, constant_values=GREY) if crop == "pad" else np.pad(fitted, around, "edge"))
    else:
        box = _middle(picture.size, width / height) if crop == "center" else None
        picture = picture.resize((width, height), Image.Resampling.BICUBIC, box=box, reducing_gap=3.0)
    picture = _flat(picture)
    if grey:
        return np.asarray(picture.convert("L"))[None].copy()
    return np.ascontiguousarray(np.asarray(picture).transpose(2, 0, 1))


def _middle(size: tuple[int, int], ratio: float) -> tuple[float, float, float, float]:
    """The largest box of a ratio (width : height) in the middle of a picture.

    >>> _middle((300, 100), 2.0)
    (50.0, 0.0, 250.0, 100.0)
    """
    width, height = min(float(size[0]), size[1] * ratio), min(float(size[1]), size[0] / ratio)
    left, top = (size[0] - width) / 2, (size[1] - height) / 2
    return left, top, left + width, top + height


def _eight_bits(picture: Image.Image) -> Image.Image:
    """RGB, or RGBA if something in it is transparent."""
    if picture.mode.startswith(("I", "F")):
        values = np.asarray(picture).astype(np.float64)
        if picture.mode == "F":  # no rule says what white is
            full = 1.0 if values.max(initial=0.0) <= 1.0 else 255.0
        else:
            full = 65535.0
        return Image.fromarray(np.clip(values * (255 / full) + 0.5, 0, 255).astype(np.uint8)).convert("RGB")
    if picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info:
        return picture.convert("RGBA")
    return picture.convert("RGB")


def _flat(picture: Image.Image) -> Image.Image:
    """RGB; what is transparent shows white."""
    if picture.mode != "RGBA":
        return picture
    return Image.alpha_composite(Image.new("RGBA", picture.size, (255, 255, 255, 255)), picture).convert("RGB")
