"""A text file inside a zip, read without unpacking it to disk: manythings.org and others hand their rows out so.

The zip must hold one file of rows. Folders, what a Mac adds (`__MACOSX/`) and files whose name begins with `_` or `.`
(`_about.txt`) do not count. Only a piece of the file is in memory at a time; one that claims to be absurdly larger than
the zip it lies in is refused before anything of it is read.

>>> import tempfile
>>> path = Path(tempfile.mkdtemp(), "spa-eng.zip")
>>> with zipfile.ZipFile(path, "w") as packed:
...     packed.writestr("spa-eng/_about.txt", "who made it"); packed.writestr("spa-eng/spa.txt", "Go.\\tVe.\\n")
>>> member_of(path), open_member(path).read()
('spa-eng/spa.txt', b'Go.\\tVe.\\n')
"""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath
from typing import IO

from xattend.errors import UserError

ABSURD_RATIO = 100  # text packs to a fifth or so; deflate's limit is a thousandth
ABSURD_SIZE = 100_000_000  # bytes from which the ratio is looked at


def open_member(path: Path) -> IO[bytes]:
    """The bytes of the one file of rows. The zip is closed with it."""
    with _opened(path) as packed:
        member = packed.getinfo(_only(path, packed))
        if member.flag_bits & 1:
            raise UserError(f"'{member.filename}' in the zip has a password: unpack it first", file=path)
        if member.file_size > max(ABSURD_SIZE, ABSURD_RATIO * member.compress_size):
            said = f"'{member.filename}' would unpack to {member.file_size:,} bytes from {member.compress_size:,}"
            raise UserError(f"{said}: unpack it first if that is really so", file=path)
        try:
            return packed.open(member)
        except (NotImplementedError, zipfile.BadZipFile) as error:
            raise UserError(f"'{member.filename}' in the zip cannot be read ({error}): unpack it first", file=path) from None


def member_of(path: Path) -> str:
    """The name of the one file of rows in the zip."""
    with _opened(path) as packed:
        return _only(path, packed)


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise UserError(f"not a readable zip file ({error}): get it again, or unpack it", file=path) from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", file=path) from None


def _only(path: Path, packed: zipfile.ZipFile) -> str:
    names = [PurePosixPath(member.filename) for member in packed.infolist() if not member.is_dir()]
    rows = [name for name in names if name.parts[0] != "__MACOSX" and not name.name.startswith(("_", "."))]
    if len(rows) != 1:
        shown = ", ".join(f"'{name}'" for name in rows[:5]) + (", ..." if len(rows) > 5 else "")
        said = f"{len(rows)} files in the zip ({shown})" if rows else "no file of rows in the zip"
        raise UserError(f"{said}, expected one: unpack it and name the file", file=path)
    return str(rows[0])
