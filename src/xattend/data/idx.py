"""The idx format of MNIST's files: a magic number, the sizes, the bytes. Plain or .gz.

    0 0 8 n   four bytes a size   unsigned bytes, the last size's fastest

A picture is named by its file and its number in it, from 0: `train-images-idx3-ubyte.gz#17`.

>>> import tempfile
>>> path = Path(tempfile.mkdtemp(), "labels-idx1-ubyte")
>>> _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 3]))
>>> read_idx(path).tolist(), picture_name("a-idx3-ubyte.gz#17"), picture_name("photo#1.jpg")
([7, 3], ('a-idx3-ubyte.gz', 17), None)
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from xattend.data.readers.lines import open_bytes
from xattend.errors import UserError

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
NAME = re.compile(r"(.*idx3.*)#(\d{1,9})")
LARGEST = 1 << 30  # bytes that such a file may have


def picture_name(text: str) -> tuple[str, int] | None:
    """The file and the number of a picture in it; None if the text names none."""
    found = NAME.fullmatch(text)
    return (found[1], int(found[2])) if found else None


def read_idx(path: Path) -> Bytes:
    """The whole file as an array."""
    try:
        with open_bytes(path) as stream:
            head = stream.read(4)
            if len(head) < 4 or head[:3] != bytes([0, 0, 8]) or not 1 <= head[3] <= 4:
                raise UserError("is no idx file of bytes: it must begin with 0 0 8 and the number of axes", file=path)
            shape = [int(size) for size in np.frombuffer(stream.read(4 * head[3]).ljust(4 * head[3], b"\0"), ">u4")]
            if math.prod(shape) > LARGEST:
                raise UserError(f"would hold {math.prod(shape):,} bytes, more than {LARGEST:,}", file=path)
            data = stream.read(math.prod(shape) + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"the gzip file is cut off or damaged ({error}): get it again", file=path) from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", file=path) from None
    if len(data) != math.prod(shape):
        raise UserError(f"says that it holds {' x '.join(map(str, shape))} bytes, and holds {'fewer' if len(data) < math.prod(shape) else 'more'}: get it again", file=path)
    return np.frombuffer(data, np.uint8).reshape(shape)


@lru_cache(maxsize=2)  # MNIST's two: 55 MB
def _kept(path: Path, size: int, changed: int) -> Bytes:
    return read_idx(path)


def picture(path: Path, number: int) -> Bytes:
    """One picture of a file, [height, width]."""
    stat = path.stat()
    pictures = _kept(path, stat.st_size, stat.st_mtime_ns)
    if pictures.ndim != 3:
        raise UserError(f"holds no pictures: it has {pictures.ndim} axes, not 3", file=path)
    if number >= len(pictures):
        raise UserError(f"has {len(pictures)} pictures, the last is #{len(pictures) - 1}", file=path)
    found: Bytes = pictures[number]
    return found
