"""What a question gives a model to read: a text, a picture, film or sound from a file, or a story with its question.

    {"text": "Ada walked to the cellar. Boris took the lamp.", "question": "Where is Ada?"}     a model of stories
    {"picture": BASE64, "question": "what is red"}                                               a model that is asked about pictures
    {"sound": BASE64}                                                                            one that listens

A file lies in a folder of its own while it is read, and is deleted at once. A page cannot name files: of media it may name what an embedded
task makes.

>>> told("Ada fell\\nBoris sat down.", "who fell")
'Ada fell. Boris sat down. who fell?'
"""

from __future__ import annotations

import base64
import binascii
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from xattend import registry
from xattend.data.fields.asked import Asked
from xattend.data.fields.film import Film
from xattend.data.fields.media import Media
from xattend.data.fields.sound import Sound
from xattend.data.fields.story import Story
from xattend.data.fields.turns import Turns
from xattend.errors import UserError
from xattend.model import Model
from xattend.systems.write import Write

LONGEST = 2_000  # units of a source: what a page can draw, and a model read while somebody waits
PENNED = 200  # of a text that is written with a pen, which takes a step a point


class Given(NamedTuple):
    """text   of the row, for the model
    name   what the page calls it
    file   where the upload lies, if there is one
    """

    text: str
    name: str
    file: str | None = None


def reads(model: Model) -> str:
    """text, picture, film or sound."""
    source = model.source
    kinds = ((Sound, "sound"), (Film, "film"), (Media, "picture"))  # the last is what the others are, too
    return next((name for kind, name in kinds if isinstance(source, kind)), "text")


def is_story(model: Model) -> bool:
    """Whether it reads a story and a question; a dialogue has none."""
    return isinstance(model.source, Story) and not isinstance(model.source, Turns)


@contextmanager
def given(model: Model, text: str | None, files: Mapping[str, str | None], question: str | None) -> Iterator[Given]:
    """Checked; `files` are uploads in base64 by the name of their kind, "picture" (films, too) and "sound"."""
    uploads = {kind: data for kind, data in files.items() if data is not None}
    asked = isinstance(model.source, Asked)
    if question is not None and not asked and not is_story(model):
        raise UserError("this model is not asked about pictures or stories: take 'question' out")
    if asked and not (question or "").strip() and uploads:
        raise UserError("this model is asked about a picture: give a 'question', too")
    if (text is not None) + len(uploads) != 1:
        raise UserError("give one of 'text' and 'picture' (a model that listens: 'sound')")
    if uploads:
        with _upload(model, *next(iter(uploads.items())), _plain(question) if asked else None) as found:
            yield found
        return
    text = text or ""
    if is_story(model):
        text = told(text, question or "")
    elif asked and question is not None:
        text = f"{text}|{_plain(question)}"
    _check(model, text)
    yield Given(text, text)


@contextmanager
def _upload(model: Model, kind: str, data: str, question: str | None) -> Iterator[Given]:
    wanted = "picture" if reads(model) == "film" else reads(model)
    if wanted != kind:
        told_so = f"text, not {kind}s" if wanted == "text" else f"{reads(model)}s: give one as '{wanted}'"
        raise UserError(f"this model reads {told_so}")
    content = _bytes(data, kind)
    with tempfile.TemporaryDirectory(prefix="xattend-view-") as folder:
        suffix = ".npy" if content.startswith(b"\x93NUMPY") else ""  # features of sounds are told apart by it
        file = Path(folder) / f"{kind}{suffix}"
        file.write_bytes(content)
        yield Given(str(file) if question is None else f"{file}|{question}", question or "", str(file))


def _check(model: Model, text: str) -> None:
    """A UserError unless the text is one to read."""
    if isinstance(model.source, Media):
        if not is_made(text):  # a name of a file is not taken from a page
            kind = "sound" if reads(model) == "sound" else "picture"
            raise UserError(f"this model reads {kind}s: give one as '{kind}', or what an embedded task makes, as in 'scenes:...'")
    elif model.source is not None:
        if model.source.blank(text):
            raise UserError("there is nothing to read in the text")
        most = PENNED if isinstance(model.system, Write) else LONGEST
        if (units := len(model.source.encode(text))) > most:
            raise UserError(f"the text has {units} units, more than the {most} that are shown here: give a part of it")


def is_made(text: str) -> bool:
    """Whether a text names what an embedded task makes."""
    task, colon, _ = text.partition(":")
    return bool(colon) and task in registry.names("task")


def told(story: str, question: str) -> str:
    """A story, in lines of a sentence or more, and its question, as a row has them; without a question the last sentence is one."""

    def ended(line: str, mark: str) -> str:
        line = " ".join(line.split())
        return line if not line or line[-1] in ".!?" else line + mark

    if not question.strip():
        lines = [story] if "\n" not in story.strip() else [ended(line, ".") for line in story.splitlines()]
        return " ".join(" ".join(lines).split())
    return " ".join(filter(None, [*(ended(line, ".") for line in story.splitlines()), ended(question, "?")]))


def _plain(question: str | None) -> str:
    return " ".join((question or "").replace("|", " ").split())


def _bytes(data: str, kind: str) -> bytes:
    try:
        found = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise UserError(f"the {kind} is not valid base64") from None
    if not found:
        raise UserError(f"the {kind}'s file is empty")
    return found
