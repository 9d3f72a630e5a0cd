"""Lines of a text file, plain, gzip or zip, never more than a bounded piece in memory.

A line ends at \\n and nowhere else: U+2028, form feeds and the like are text. CRLF and a byte order mark are taken off.
A line that cannot be used comes out as a BadRow, so that two parallel files stay in step.

>>> import tempfile, pathlib
>>> file = pathlib.Path(tempfile.mkdtemp(), "a.txt")
>>> _ = file.write_bytes(b"\\xef\\xbb\\xbfein\\r\\nzwei\\n")
>>> list(lines(file))
[(1, 'ein'), (2, 'zwei')]
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from xattend.data.readers.zipped import open_member
from xattend.errors import UserError

LIMIT = 1_000_000  # characters of a line
_BOM = b"\xef\xbb\xbf"
_BYTES = 4 * LIMIT + 8  # the longest allowed line in UTF-8, with byte order mark and line end


class BadRow(Exception):
    """One row that cannot be used. `reason` is what rows are counted by, `message` what a person is told."""

    def __init__(self, reason: str, message: str, file: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.file = file


def too_long() -> BadRow:
    return BadRow("a line too long", f"a line of more than {LIMIT:,} characters: is this a text file with one row a line?")


def _decode(raw: bytes) -> str | BadRow:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = "the file looks like UTF-16; " if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else ""
        said = f"not valid UTF-8 (byte 0x{raw[error.start]:02x} at byte {error.start + 1} of the line): {hint}save the file as UTF-8"
        return BadRow("not valid UTF-8", said)
    if len(text) > LIMIT:
        return too_long()
    if "\0" in text:
        return BadRow("a NUL byte", "a NUL byte in the line: take it out, or save the file as UTF-8 text")
    return text


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked if its name ends in .gz or .zip."""
    if path.suffix.lower() == ".zip":
        return open_member(path)
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def lines(path: Path) -> Iterator[tuple[int, str | BadRow]]:
    """Line number from 1, and the line without its end or what is wrong with it."""
    number = 0
    try:
        with open_bytes(path) as stream:
            while raw := stream.readline(_BYTES):
                if number == 0 and raw.startswith(_BOM):
                    raw = raw[len(_BOM) :]
                    if not raw:
                        return
                number += 1
                if len(raw) >= _BYTES - len(_BOM) and not raw.endswith(b"\n"):
                    while (rest := stream.readline(_BYTES)) and not rest.endswith(b"\n"):
                        pass
                    yield number, too_long()
                    continue
                yield number, _decode(raw.removesuffix(b"\n").removesuffix(b"\r"))
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        packing = "zip" if path.suffix.lower() == ".zip" else "gzip"
        raise UserError(f"the {packing} file is cut off or damaged ({error}): get it again", file=path, line=number + 1) from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", file=path) from None
