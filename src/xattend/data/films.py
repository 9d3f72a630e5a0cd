"""From a film to some of its frames, equally spaced, each cut to size as a picture is (pictures.py).

A film is an animation (GIF, WebP, APNG, TIFF), a folder of pictures in the order of their names, or, with the package `av`
(`pip install 'xattend[video]'`), any video file. Frames are spaced by their number, not by the time each is shown, from the first to
the last; a film with fewer frames than are wanted shows some of them more than once.

>>> spaced(20, 5), spaced(3, 5), spaced(9, 1)
([0, 5, 10, 14, 19], [0, 1, 1, 2, 2], [4])
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from xattend.data import pictures
from xattend.data.readers.lines import BadRow

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")  # of a folder's files, those that are frames
# What is opened as video: kinds that hold pictures themselves. Playlists and the like would have other files or addresses opened.
VIDEO = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,mpegvideo,ogg,flv,asf,h264,hevc,m4v,gif"

TRAILER, TAIL = b"\0;", 64  # how a GIF ends, but for what some programs leave behind it; one cut between two frames looks whole otherwise
ENOUGH = 0.9  # of the frames that a video announces: many lack the last few, and the last there is takes their place


class Shape(NamedTuple):
    """How frames are cut to size: see pictures.py."""

    size: tuple[int, int]
    crop: pictures.Crop
    grey: bool
    max_pixels: int


def spaced(there: int, wanted: int) -> list[int]:
    """Numbers of `wanted` frames out of `there`, in order; one alone is the middle one."""
    if wanted == 1:
        return [(there - 1) // 2]
    return [(2 * place * (there - 1) + wanted - 1) // (2 * (wanted - 1)) for place in range(wanted)]


def frames_in(folder: Path) -> list[Path]:
    """A folder's pictures by name, where numbers count as numbers: 2.png comes before 10.png."""
    found = [path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")]
    if not found:
        raise BadRow("a film without frames", f"{folder}: no pictures in this folder (looked for are {', '.join(SUFFIXES)})")
    return sorted(found, key=lambda path: _in_order(path.name))


def _in_order(name: str) -> list[tuple[bool, int, str]]:
    parts = [part for part in re.split(r"([0-9]+)", name) if part]
    return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def length(path: Path, max_pixels: int) -> int:
    """How many frames a film's file has; a BadRow if it is none, or may not be decoded."""
    with _film(path, max_pixels) as (count, _):
        return count


def read(path: Path, wanted: int, shape: Shape) -> pictures.Pixels:
    """Frames of a film's file: [wanted, channels, height, width]."""
    with _film(path, shape.max_pixels) as (count, frames):
        numbers = spaced(count, wanted)
        found = {
            number: pictures.pixels_of(path, frame, shape.size, shape.crop, grey=shape.grey)
            for number, frame in frames(sorted({*numbers}))
        }  # fmt: skip
    missing = {*numbers} - {*found}
    if missing:
        said = f"{path}: {count} frames are announced, and number {min(missing) + 1} is not there: get it again"
        raise BadRow("a film cut off or damaged", said)
    return np.stack([found[number] for number in numbers])


def read_folder(files: Sequence[Path], wanted: int, shape: Shape) -> pictures.Pixels:
    """Frames of a folder's pictures."""
    numbers = spaced(len(files), wanted)
    found = {
        number: pictures.read(files[number], shape.size, shape.crop, grey=shape.grey, max_pixels=shape.max_pixels)
        for number in {*numbers}
    }  # fmt: skip
    return np.stack([found[number] for number in numbers])


Take = Callable[[Sequence[int]], Iterator[tuple[int, Image.Image]]]  # frames by their numbers, which rise


@contextmanager
def _film(path: Path, max_pixels: int) -> Iterator[tuple[int, Take]]:
    """The number of frames, and a way to get some."""
    with ExitStack() as stack:
        try:
            picture = stack.enter_context(pictures.opened(path, max_pixels))
        except BadRow as bad:
            if bad.reason != "not a picture":
                raise
            film = stack.enter_context(_video(path, max_pixels))
        else:
            film = _animation(path, picture, max_pixels)
        yield film


def _animation(path: Path, picture: Image.Image, max_pixels: int) -> tuple[int, Take]:
    with pictures.decoding(path):
        count = int(getattr(picture, "n_frames", 1)) if pictures.animated(picture) else 1
    if picture.format == "GIF" and TRAILER not in _tail(path):
        raise BadRow("a film cut off or damaged", f"{path}: cut off or damaged: it ends after {count} frame{'s' * (count > 1)} without a GIF's end: get it again")

    def take(numbers: Sequence[int]) -> Iterator[tuple[int, Image.Image]]:
        for number in numbers:
            with pictures.decoding(path):
                picture.seek(number)
            pictures.check_size(path, picture.size, max_pixels)  # a TIFF's pages differ
            with pictures.decoding(path):
                picture.load()
            yield number, picture

    return count, take


def _tail(path: Path) -> bytes:
    with path.open("rb") as stream:
        stream.seek(-min(TAIL, path.stat().st_size), 2)
        return stream.read()


@contextmanager
def _video(path: Path, max_pixels: int) -> Iterator[tuple[int, Take]]:
    try:
        import av
    except ImportError:
        said = f"{path}: not a picture or an animation; if it is a video: pip install 'xattend[video]'"
        raise BadRow("a video, and no package to read it", said) from None
    with ExitStack() as stack:
        try:
            video: Any = stack.enter_context(av.open(stack.enter_context(path.open("rb")), options={"format_whitelist": VIDEO}))
        except Exception as error:  # hostile bytes: anything may be raised
            raise BadRow("not a film", f"{path}: neither an animation nor a video that can be read ({error})") from None
        if not video.streams.video:
            raise BadRow("not a film", f"{path}: no moving pictures in it: sound alone, or cut off")
        stream = video.streams.video[0]
        pictures.check_size(path, (stream.width, stream.height), max_pixels)
        with pictures.decoding(path):
            count = stream.frames or _count(video, stream)
        if not count:
            raise BadRow("a film without frames", f"{path}: there is no frame in it: get it again")

        def take(numbers: Sequence[int]) -> Iterator[tuple[int, Image.Image]]:
            decoded, number, frame = enumerate(video.decode(stream)), -1, None
            for wanted in numbers:
                while number < wanted:
                    with pictures.decoding(path):
                        found = next(decoded, None)
                    if found is None:
                        break
                    number, frame = found
                if frame is None or number < min(wanted, ENOUGH * count - 1):
                    return
                pictures.check_size(path, (frame.width, frame.height), max_pixels)
                with pictures.decoding(path):
                    shown = frame.to_image().rotate(frame.rotation, expand=True)  # a telephone held upright
                yield wanted, shown

        yield count, take


def _count(video: Any, stream: Any) -> int:
    """Packets that hold something: one a frame. Nothing is decoded."""
    count = sum(bool(packet.size) for packet in video.demux(stream))
    video.seek(0)
    return count
