"""From a sound's file to samples, or to features that somebody else made, with every kind of bad file told apart.

Rate, channels and length are read from the header, and a file with too many samples, none, or fewer bytes than its header promises is
refused before anything is decoded. WAV, FLAC and Ogg are read by libsndfile (the extra `sound`); 8 to 32 bits and floats become numbers
between -1 and 1, several channels become their mean, and another rate is brought to the wanted one by a windowed sinc:

    y(t) = sum_n x(n) h(t - n),   h(t) = 2 c sinc(2 c t) cos^2(pi t / 2 w) for |t| <= w,   c = .475 min(1, new / old)

Features: `.npy`, an array [frames, width]; `.mfc`, CMU Sphinx's, a count of four bytes and then floats of four bytes, big-endian.

>>> tone = np.sin(np.arange(1600) * 2 * np.pi * 100 / 16000).astype(np.float32)  # 100 Hz for a tenth of a second
>>> half = resampled(tone, 16000, 8000)
>>> len(half), float(np.abs(half[100:700] - np.sin(np.arange(100, 700) * 2 * np.pi * 100 / 8000)).max()) < 0.001
(800, True)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xattend.data.readers.lines import BadRow

Samples = np.ndarray[Any, np.dtype[np.float32]]
Features = np.ndarray[Any, np.dtype[np.float32]]  # [frames, width]
ZEROS = 16  # crossings of the sinc to either side
MOST_TAPS = 1 << 20  # of all filters from one rate to another, if they are kept
BLOCK = 4096  # outputs that are made together if they are not
ENDLESS = 1 << 40  # samples: what libsndfile says of a FLAC that does not say
AGAIN = "record or export it again, or take the row out"
HUGE = 1e4  # a feature further from zero than this is no feature


class Header(NamedTuple):
    """What a sound's file says of itself."""

    rate: int
    channels: int
    samples: int  # of one channel


def with_hiss(recordings: Sequence[Samples], percent: float, key: bytes) -> list[Samples]:
    """White noise over each, of so many percent of its largest sample; the same key draws the same.

    >>> quiet, loud = with_hiss([np.full(10_000, 0.1, "f4"), np.full(10_000, 0.5, "f4")], 20, b"one")
    >>> round(float(quiet.std()), 2), round(float(loud.std()), 2)
    (0.02, 0.1)
    """
    draw = np.random.Generator(np.random.PCG64(int.from_bytes(key, "little")))
    return [one + draw.standard_normal(len(one), np.float32) * np.float32(np.abs(one).max(initial=0) * percent / 100) for one in recordings]


def header(path: Path, max_seconds: float) -> Header:
    """The header of a file that may be decoded; else a BadRow that says why not."""
    size = _size(path)
    if size == 0:
        raise BadRow("a sound's file is empty", f"{path}: the file is empty: get it again")
    try:
        with _library(path).SoundFile(str(path)) as sound:
            found = Header(int(sound.samplerate), int(sound.channels), int(sound.frames))
            kind = str(sound.format)
    except (RuntimeError, OSError, TypeError) as error:
        with path.open("rb") as stream:
            if stream.read(4) in (b"OggS", b"fLaC"):  # it begins as one
                raise _cut_off(path, str(error)) from None
        raise BadRow("not a sound", f"{path}: not a sound, or of a kind that is not read (read are WAV, FLAC, Ogg): {error}") from None
    if kind in ("WAV", "WAVEX"):
        _whole_wav(path, size)
    elif kind == "OGG":
        _whole_ogg(path, size)
    elif kind != "FLAC":  # of others nobody checks whether all that is promised is there
        raise BadRow("not a sound", f"{path}: {kind} is not read: convert it to WAV, FLAC or Ogg")
    if found.samples >= ENDLESS:
        raise BadRow("a sound of unknown length", f"{path}: its header does not say how long it is: write it again with a whole header (flac -d, then flac)")
    if found.samples <= 0:
        raise BadRow("a sound without samples", f"{path}: there is no sample in it: {AGAIN}")
    if found.samples > max_seconds * found.rate:
        seconds = found.samples / found.rate
        said = f"{seconds:.1f} seconds, more than max_seconds = {max_seconds:g}: cut it, or raise max_seconds if you trust it"
        raise BadRow("a sound too long", f"{path}: {said}")
    return found


def read(path: Path, rate: int, max_seconds: float) -> Samples:
    """A file's samples at the wanted rate, one channel; a BadRow if they cannot be had."""
    promised = header(path, max_seconds)
    try:
        samples_NC, _ = _library(path).read(str(path), dtype="float32", always_2d=True)
    except (RuntimeError, OSError) as error:
        raise _cut_off(path, str(error)) from None
    if len(samples_NC) < promised.samples:
        raise _cut_off(path, f"{promised.samples} samples are announced, and {len(samples_NC)} are there")
    if not np.isfinite(samples_NC).all():
        raise BadRow("a sound with samples that are no numbers", f"{path}: some of its samples are no numbers (NaN or infinite): {AGAIN}")
    return resampled(samples_NC.mean(axis=1), promised.rate, rate)


def resampled(samples: Samples, old: int, new: int) -> Samples:
    """The same sound at another rate."""
    if old == new:
        return samples
    import torch

    common = math.gcd(old, new)
    old, new = old // common, new // common
    _, reach = _sinc(old, new)
    length, padded = -(-len(samples) * new // old), np.pad(samples, (reach, reach + old))
    if new * (old + 2 * reach) > MOST_TAPS:  # rates with next to nothing in common, such as 44101 and 16000: filters for each output
        return np.concatenate([_at(padded, range(first, min(first + BLOCK, length)), old, new) for first in range(0, length, BLOCK)])
    filters_PW = torch.from_numpy(_filters(old, new))
    found = torch.nn.functional.conv1d(torch.from_numpy(padded)[None, None], filters_PW[:, None], stride=old)
    turned: Samples = found[0].T.reshape(-1)[:length].numpy()
    return turned


def _sinc(old: int, new: int) -> tuple[float, int]:
    """Where it cuts, a little below half the lower rate, in cycles a sample of the old one; and how far it reaches."""
    cut = 0.475 * min(1.0, new / old)
    return cut, math.ceil(ZEROS / (2 * cut))


def _taps(at_NW: Any, cut: float, reach: int) -> Samples:
    window_NW = np.where(np.abs(at_NW) <= reach, np.cos(at_NW * math.pi / 2 / reach) ** 2, 0.0)
    found: Samples = (2 * cut * np.sinc(2 * cut * at_NW) * window_NW).astype(np.float32)
    return found


@lru_cache(maxsize=4)
def _filters(old: int, new: int) -> Samples:
    """Output n lies at input n old / new: `new` filters take turns, each over `old` inputs further."""
    cut, reach = _sinc(old, new)
    return _taps(np.arange(-reach, reach + old) - np.arange(new)[:, None] * old / new, cut, reach)


def _at(padded: Samples, outputs: range, old: int, new: int) -> Samples:
    """Some outputs, each by a filter of its own."""
    cut, reach = _sinc(old, new)
    whole_N, part_N = np.divmod(np.arange(outputs.start, outputs.stop) * old, new)
    filters_NW = _taps(np.arange(-reach, reach + 2) - part_N[:, None] / new, cut, reach)
    found: Samples = (padded[whole_N[:, None] + np.arange(2 * reach + 2)] * filters_NW).sum(axis=1)
    return found


def features(path: Path, width: int, max_frames: int) -> Features:
    """Features that were computed elsewhere: [frames, width]."""
    size = _size(path)
    found = _npy(path, max_frames) if path.suffix.lower() == ".npy" else _mfc(path, size, width, max_frames)
    if found.ndim != 2 or found.shape[1] != width:
        raise BadRow("features of another width", f"{path}: features of shape {found.shape}, and [frames, {width}] is read: set 'size'")
    if not len(found):
        raise BadRow("a sound without samples", f"{path}: there is no frame in it: compute it again, or take the row out")
    if not np.isfinite(found).all() or np.abs(found).max() > HUGE:
        raise BadRow("features that are no numbers", f"{path}: some of its features are no numbers, or beyond {HUGE:g}: is it of another byte order?")
    return found


def _npy(path: Path, max_frames: int) -> Features:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)  # nothing but the header is read yet
        if found.dtype.kind not in "fiu" or found.ndim != 2:
            raise ValueError(f"an array of {found.dtype} with {found.ndim} axes")
        if len(found) > max_frames:
            raise _too_many(path, len(found), max_frames)
        return np.asarray(found, np.float32)
    except (ValueError, OSError, EOFError) as error:
        raise BadRow("not an array of features", f"{path}: not an array [frames, width] as NumPy saves it: {error}") from None


def _mfc(path: Path, size: int, width: int, max_frames: int) -> Features:
    with path.open("rb") as stream:
        start = stream.read(4)
        count = struct.unpack(">i", start)[0] if len(start) == 4 else -1
        if count < 0 or count % width:
            raise BadRow("not a file of features", f"{path}: not CMU features of {width} numbers a frame (a count of four bytes comes first, big-endian)")
        if count // width > max_frames:
            raise _too_many(path, count // width, max_frames)
        if 4 + 4 * count != size:
            raise _cut_off(path, f"{count} numbers are announced, and there are {(size - 4) // 4}")
        return np.frombuffer(stream.read(4 * count), ">f4").astype(np.float32).reshape(-1, width)


def _too_many(path: Path, frames: int, most: int) -> BadRow:
    return BadRow("a sound too long", f"{path}: {frames} frames, more than max_seconds allows ({most}): raise max_seconds if you trust it")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise BadRow("a sound that cannot be opened", f"{path}: cannot be read: {error.strerror or error}") from None


def _library(path: Path) -> Any:
    try:
        import soundfile
    except (ImportError, OSError):  # OSError: the package is there and its library is not
        said = f"{path}: sounds are read by a package that is not here: pip install 'xattend[sound]'"
        raise BadRow("a sound, and no package to read it", said) from None
    return soundfile


def _cut_off(path: Path, why: str) -> BadRow:
    return BadRow("a sound cut off or damaged", f"{path}: the sound is cut off or damaged ({why}): get it again")


def _whole_wav(path: Path, size: int) -> None:
    """libsndfile reads what is there and says nothing; the header says what should be."""
    with path.open("rb") as stream:
        order = ">" if stream.read(4) == b"RIFX" else "<"
        place = 12
        while place + 8 <= size:
            stream.seek(place)
            name, length = struct.unpack(f"{order}4sI", stream.read(8))
            if name == b"data":
                if place + 8 + length > size and length != 0xFFFFFFFF:  # streamed files have no length
                    raise _cut_off(path, f"{length} bytes of sound are announced, and {size - place - 8} are there")
                return
            place += 8 + length + length % 2


def _whole_ogg(path: Path, size: int) -> None:
    """The last page of an Ogg stream says that it is the last, and how long it is."""
    with path.open("rb") as stream:
        stream.seek(max(0, size - 70_000))
        tail = stream.read()
    page = tail[max(0, tail.rfind(b"OggS")) :]
    segments = page[26] if len(page) > 26 else 0
    if len(page) <= 26 or not page[5] & 4 or len(page) < 27 + segments + sum(page[27 : 27 + segments]):
        raise _cut_off(path, "its last page is missing or not whole")
