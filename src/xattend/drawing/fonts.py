"""Faces to write with: Pillow's own, and those of small font packages that come with xattend from PyPI (OFL and Apache licences).

A face has one name, whatever its file is called. Texts are laid out by Pillow's basic engine, which is in every build of it.

>>> font("plain", 20).getlength("il") < font("plain", 20).getlength("mw")
True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from xattend.errors import UserError, suggestion

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

Face = Literal[
    "plain", "serif", "serif-bold", "serif-italic", "serif-bold-italic", "sans-light", "sans", "sans-bold", "round", "hand", "narrow"
]
FACES: tuple[str, ...] = get_args(Face)
FILES = {
    "serif": ("font-caladea", "Caladea-Regular.ttf"),
    "serif-bold": ("font-caladea", "Caladea-Bold.ttf"),
    "serif-italic": ("font-caladea", "Caladea-Italic.ttf"),
    "serif-bold-italic": ("font-caladea", "Caladea-BoldItalic.ttf"),
    "sans-light": ("font-manrope", "Manrope-Light.ttf"),
    "sans": ("font-manrope", "Manrope-Medium.ttf"),
    "sans-bold": ("font-manrope", "Manrope-ExtraBold.ttf"),
    "round": ("font-fredoka-one", "FredokaOne-Regular.ttf"),
    "hand": ("font-intuitive", "Intuitive.ttf"),
    "narrow": ("font-amatic-sc", "AmaticSC-Bold.ttf"),  # its small letters look like capitals
}


def file(face: str) -> Path | None:
    """Where a face lies; None for Pillow's own. A package that is not there is the user's error."""
    if face not in FACES:
        raise UserError(f"there is no face '{face}': {suggestion(face, FACES)}")
    if face == "plain":
        return None
    package, name = FILES[face]
    found = find_spec(package.replace("-", "_"))  # looked up, not imported
    path = None if found is None or found.origin is None else Path(found.origin).parent / "files" / name
    if path is None or not path.is_file():
        raise UserError(f"the face '{face}' needs {package}: pip install {package}, or name other faces in 'fonts'")
    return path


def chosen(fonts: Sequence[str] | None) -> list[str]:
    """The faces of a task's setting `fonts`, by default all."""
    if fonts is not None and not fonts:
        raise UserError("'fonts' names no face: take it out for all of them")
    return list(fonts or FACES)


def check(faces: Iterable[str]) -> None:
    """Complains of the first face that cannot be had."""
    for face in faces:
        file(face)


@lru_cache(maxsize=2048)
def font(face: str, size: int) -> FreeTypeFont:
    """A face at a size in pixels."""
    from PIL import ImageFont, features

    path = file(face)
    if not features.check("freetype2"):
        raise UserError("this Pillow is built without FreeType and cannot write: pip install --force-reinstall pillow")
    if path is not None:
        return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)
    own = ImageFont.load_default(size)  # laid out by the basic engine, too
    assert isinstance(own, ImageFont.FreeTypeFont)
    return own
